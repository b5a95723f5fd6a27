//! The filters that templates use. Whatever somebody else wrote goes through one of them; each escapes, or leaves it
//! to the template.

use std::fmt::Display;

use askama::{Result, Values, filters::Safe};
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::Value;

use super::text;
use crate::diff::Level;

/// A name that somebody else chose.
#[askama::filter_fn]
pub(crate) fn name<T: Display>(text: T, _: &dyn Values) -> Result<Safe<String>> {
    Ok(Safe(text::html(&text.to_string(), text::NAME)))
}

/// A sentence or description that somebody else wrote.
#[askama::filter_fn]
pub(crate) fn prose<T: Display>(text: T, _: &dyn Values) -> Result<Safe<String>> {
    Ok(Safe(text::html(&text.to_string(), text::PROSE)))
}

/// A sentence of ours that may quote what somebody else wrote.
#[askama::filter_fn]
pub(crate) fn sentence<T: Display>(text: T, _: &dyn Values) -> Result<Safe<String>> {
    Ok(Safe(text::sentence(&text.to_string())))
}

/// The same, short: its first line, up to what a list has room for.
#[askama::filter_fn]
pub(crate) fn brief<T: Display>(text: T, _: &dyn Values) -> Result<Safe<String>> {
    Ok(Safe(text::brief(&text.to_string())))
}

/// The same as a whole sentence: with a full stop, unless it ends in one or asks.
#[askama::filter_fn]
pub(crate) fn statement<T: Display>(text: T, _: &dyn Values) -> Result<Safe<String>> {
    let text = text.to_string();
    let stop = if text.ends_with(['.', '?', '!']) { "" } else { "." };
    Ok(Safe(text::sentence(&text) + stop))
}

/// The first line of a text, for tables.
#[askama::filter_fn]
pub(crate) fn line<T: Display>(text: T, _: &dyn Values) -> Result<Safe<String>> {
    let text = text.to_string();
    Ok(Safe(text::html(text.trim().lines().next().unwrap_or_default(), 200)))
}

/// For attributes: spelt out, cut; escaped afterwards as any text.
#[askama::filter_fn]
pub(crate) fn plain<T: Display>(text: T, _: &dyn Values) -> Result<String> {
    Ok(text::plain(&text.to_string(), 1_000))
}

/// A JSON value, for people.
#[askama::filter_fn]
pub(crate) fn pretty(value: &Value, _: &dyn Values) -> Result<Safe<String>> {
    Ok(Safe(text::html(&text::pretty(value), text::JSON)))
}

/// A JSON value on one line.
#[askama::filter_fn]
pub(crate) fn compact(value: &Value, _: &dyn Values) -> Result<Safe<String>> {
    Ok(Safe(text::html(&value.to_string(), 400)))
}

/// A level as word and glyph: colour is never the only sign.
#[askama::filter_fn]
pub(crate) fn level(level: &Level, _: &dyn Values) -> Result<Safe<String>> {
    let glyph = match level {
        Level::Compatible => "✓",
        Level::Risky => "!",
        Level::Undecided => "?",
        Level::Breaking => "✕",
    };
    Ok(Safe(format!("<span class=\"tag {level}\"><span aria-hidden=\"true\">{glyph}</span> {level}</span>")))
}

/// A time: how long ago, with the exact time at hand.
#[askama::filter_fn]
pub(crate) fn ago(at: &DateTime<Utc>, _: &dyn Values, now: &DateTime<Utc>) -> Result<Safe<String>> {
    let iso = at.to_rfc3339_opts(SecondsFormat::Secs, true);
    let exact = at.format("%Y-%m-%d %H:%M:%S UTC");
    Ok(Safe(format!("<time datetime=\"{iso}\" title=\"{exact}\">{}</time>", age(*at, *now))))
}

/// A time, exactly.
#[askama::filter_fn]
pub(crate) fn exact(at: &DateTime<Utc>, _: &dyn Values) -> Result<Safe<String>> {
    let iso = at.to_rfc3339_opts(SecondsFormat::Secs, true);
    Ok(Safe(format!("<time datetime=\"{iso}\">{}</time>", at.format("%Y-%m-%d %H:%M UTC"))))
}

fn age(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let seconds = (now - at).num_seconds();
    match seconds {
        ..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..172_800 => format!("{} h ago", seconds / 3_600),
        172_800..5_184_000 => format!("{} days ago", seconds / 86_400),
        _ => at.format("%Y-%m-%d").to_string(),
    }
}
