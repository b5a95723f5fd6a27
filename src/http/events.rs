//! The audit log: newest first by the page, and as it grows.

use std::{cmp::Reverse, time::Duration};

use axum::{
    http::{HeaderMap, Uri},
    response::{
        IntoResponse as _, Response,
        sse::{self, KeepAlive, Sse},
    },
};
use chrono::{DateTime, Utc};
use futures_util::{StreamExt as _, stream};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{
    Error,
    cursor::List,
    extract::{By, Query},
    wire,
};
use crate::{
    app::{App, AppError, Kind, feed::Followed, lists::EventFilter},
    catalog,
};

/// The header in which a client that lost its connection names the last event that it was sent.
const LAST_EVENT_ID: &str = "last-event-id";

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
    By { app, .. }: By,
    Query(query): Query<EventsQuery>,
    uri: Uri,
) -> Result<Response, Error> {
    let list = List::<Reverse<i64>>::new("events", uri, query.limit, query.cursor.as_deref())?;
    let EventsQuery { subject, kind, actor, since, .. } = query;
    let page = app.events_page(&EventFilter { subject, kind, actor, since }, &list.slice).await?;
    Ok(list.answer::<_, wire::Event>(page))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct StreamQuery {
    /// Begin behind the event of this number, 0 for the first; without it, with what happens from now on.
    #[param(minimum = 0)]
    after: Option<u32>,
}

/// Follows the log: server-sent events, the oldest first, as they happen on any process.
///
/// Each has its number as id, so that a client which lost the connection and says `Last-Event-ID` misses nothing.
#[utoipa::path(
    get, path = "/api/v1/events/stream", tag = "events",
    params(
        StreamQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The number of the last event that was received; counts before `after`."),
    ),
    responses((status = 200, description = "Events, for as long as both sides stay.", content((Streamed = "text/event-stream")))),
    extensions(("x-problems" = json!(["invalid-last-event-id"]))),
)]
pub(super) async fn stream_events(
    By { app, .. }: By,
    Query(query): Query<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let after = match headers.get(LAST_EVENT_ID) {
        Some(named) => Some(number(named)?),
        None => query.after.map(i64::from),
    };
    let followed = app.follow_events(after).await?;
    let batches =
        stream::unfold(followed, |mut followed| async { Some((next(&mut followed).await?, followed)) });
    let batches = batches.take_until(Box::pin(taken_back(app)));
    Ok(Sse::new(batches.flat_map(stream::iter)).keep_alive(KeepAlive::default()).into_response())
}

/// One message of the stream, as the HTML standard names its fields.
#[derive(ToSchema)]
#[expect(dead_code, reason = "never made, only described")]
pub(super) struct Streamed {
    /// The event's number, to be named as `Last-Event-ID`.
    id: String,
    /// The event, as JSON.
    data: String,
}

/// Ends when what the caller showed is no good any more, and at the latest after a quarter of an hour: whoever wants more comes
/// again, and says who they are.
async fn taken_back(app: App) {
    const LOOK: Duration = Duration::from_secs(5);
    const LOOKS: usize = 180;
    for _ in 0..LOOKS {
        tokio::time::sleep(LOOK).await;
        if !app.is_good_still().await.unwrap_or(false) {
            return;
        }
    }
}

/// Nothing where the stream ends: the service stops, or the client is to come again.
async fn next(followed: &mut Followed) -> Option<Vec<Result<sse::Event, axum::Error>>> {
    match followed.next().await {
        Ok(events) => Some(events?.into_iter().map(sent).collect()),
        Err(error) => {
            tracing::warn!("the log is followed no longer: {error}");
            None
        }
    }
}

fn sent(event: catalog::Event) -> Result<sse::Event, axum::Error> {
    let id = event.seq.to_string();
    sse::Event::default().id(id).json_data(wire::Event::from(event))
}

fn number(named: &axum::http::HeaderValue) -> Result<i64, Error> {
    let number = named.to_str().ok().and_then(|text| text.parse().ok()).filter(|seq: &i64| *seq >= 0);
    number.ok_or_else(|| {
        let message = "`Last-Event-ID` is no number of an event";
        AppError::new(Kind::Invalid, "invalid-last-event-id", message)
            .help("leave it out, or name the last event that you were sent")
            .into()
    })
}
