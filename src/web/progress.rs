//! A snapshot that is looked at while it is taken: server-sent events, for the script. Who has none sends the form and waits.

use std::{pin::Pin, time::Duration};

use axum::{
    http::{HeaderMap, header},
    response::{
        IntoResponse as _, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{error, text};
use crate::{
    app::{
        App, AppError,
        servers::{Progress, Step},
        view::{Drift, Recorded},
    },
    name::ServerName,
    snapshot::Outcome,
};

/// Between two signs of life while a server is silent.
const ALIVE: Duration = Duration::from_secs(10);

/// Whether whoever asks reads events.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|one| one.trim() == "text/event-stream")
}

/// A snapshot that is being taken.
struct Asking {
    asked: Pin<Box<dyn Future<Output = Result<Recorded, AppError>> + Send>>,
    steps: watch::Receiver<Step>,
}

/// Asks a server and tells of each step, then of the outcome. Whoever goes away ends it, as a form that is not waited for.
pub(super) fn followed(app: &App, server: ServerName, actor: String) -> Response {
    let (progress, mut steps) = Progress::watched();
    steps.mark_changed();
    let asking = app.clone();
    let asked = async move { asking.snapshot_watched(&server, &actor, progress).await };
    let asking = Asking { asked: Box::pin(asked), steps };
    let events = stream::unfold(Some(asking), |asking| async {
        let mut asking = asking?;
        let (event, rest) = tokio::select! {
            // A step that was told before the end is shown before it.
            biased;
            Ok(()) = asking.steps.changed() => {
                let step = *asking.steps.borrow_and_update();
                (told(step), Some(asking))
            }
            ended = &mut asking.asked => (Event::default().event("end").json_data(end(ended)), None),
        };
        Some((event, rest))
    });
    let app = app.clone();
    let events = events.take_until(Box::pin(async move { app.stopping().await }));
    Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE)).into_response()
}

fn told(step: Step) -> Result<Event, axum::Error> {
    let (name, data) = match step {
        Step::Queued => ("queued", json!({})),
        Step::Connecting => ("connecting", json!({})),
        Step::Listing { pages, tools } => ("listing", json!({ "pages": pages, "tools": tools })),
        Step::Comparing => ("comparing", json!({})),
    };
    Event::default().event(name).json_data(data)
}

/// How it ended, as the script shows it: a word, a sentence, and where to go on.
fn end(ended: Result<Recorded, AppError>) -> Value {
    let recorded = match ended {
        Ok(recorded) => recorded,
        Err(e) => {
            let (message, help) = error::told(e);
            return json!({ "outcome": "not asked", "good": false, "says": said(&message, &help), "links": [] });
        }
    };
    let row = &recorded.listing;
    let good = row.outcome == Outcome::Ok;
    let count =
        row.tools.map(|tools| if tools == 1 { "1 tool".to_owned() } else { format!("{tools} tools") });
    let says = match (&recorded.drift, count) {
        (Drift::First, Some(count)) => format!("{count}: the first snapshot of this server"),
        (Drift::Identical, Some(count)) => format!("{count}, identical to the snapshot before"),
        (Drift::Drift(before), Some(count)) => {
            format!("{count}, other than in the snapshot before, {}", before.short())
        }
        (_, _) => said(&row.evidence.message, &row.evidence.help),
    };
    let mut links: Vec<Value> = recorded
        .drafts
        .iter()
        .map(|d| {
            json!([
                format!("Draft d-{} of {} waits for a review", d.id, d.catalog),
                format!("/catalogs/{}/drafts/{}", d.catalog, d.id)
            ])
        })
        .collect();
    links.push(json!(["Show the listing", format!("/servers/{}?", row.server)]));
    json!({ "outcome": row.outcome.as_str(), "good": good, "says": says, "links": links })
}

/// A message with what to do. A server may have written parts of it, so what nobody sees in it is made visible.
fn said(message: &str, help: &str) -> String {
    text::plain(&if help.is_empty() { message.to_owned() } else { format!("{message}: {help}") }, text::PROSE)
}
