//! Text that a server wrote, made safe to read: escaped, invisible characters shown, endless texts cut.
//!
//! A description can hide instructions in characters that no page shows (zero-width, bidirectional, tag characters);
//! a reviewer has to see them. Two forms: [`html`] marks them up, [`plain`] spells them out where no markup may stand.

use std::{fmt::Write as _, time::Duration};

use serde_json::Value;
use similar::{ChangeTag, TextDiff, utils::TextDiffRemapper};

/// Where a name is cut; MCP advises 128.
pub(super) const NAME: usize = 128;
/// Where a sentence or description is cut; the longest real descriptions have some 20,000 characters, and a review
/// that needs more reads the snapshot.
pub(super) const PROSE: usize = 20_000;
/// Where a JSON value is cut.
pub(super) const JSON: usize = 8_000;
/// Above this, words are not compared one by one: both texts stand below each other instead.
const WORD_DIFF: usize = 20_000;
/// A text made to be slow to compare costs a page no more than this; what is left is then shown as replaced.
const WORD_DIFF_TIME: Duration = Duration::from_millis(20);
/// An unchanged stretch longer than this is cut in the middle.
const UNCHANGED: usize = 320;

/// Escaped, marked up, cut at `limit` characters with the number left out.
pub(super) fn html(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit) + 16);
    let (shown, rest) = cut(text, limit);
    push(&mut out, shown);
    if rest > 0 {
        let _ = write!(out, "<span class=\"more\">… {rest} more characters</span>");
    }
    out
}

/// A sentence of ours: as [`html`], with what stands in backticks set as code and a capital at the start.
pub(super) fn sentence(text: &str) -> String {
    let (shown, rest) = cut(text, PROSE);
    let mut out = String::with_capacity(shown.len() + 32);
    let parts: Vec<&str> = shown.split('`').collect();
    for (i, part) in parts.iter().enumerate() {
        // An odd backtick at the end opens nothing.
        match (i % 2 == 1, i + 1 < parts.len()) {
            (true, true) => {
                out.push_str("<code>");
                push(&mut out, part);
                out.push_str("</code>");
            }
            (true, false) => {
                out.push('`');
                push(&mut out, part);
            }
            (false, _) if i == 0 => match part.chars().next().filter(char::is_ascii_lowercase) {
                Some(first) => {
                    out.push(first.to_ascii_uppercase());
                    push(&mut out, &part[1..]);
                }
                None => push(&mut out, part),
            },
            (false, _) => push(&mut out, part),
        }
    }
    if rest > 0 {
        let _ = write!(out, "<span class=\"more\">… {rest} more characters</span>");
    }
    out
}

/// The first line of a sentence, with a capital at the start, cut where a list has no more room.
pub(super) fn brief(text: &str) -> String {
    const BRIEF: usize = 110;
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(BRIEF) {
        // A backtick that lost its partner is no code.
        Some((at, _)) => sentence(&line[..at]) + "…",
        None => sentence(line),
    }
}

/// Invisible characters spelt out, cut at `limit`; still to be escaped (the templates do).
pub(super) fn plain(text: &str, limit: usize) -> String {
    let (shown, rest) = cut(text, limit);
    let mut out = String::with_capacity(shown.len());
    for c in shown.chars() {
        if is_hidden(c) {
            let _ = write!(out, "⟨U+{:04X}⟩", u32::from(c));
        } else {
            out.push(c);
        }
    }
    if rest > 0 {
        let _ = write!(out, "… {rest} more characters");
    }
    out
}

/// A JSON value in lines: what fits in one stays in one, so that `["open", "closed"]` does not take four.
pub(super) fn pretty(value: &Value) -> String {
    let mut out = String::new();
    push_json(&mut out, value, 0);
    out
}

/// Columns of a line of JSON; half of a review's width.
const LINE: usize = 56;

fn push_json(out: &mut String, value: &Value, indent: usize) {
    let (open, close, count) = match value {
        Value::Array(items) => ('[', ']', items.len()),
        Value::Object(members) => ('{', '}', members.len()),
        _ => return out.push_str(&value.to_string()),
    };
    if let Some(line) = one_line(value, LINE.saturating_sub(indent)) {
        return out.push_str(&line);
    }
    let new_line = |out: &mut String, indent: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', indent));
    };
    out.push(open);
    let parts = parts(value);
    for (i, (key, part)) in parts.into_iter().enumerate() {
        // Long enough to be cut anyway: nobody sees what would be built beyond.
        if out.len() > 4 * JSON {
            break;
        }
        new_line(out, indent + 2);
        if let Some(key) = key {
            let _ = write!(out, "{}: ", Value::from(key));
        }
        push_json(out, part, indent + 2);
        if i + 1 < count {
            out.push(',');
        }
    }
    new_line(out, indent);
    out.push(close);
}

/// The value on one line, where it fits.
fn one_line(value: &Value, room: usize) -> Option<String> {
    let (open, close) = match value {
        Value::Array(_) => ("[", "]"),
        Value::Object(_) => ("{", "}"),
        _ => return Some(value.to_string()).filter(|t| t.len() <= room),
    };
    let mut out = open.to_owned();
    for (key, part) in parts(value) {
        if out.len() > open.len() {
            out.push_str(", ");
        }
        if let Some(key) = key {
            let _ = write!(out, "{}: ", Value::from(key));
        }
        out.push_str(&one_line(part, room.checked_sub(out.len())?)?);
    }
    out.push_str(close);
    (out.len() <= room).then_some(out)
}

