//! What surrounds the API and the pages alike: a name and a span per request, a problem for a panic, a limit for bodies, and the
//! two guards that a service on loopback needs against web pages open in the same browser.

use std::{any::Any, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request},
    http::{HeaderMap, Method, Uri, header},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
};
use tower_http::{
    catch_panic::CatchPanicLayer,
    csrf::{CsrfLayer, ProtectionError},
    trace::TraceLayer,
};

use super::Error;
use crate::{
    app::App,
    guard::{self, Limits, Rates, request_id},
};

/// No body of a form or of a decision comes near this.
pub(super) const BODY_BYTES: usize = 64 << 10;

/// Wraps the API, the pages, or both. `bound` is the address the service listens on: on loopback, only names of this
/// machine are answered, because a page of another site can point its own name at 127.0.0.1 and would then count as
/// this site (DNS rebinding). On other addresses the names are the operator's business.
pub fn layers(router: Router, app: App, bound: SocketAddr, rates: Rates) -> Router {
    let limits = Arc::new(Limits::new(rates));
    let router = router.layer(from_fn_with_state((app, limits), guard::identify));
    let router = router.layer(DefaultBodyLimit::max(BODY_BYTES)).layer(
        CsrfLayer::new().with_rejection_response(|_: ProtectionError| Error::CrossOrigin.into_response()),
    );
    let router = if bound.ip().is_loopback() { router.layer(from_fn(refuse_foreign_hosts)) } else { router };
    router
        .layer(CatchPanicLayer::custom(panicked))
        // A failed request is logged where the cause is known, not a second time here.
        .layer(TraceLayer::new_for_http().make_span_with(span).on_failure(()))
        .layer(from_fn(request_id::named))
}

/// The span that what happens within a request is logged in: of the highest level, so that no filter takes the name away.
///
/// Hosts ask what is live all day, and a span costs as much as the answer: that handler makes one where there is something to
/// do.
fn span(request: &Request) -> tracing::Span {
    let path = request.uri().path();
    if *request.method() == Method::GET
        && path.starts_with("/api/v1/environments/")
        && path.ends_with("/catalog")
    {
        return tracing::Span::none();
    }
    let id = request_id::given(request.headers()).unwrap_or_default();
    tracing::error_span!("request", id, method = %request.method(), path)
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

async fn refuse_foreign_hosts(request: Request, next: Next) -> Response {
    let host = host(request.uri(), request.headers());
    if is_this_machine(&host) { next.run(request).await } else { Error::ForeignHost(host).into_response() }
}

fn host(uri: &Uri, headers: &HeaderMap) -> String {
    let header = || headers.get(header::HOST).and_then(|v| v.to_str().ok());
    uri.authority().map(|a| a.as_str()).or_else(header).unwrap_or_default().to_owned()
}

fn is_this_machine(host: &str) -> bool {
    // The port does not matter: a rebound name fails by its name.
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let ip = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(&name);
    name == "localhost"
        || name.ends_with(".localhost")
        || ip.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
