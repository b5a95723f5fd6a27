//! `/events`: who did what, newest first, and whether the chain still holds.

use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};
use serde::Deserialize;
use serde_json::Value;

use super::{
    error::Error,
    filters,
    page::{Frame, Query, page},
};
use crate::{
    app::{App, view},
    catalog::Event,
    json::Digest,
};

/// What a person scrolls through; the API gives more.
const EVENTS: usize = 200;

#[derive(Template)]
#[template(path = "events.html")]
struct Events {
    frame: Frame,
    events: Vec<Event>,
    check: Option<view::ChainCheck>,
}

impl Events {
    /// What the event says, in words: what does not apply is left out, digests are cut as everywhere. The API has it
    /// whole.
    fn particulars(event: &Event) -> Vec<(&str, String)> {
        let members = event.data.as_object().into_iter().flatten();
        members.filter_map(|(key, value)| Some((key.as_str(), said(value)?))).collect()
    }

    /// The page of the object that an event happened to, where it has one.
    fn href(event: &Event) -> Option<String> {
        let (kind, name) = event.subject.split_once('/')?;
        // Names that we gave ourselves have no characters that a path would need to escape.
        let known = matches!(kind, "server" | "catalog" | "environment");
        (known && name.parse::<crate::name::ServerName>().is_ok()).then(|| format!("/{kind}s/{name}"))
    }
}

fn said(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.parse::<Digest>().map_or(text.clone(), |d| d.short().to_owned())),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Some(value.to_string()),
    }
}

#[derive(Deserialize)]
pub(super) struct EventsQuery {
    verify: Option<String>,
}

/// The newest events; with `?verify`, the chain is recomputed from the first.
pub(super) async fn show_events(
    State(app): State<App>,
    Query(query): Query<EventsQuery>,
) -> Result<Response, Error> {
    let events = app.events(EVENTS).await?;
    let check = match query.verify {
        Some(_) => Some(app.verify_events().await?),
        None => None,
    };
    Ok(page(StatusCode::OK, &Events { frame: Frame::new(&app, "/events"), events, check }))
}
