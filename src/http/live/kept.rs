//! What is kept of live catalogs, answered before any route is looked for: that is what hosts ask all day, and what stands
//! around a route costs more than the answer.

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
    middleware::from_fn,
    response::Response,
    routing::future::RouteFuture,
};
use futures_util::future::Either;
use tower::Service;

use super::{LiveQuery, has, kept, wanted};
use crate::http::metrics;
use crate::{
    access::{Object, Right},
    app::App,
    guard::Known,
};

/// Answers what is kept, and leaves the rest to these routes.
///
/// It asks nobody who calls: whatever does has to stand around it. What [`layers`](fn@super::super::layers) puts around what it
/// is given does.
pub fn kept_first(routes: Router, app: App) -> Router {
    let routes = routes.layer(from_fn(metrics::measured));
    Router::new().fallback_service(Kept { app: Arc::new(app), routes })
}

#[derive(Clone)]
struct Kept {
    app: Arc<App>,
    routes: Router,
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
        match kept_answer(&self.app, &request) {
            Some(answer) => {
                metrics::count_kept(answer.status());
                Either::Left(ready(Ok(answer)))
            }
            None => Either::Right(self.routes.call(request)),
        }
    }
}

/// The answer that is kept, where it is certain. Whatever is not asked as it usually is, wrong or only unusual, is left to the
/// route.
fn kept_answer(app: &App, request: &Request) -> Option<Response> {
    if *request.method() != Method::GET {
        return None;
    }
    let Known(Ok(caller)) = request.extensions().get::<Known>()? else { return None };
    let environment = environment(request.uri().path())?.parse().ok()?;
    let Query(query) = Query::<LiveQuery>::try_from_uri(request.uri()).ok()?;
    let ready = app.live_kept(&wanted(&environment, &query)?, has(request.headers()))?;
    let pointer = &ready.pointer;
    let object = Object { catalog: Some(&pointer.catalog), environment: Some(&pointer.environment) };
    caller.may(Right::Read, object).ok()?;
    Some(kept(request.headers(), &ready))
}

/// The environment whose live catalog this path asks for. No name of one has signs that a path escapes.
pub(in crate::http) fn environment(path: &str) -> Option<&str> {
    path.strip_prefix("/api/v1/environments/")?.strip_suffix("/catalog")
}