/// What an array or object holds, with the names of members.
fn parts(value: &Value) -> Vec<(Option<&str>, &Value)> {
    match value {
        Value::Array(items) => items.iter().map(|v| (None, v)).collect(),
        Value::Object(members) => members.iter().map(|(k, v)| (Some(k.as_str()), v)).collect(),
        _ => Vec::new(),
    }
}

/// What changed from one text to the other, word by word; nothing where they are too long to be compared so.
pub(super) fn word_diff(baseline: &str, candidate: &str) -> Option<String> {
    if baseline.len().max(candidate.len()) > WORD_DIFF {
        return None;
    }
    let diff = TextDiff::configure().timeout(WORD_DIFF_TIME).diff_unicode_words(baseline, candidate);
    let remapper = TextDiffRemapper::from_text_diff(&diff, baseline, candidate);
    let mut out = String::new();
    for (tag, text) in diff.ops().iter().flat_map(|op| remapper.iter_slices(op)) {
        let element = match tag {
            ChangeTag::Equal => {
                push_unchanged(&mut out, text);
                continue;
            }
            ChangeTag::Delete => "del",
            ChangeTag::Insert => "ins",
        };
        let _ = write!(out, "<{element}>");
        push(&mut out, text);
        let _ = write!(out, "</{element}>");
    }
    Some(out)
}

fn push_unchanged(out: &mut String, text: &str) {
    let count = text.chars().count();
    if count <= UNCHANGED {
        return push(out, text);
    }
    let end = UNCHANGED / 2;
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(i, _)| i);
    push(out, &text[..at(end)]);
    let _ = write!(out, "<span class=\"more\"> … {} characters unchanged … </span>", count - 2 * end);
    push(out, &text[at(count - end)..]);
}

/// The text up to `limit` characters, and how many were left out.
fn cut(text: &str, limit: usize) -> (&str, usize) {
    match text.char_indices().nth(limit) {
        Some((at, _)) => (&text[..at], text[at..].chars().count()),
        None => (text, 0),
    }
}

fn push(out: &mut String, text: &str) {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '&' => out.push_str("&#38;"),
            '<' => out.push_str("&#60;"),
            '>' => out.push_str("&#62;"),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            c if smuggled(c).is_some() => {
                // Tag characters are ASCII that no font draws: say what they spell.
                let mut spelt = String::from(smuggled(c).unwrap_or_default());
                while let Some(next) = chars.next_if(|c| smuggled(*c).is_some()) {
                    spelt.extend(smuggled(next));
                }
                out.push_str(
                    "<mark class=\"hidden-text\" title=\"written in invisible tag characters\">hidden: ",
                );
                push(out, &spelt);
                out.push_str("</mark>");
            }
            c if is_hidden(c) => {
                let (code, name) = (u32::from(c), hidden_name(c));
                let _ = write!(out, "<mark class=\"hidden-text\" title=\"{name}\">U+{code:04X}</mark>");
            }
            c => out.push(c),
        }
    }
}

/// The ASCII character that a tag character stands for.
fn smuggled(c: char) -> Option<char> {
    let code = u32::from(c).checked_sub(0xE0000)?;
    char::from_u32(code).filter(|c| matches!(c, ' '..='~'))
}

/// Characters that change what is read without being seen.
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' => true,
        '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' => true,
        // Variation selectors: U+FE0F only asks for an emoji's coloured form.
        '\u{fe00}'..='\u{fe0e}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

fn hidden_name(c: char) -> &'static str {
    match c {
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => "zero-width character",
        '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            "changes the direction of the text"
        }
        c if c.is_control() => "control character",
        _ => "invisible character",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn markup_is_escaped_and_hidden_characters_are_shown() {
        let check = |text: &str, expected: &str| assert_eq!(html(text, 80), expected);
        check("a <script> & \"b\"", "a &#60;script&#62; &#38; &#34;b&#34;");
        check(
            "x\u{202e}y",
            "x<mark class=\"hidden-text\" title=\"changes the direction of the text\">U+202E</mark>y",
        );
        check(
            "\u{e0068}\u{e0069}\u{e003c}",
            "<mark class=\"hidden-text\" title=\"written in invisible tag characters\">hidden: hi&#60;</mark>",
        );
        check("é\n\t", "é\n\t");
    }

    #[test]
    fn sentences_begin_with_a_capital_and_set_names_as_code() {
        let check = |text: &str, expected: &str| assert_eq!(sentence(text), expected);
        check("tool `a<b` is gone", "Tool <code>a&#60;b</code> is gone");
        check("`priority` is required now", "<code>priority</code> is required now");
        check("an odd ` stays", "An odd ` stays");
        check("", "");
    }

    #[test]
    fn long_texts_are_cut_at_a_character_and_say_so() {
        assert_eq!(html("ééé", 2), "éé<span class=\"more\">… 1 more characters</span>");
        assert_eq!(plain("a\u{200b}b", 2), "a⟨U+200B⟩… 1 more characters");
    }

    #[test]
    fn json_stays_on_one_line_where_it_fits() {
        let check = |value: Value, expected: &str| assert_eq!(pretty(&value), expected);
        check(json!({"state": ["open", "all"], "n": 1}), r#"{"state": ["open", "all"], "n": 1}"#);
        check(json!({}), "{}");
        let long = "x".repeat(LINE);
        check(json!([long, {"a": []}]), &format!("[\n  \"{long}\",\n  {{\"a\": []}}\n]"));
    }

    #[test]
    fn a_word_diff_marks_what_went_and_what_came() {
        assert_eq!(
            word_diff("Lists all issues", "Lists <open> issues").as_deref(),
            Some("Lists <del>all</del><ins>&#60;open&#62;</ins> issues")
        );
        assert_eq!(word_diff(&"a".repeat(WORD_DIFF + 1), "b"), None);
    }
}
