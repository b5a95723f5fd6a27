//! The audit log, newest first.

use std::cmp::Reverse;

use axum::{extract::State, http::Uri, response::Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{Error, cursor::List, extract::Query, wire};
use crate::app::{App, lists::EventFilter};

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventsQuery {
    /// Only what happened to this object.
    #[param(example = "catalog/orders")]
    subject: Option<String>,
    /// Only this; with a period at its end, all that begins so.
    #[param(example = "draft.")]
    kind: Option<String>,
    /// Only what this one did.
    #[param(example = "demo")]
    actor: Option<String>,
    /// Only what is not older.
    since: Option<DateTime<Utc>>,
    /// How many at most.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// Lists events, the newest first.
///
/// Rows are only ever added, and each holds the digest of the one before: `toolpact audit verify` recomputes the chain.
/// Where few fit the filter a page may hold fewer than `limit` and still have a `next`.
#[utoipa::path(
    get, path = "/api/v1/events", tag = "events", params(EventsQuery),
    responses((status = 200, description = "A page of events.", body = wire::Items<wire::Event>)),
    extensions(("x-problems" = json!([]))),
)]
pub(super) async fn list_events(
    State(app): State<App>,
    Query(query): Query<EventsQuery>,
    uri: Uri,
) -> Result<Response, Error> {
    let list = List::<Reverse<i64>>::new("events", uri, query.limit, query.cursor.as_deref())?;
    let EventsQuery { subject, kind, actor, since, .. } = query;
    let page = app.events_page(&EventFilter { subject, kind, actor, since }, &list.slice).await?;
    Ok(list.answer::<_, wire::Event>(page))
}
