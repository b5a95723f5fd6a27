//! `/metrics` in Prometheus' text form: what was counted since the process began, and how things stand now.
//!
//! Labels are routes, verdicts, outcomes and the names that people here gave: never what a caller or a server wrote.

use std::{
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use metrics::{
    Counter, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::app::{App, counts};

const REQUESTS: &str = "toolpact_http_requests_total";
/// The route whose answers are kept.
const LIVE: &str = "/api/v1/environments/{environment}/catalog";
const DURATION: &str = "toolpact_http_request_duration_seconds";
/// From an answer out of the cache to a probe of servers.
const BUCKETS: [f64; 10] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0];
/// What a histogram takes in is sorted into its buckets at the latest after so many requests, though nobody asks for them.
const UPKEEP: u64 = 4_096;

/// What counts in this process; nothing where another program counts for itself.
static HANDLE: LazyLock<Option<PrometheusHandle>> = LazyLock::new(|| {
    let builder =
        PrometheusBuilder::new().set_buckets_for_metric(Matcher::Full(DURATION.to_owned()), &BUCKETS).ok()?;
    let handle = builder.install_recorder().ok()?;
    describe();
    counts::begin();
    Some(handle)
});

/// Counts from now on.
pub(super) fn begin() {
    LazyLock::force(&HANDLE);
}

fn describe() {
    describe_counter!(REQUESTS, "Requests, by route, method and status.");
    describe_histogram!(DURATION, Unit::Seconds, "How long requests took, by route and method.");
    describe_counter!(counts::DIFFS, "Diffs, by verdict.");
    describe_counter!(counts::SNAPSHOTS, "Recorded listings of servers, by outcome.");
    describe_counter!(counts::DELIVERIES, "Attempts to tell a webhook, by result.");
    describe_gauge!("toolpact_database_up", "1 where the database answered this scrape.");
    describe_gauge!("toolpact_draining", "1 where the process is about to end.");
    describe_gauge!("toolpact_events", "The number of the newest event.");
    describe_gauge!("toolpact_pending_drafts", "Drafts that wait for review.");
    describe_gauge!("toolpact_deliveries_waiting", "Deliveries to webhooks that were not taken yet.");
    describe_gauge!("toolpact_webhooks_disabled", "Webhooks to which nothing is sent.");
    describe_gauge!("toolpact_pointer_generation", "The generation of a pointer.");
    describe_gauge!("toolpact_leases", "Servers and webhooks that a process holds, by kind.");
    describe_gauge!("toolpact_leases_overdue", "Servers that are held by a process whose lease has ended.");
    describe_gauge!("toolpact_build_info", "1, with the version.");
}

/// Counts a request and how long it took.
pub(super) async fn measured(request: Request, next: Next) -> Response {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let began = Instant::now();
    let method = method(request.method());
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let response = next.run(request).await;
    let status = response.status().as_str().to_owned();
    counter!(REQUESTS, "route" => route.clone(), "method" => method, "status" => status).increment(1);
    histogram!(DURATION, "route" => route, "method" => method).record(began.elapsed().as_secs_f64());
    if COUNT.fetch_add(1, Ordering::Relaxed) % UPKEEP == UPKEEP - 1
        && let Some(handle) = &*HANDLE
    {
        handle.run_upkeep();
    }
    response
}

/// Counts an answer that was kept: it took no time worth a histogram.
pub(super) fn count_kept(status: StatusCode) {
    // Looking a counter up by its labels costs as much as the rest of the answer.
    static KEPT: LazyLock<[Counter; 2]> = LazyLock::new(|| {
        begin();
        ["200", "304"]
            .map(|status| counter!(REQUESTS, "route" => LIVE, "method" => "GET", "status" => status))
    });
    KEPT[usize::from(status == StatusCode::NOT_MODIFIED)].increment(1);
}

/// A method by its name; callers may make some up.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Answers a scrape. Where the database does not answer, what was counted is told all the same.
pub(super) async fn get_metrics(State(app): State<App>) -> Response {
    let up = stand(&app).await;
    gauge!("toolpact_database_up").set(if up { 1.0 } else { 0.0 });
    gauge!("toolpact_draining").set(if app.is_draining() { 1.0 } else { 0.0 });
    gauge!("toolpact_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    let text = HANDLE.as_ref().map(PrometheusHandle::render).unwrap_or_default();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))], text)
        .into_response()
}

/// Reads how things stand; false where the database does not answer.
async fn stand(app: &App) -> bool {
    let standing = match app.standing().await {
        Ok(standing) => standing,
        Err(error) => {
            tracing::warn!("a scrape without the database: {error}");
            return false;
        }
    };
    #[expect(clippy::cast_precision_loss, reason = "counts of what people and machines did stay below 2^53")]
    let set = |name: &'static str, count: i64| gauge!(name).set(count as f64);
    set("toolpact_events", standing.events);
    set("toolpact_pending_drafts", standing.pending_drafts);
    set("toolpact_deliveries_waiting", standing.queue.waiting);
    set("toolpact_webhooks_disabled", standing.webhooks_disabled);
    set("toolpact_leases_overdue", standing.queue.overdue);
    for (kind, count) in [("poll", standing.queue.polling), ("webhook", standing.queue.sending)] {
        #[expect(clippy::cast_precision_loss, reason = "as above")]
        gauge!("toolpact_leases", "kind" => kind).set(count as f64);
    }
    for pointer in standing.pointers {
        #[expect(clippy::cast_precision_loss, reason = "as above")]
        gauge!(
            "toolpact_pointer_generation",
            "environment" => String::from(pointer.environment), "catalog" => String::from(pointer.catalog)
        )
        .set(pointer.generation as f64);
    }
    true
}
