//! What is kept of live catalogs, answered before anything else is done: that is what hosts ask all day, and what stands
//! around a route costs many times the answer.
//!
//! It asks for itself what the layers ask: under which name the service is called, who calls, whether too often, and whether
//! they may. Wherever that is not certain at once, or the answer would be no, the request goes the long way.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    Router,
    extract::{Query, Request},
    http::Method,
    response::Response,
    routing::future::RouteFuture,
};
use futures_util::future::Either;
use tower::Service;

use super::{Format, LiveQuery, has, kept, wanted};
use crate::http::{conditional::says_nothing, layers, metrics};
use crate::{
    access::{Object, Right},
    app::App,
    guard::{self, Limits, request_id},
};

/// Answers what is kept, and leaves the rest to this: the routes with all their layers.
///
/// `loopback` says whether only names of this machine are answered, as for [`layers`](fn@layers::layers).
pub(in crate::http) fn kept_first(rest: Router, app: App, limits: Arc<Limits>, loopback: bool) -> Router {
    Router::new().fallback_service(Kept { known: Arc::new(Shared { app, limits, loopback }), rest })
}

/// Copied for each request, so it holds no more than two references.
#[derive(Clone)]
struct Kept {
    known: Arc<Shared>,
    rest: Router,
}

struct Shared {
    app: App,
    limits: Arc<Limits>,
    loopback: bool,
}

impl Service<Request> for Kept {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<Ready<Result<Response, Infallible>>, RouteFuture<Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // A router is always ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match self.known.answer(&request) {
            Some(mut answer) => {
                metrics::count_kept(answer.status());
                request_id::name_answer(request.headers(), &mut answer);
                Either::Left(ready(Ok(answer)))
            }
            None => Either::Right(self.rest.call(request)),
        }
    }
}

impl Shared {
    /// The answer that is kept, where it is certain. Whatever is not asked as it usually is, wrong or only unusual, is left to
    /// the route.
    fn answer(&self, request: &Request) -> Option<Response> {
        let headers = request.headers();
        if *request.method() != Method::GET {
            return None;
        }
        let environment = environment(request.uri().path())?.parse().ok()?;
        if self.loopback && !layers::is_for_this_machine(request) {
            return None;
        }
        let query = match request.uri().query() {
            // What hosts ask: nothing has to be decoded.
            Some("format=mcp") => LiveQuery { format: Format::Mcp, catalog: None, server: None },
            _ => Query::<LiveQuery>::try_from_uri(request.uri()).ok()?.0,
        };
        let caller = guard::known_at_once(&self.app, request)?;
        // Which is meant is told by the scope, and whom somebody acts for may be no name: both are asked on the long way.
        let unsaid = query.catalog.is_none() && caller.scope.catalogs.is_some();
        if unsaid || headers.contains_key(&guard::ON_BEHALF_OF) {
            return None;
        }
        let ready = self.app.live_kept(&wanted(&environment, &query)?, has(headers))?;
        let pointer = &ready.pointer;
        let object = Object { catalog: Some(&pointer.catalog), environment: Some(&pointer.environment) };
        caller.may(Right::Read, object).ok()?;
        // Last: what goes the long way is counted there.
        self.limits.may_call(&caller).ok()?;
        // Who says what it has was found to have this.
        Some(kept(&ready, !says_nothing(headers)))
    }
}

/// The environment whose live catalog this path asks for. No name of one has signs that a path escapes.
pub(in crate::http) fn environment(path: &str) -> Option<&str> {
    path.strip_prefix("/api/v1/environments/")?.strip_suffix("/catalog")
}
