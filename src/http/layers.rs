//! What surrounds the API and the pages alike: a name and a span per request, a problem for a panic, a limit for bodies, and the
//! two guards that a service on loopback needs against web pages open in the same browser.

use std::{any::Any, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, Request, State},
    http::{Method, header},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
};
use tower::Layer as _;
use tower_http::{
    catch_panic::CatchPanicLayer,
    csrf::{CsrfLayer, ProtectionError},
    map_request_body::MapRequestBodyLayer,
    timeout::RequestBodyDeadlineLayer,
    trace::TraceLayer,
};
use tracing::field::Empty;

use super::{Error, live, metrics};
use crate::{
    app::App,
    guard::{self, Limits, request_id},
};

/// No body of a form or of a decision comes near this.
pub(super) const BODY_BYTES: usize = 64 << 10;

/// However slowly a body comes, it is there by then or it is refused.
const BODY_TIME: Duration = Duration::from_secs(60);

/// Wraps the API, the pages, or both. `bound` is the address the service listens on: on loopback, only names of this
/// machine are answered, because a page of another site can point its own name at 127.0.0.1 and would then count as
/// this site (DNS rebinding). On other addresses the names are the operator's business.
///
/// They stand around the routes as one service, from the outermost in: a layer of each route would be copied with all below
/// it for each request.
pub fn layers(router: Router, app: App, bound: SocketAddr, limits: Arc<Limits>) -> Router {
    let router = router.layer(from_fn(metrics::measured));
    let around = (
        request_id::Naming,
        // A failed request is logged where the cause is known, not a second time here.
        TraceLayer::new_for_http().make_span_with(span).on_response(ended).on_failure(()),
        CatchPanicLayer::custom(panicked),
        from_fn_with_state(bound.ip().is_loopback(), refuse_foreign_hosts),
        from_fn_with_state((app, limits), guard::identify),
        CsrfLayer::new().with_rejection_response(|_: ProtectionError| Error::CrossOrigin.into_response()),
        DefaultBodyLimit::max(BODY_BYTES),
        RequestBodyDeadlineLayer::new(BODY_TIME),
        MapRequestBodyLayer::new(Body::new),
    );
    Router::new().fallback_service(around.layer(router))
}

/// The whole service over these routes: what is kept of live catalogs, then the routes within their [`layers`].
pub fn service(routes: Router, app: App, bound: SocketAddr, limits: Arc<Limits>) -> Router {
    let layered = layers(routes, app.clone(), bound, Arc::clone(&limits));
    live::kept_first(layered, app, limits, bound.ip().is_loopback())
}

/// The span that what happens within a request is logged in: of the highest level, so that no filter takes the name away.
///
/// Hosts ask what is live all day, and a span costs as much as the answer: that handler makes one where there is something to
/// do.
fn span(request: &Request) -> tracing::Span {
    let path = request.uri().path();
    if *request.method() == Method::GET && live::environment(path).is_some() {
        return tracing::Span::none();
    }
    let id = request_id::given(request.headers()).unwrap_or_default();
    let span = tracing::error_span!("request", id, method = %request.method(), path, status = Empty);
    #[cfg(feature = "otel")]
    continue_trace(&span, request.headers());
    span
}

/// Makes a span part of the trace that the caller tells of (W3C Trace Context).
#[cfg(feature = "otel")]
fn continue_trace(span: &tracing::Span, headers: &axum::http::HeaderMap) {
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    let said = opentelemetry_http::HeaderExtractor(headers);
    let parent = opentelemetry::global::get_text_map_propagator(|propagator| propagator.extract(&said));
    // It fails where no traces are sent.
    _ = span.set_parent(parent);
}

/// Notes how a request ended.
fn ended<B>(response: &axum::http::Response<B>, took: Duration, span: &tracing::Span) {
    let status = response.status().as_u16();
    span.record("status", status);
    tracing::debug!(status, latency_ms = took.as_millis(), "answered");
}

/// The span of a request that is being answered and has none yet.
pub(super) fn span_of(path: &str) -> tracing::Span {
    let id = request_id::current().unwrap_or_default();
    tracing::error_span!("request", id, method = "GET", path)
}

fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without words");
    Error::Panicked(text.to_owned()).into_response()
}

async fn refuse_foreign_hosts(State(loopback): State<bool>, request: Request, next: Next) -> Response {
    if !loopback || is_for_this_machine(&request) {
        return next.run(request).await;
    }
    Error::ForeignHost(host(&request).to_owned()).into_response()
}

/// Whether a request calls the service by a name of this machine.
pub(super) fn is_for_this_machine(request: &Request) -> bool {
    is_this_machine(host(request))
}

fn host(request: &Request) -> &str {
    let header = || request.headers().get(header::HOST).and_then(|v| v.to_str().ok());
    request.uri().authority().map(|a| a.as_str()).or_else(header).unwrap_or_default()
}

fn is_this_machine(host: &str) -> bool {
    // The port does not matter: a rebound name fails by its name.
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_end_matches('.');
    let ip = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name);
    let top = name.rsplit_once('.').map_or(name, |(_, top)| top);
    top.eq_ignore_ascii_case("localhost") || ip.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
