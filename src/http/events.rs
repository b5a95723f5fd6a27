//! The audit log, newest first.

use axum::{Json, extract::State};
use serde::Deserialize;

use super::{Error, extract::Query, wire};
use crate::app::App;

/// More than a person reads at once; whole exports are a file's business.
const MAX_EVENTS: usize = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventsQuery {
    limit: Option<usize>,
}

/// The newest events.
pub(super) async fn list_events(
    State(app): State<App>,
    Query(query): Query<EventsQuery>,
) -> Result<Json<wire::Items<wire::Event>>, Error> {
    let limit = query.limit.unwrap_or(100);
    if !(1..=MAX_EVENTS).contains(&limit) {
        return Err(Error::InvalidQuery(format!(
            "asks for {limit} events; 1 to {MAX_EVENTS} can be asked for"
        )));
    }
    Ok(Json(wire::Items::of(app.events(limit).await?)))
}
