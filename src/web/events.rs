//! `/events`: who did what, newest first, and whether the chain still holds.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    error::Error,
    filters,
    page::{Frame, Query, page},
};
use crate::{app::view, catalog::Event, guard::Acting};

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
    /// The page of the object that an event happened to, where it has one.
    fn href(event: &Event) -> Option<String> {
        let (kind, name) = event.subject.split_once('/')?;
        // Names that we gave ourselves have no characters that a path would need to escape.
        let known = matches!(kind, "server" | "catalog" | "environment");
        (known && name.parse::<crate::name::ServerName>().is_ok()).then(|| format!("/{kind}s/{name}"))
    }
}

#[derive(Deserialize)]
pub(super) struct EventsQuery {
    verify: Option<String>,
}

/// The newest events; with `?verify`, the chain is recomputed from the first.
pub(super) async fn show_events(
    Acting { app, .. }: Acting,
    Query(query): Query<EventsQuery>,
) -> Result<Response, Error> {
    let events = app.events(EVENTS).await?;
    let check = match query.verify {
        Some(_) => Some(app.verify_events().await?),
        None => None,
    };
    Ok(page(StatusCode::OK, &Events { frame: Frame::new(&app, "/events"), events, check }))
}
