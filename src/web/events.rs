//! `/events`: who did what, newest first, by what, on what and whom, and whether the chain still holds.

use std::cmp::Reverse;

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    error::Error,
    filters,
    page::{Frame, Query, address, page},
};
use crate::{
    app::{
        lists::{EventFilter, Slice},
        view,
    },
    catalog::Event,
    guard::Acting,
};

/// Events of one page; the API gives more at once.
const EVENTS: usize = 100;

/// Families of what happens, by what their kinds begin with.
const FAMILIES: [&str; 10] = [
    "snapshot.",
    "server.",
    "catalog.",
    "draft.",
    "change.",
    "environment.",
    "token.",
    "session.",
    "team.",
    "webhook.",
];

#[derive(Template)]
#[template(path = "events.html")]
struct Events {
    frame: Frame,
    events: Vec<Event>,
    query: EventsQuery,
    next: Option<i64>,
    check: Option<view::ChainCheck>,
}

impl Events {
    const FAMILIES: [&str; 10] = FAMILIES;

    /// The page of the object that an event happened to, where it has one.
    fn href(event: &Event) -> Option<String> {
        let (kind, name) = event.subject.split_once('/')?;
        // Names that we gave ourselves have no characters that a path would need to escape.
        let known = matches!(kind, "server" | "catalog" | "environment" | "check");
        (known && name.parse::<crate::name::ServerName>().is_ok()).then(|| format!("/{kind}s/{name}"))
    }

    /// Events of which this one thing is so.
    fn only(part: &str, value: &str) -> String {
        address("/events", &[(part, value)])
    }

    /// The parts of the filter that stand, each with the page without it.
    fn parts(&self) -> Vec<(&'static str, &str, String)> {
        let all = self.query.parts();
        let without = |left_out: &str| {
            let rest: Vec<_> = all.iter().copied().filter(|(part, _)| *part != left_out).collect();
            address("/events", &rest)
        };
        all.iter().map(|(part, value)| (*part, *value, without(part))).collect()
    }

    /// The page behind this one.
    fn older(&self, before: &i64) -> String {
        let (mut parts, before) = (self.query.parts(), before.to_string());
        parts.push(("before", &before));
        address("/events", &parts)
    }

    /// The first page of the same.
    fn newest(&self) -> String {
        address("/events", &self.query.parts())
    }

    /// The same by the API.
    fn export(&self) -> String {
        let mut parts = self.query.parts();
        parts.push(("limit", "1000"));
        address("/api/v1/events", &parts)
    }

    /// Why the list is empty.
    fn is_filtered(&self) -> bool {
        !self.query.parts().is_empty() || self.query.before.is_some()
    }
}

#[derive(Default, Deserialize)]
pub(super) struct EventsQuery {
    /// What happened, or what that begins with where a period is at its end.
    #[serde(default)]
    kind: String,
    #[serde(default)]
    subject: String,
    #[serde(default)]
    actor: String,
    /// The event that the page before ended with.
    before: Option<i64>,
    verify: Option<String>,
}

impl EventsQuery {
    /// What is asked, but for what is left empty.
    fn parts(&self) -> Vec<(&'static str, &str)> {
        let all = [("kind", &self.kind), ("subject", &self.subject), ("actor", &self.actor)];
        all.into_iter()
            .map(|(part, value)| (part, value.trim()))
            .filter(|(_, value)| !value.is_empty())
            .collect()
    }
}

/// A page of events; with `?verify`, the chain is recomputed from the first.
pub(super) async fn show_events(
    Acting { app, .. }: Acting,
    Query(query): Query<EventsQuery>,
) -> Result<Response, Error> {
    let asked = |part: &str| {
        query.parts().into_iter().find(|(name, _)| *name == part).map(|(_, value)| value.to_owned())
    };
    let filter =
        EventFilter { subject: asked("subject"), kind: asked("kind"), actor: asked("actor"), since: None };
    let slice = Slice { after: query.before.map(Reverse), limit: EVENTS };
    let found = app.events_page(&filter, &slice).await?;
    let check = match query.verify {
        Some(_) => Some(app.verify_events().await?),
        None => None,
    };
    let (events, next) = (found.items, found.next.map(|Reverse(seq)| seq));
    Ok(page(StatusCode::OK, &Events { frame: Frame::new(&app, "/events"), events, query, next, check }))
}
