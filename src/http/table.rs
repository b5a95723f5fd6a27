//! The table of routes. A route stands in it with its description and with what it needs of whoever calls, or not at all.

use axum::{
    Router,
    extract::Request,
    http::Method,
    middleware::from_fn,
    response::{IntoResponse as _, Response},
};
use serde_json::json;
use utoipa::{
    OpenApi as _,
    openapi::{
        extensions::ExtensionsBuilder,
        path::{Operation, PathItem},
    },
};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter, UtoipaMethodRouterExt as _};

use super::{Error, openapi};
use crate::{
    app::App,
    guard::{self, Denied, Need, Row},
};

/// Routes as they are gathered.
pub(super) struct Routes {
    router: OpenApiRouter<App>,
    rows: Vec<Row>,
}

/// What was gathered.
pub(super) struct Table {
    /// What answers.
    pub(super) router: Router<App>,
    /// How it is described.
    pub(super) description: utoipa::openapi::OpenApi,
    /// What it needs.
    pub(super) rows: Vec<Row>,
}

impl Routes {
    /// None so far.
    pub(super) fn new() -> Self {
        Self { router: OpenApiRouter::with_openapi(openapi::Info::openapi()), rows: Vec::new() }
    }

    /// Adds what `routes!` made, for whoever has what it needs.
    pub(super) fn at(mut self, need: Need, mut routes: UtoipaMethodRouter<App>) -> Self {
        for (path, item) in &mut routes.1.paths {
            for (method, operation) in operations(item) {
                let needed = ExtensionsBuilder::new().add("x-needs", json!(said(need))).build();
                operation.extensions.get_or_insert_with(Default::default).merge(needed);
                self.rows.push(Row { method, path: path.clone(), need });
            }
        }
        let guarded = routes.layer(from_fn(move |request, next| guard::needs(need, request, next, denied)));
        Self { router: self.router.routes(guarded), rows: self.rows }
    }

    /// The whole.
    pub(super) fn made(self) -> Table {
        let (router, description) = self.router.split_for_parts();
        Table { router, description, rows: self.rows }
    }
}

/// Says no as the API does.
pub(super) fn denied(denied: Denied, _: &Request) -> Response {
    Error::from(denied).into_response()
}

/// A need in a word, for the description.
fn said(need: Need) -> &'static str {
    match need {
        Need::Nobody => "nobody",
        Need::Anybody => "anybody",
        Need::Right(right, _) => right.as_str(),
    }
}

/// The operations of a path, with their methods.
fn operations(item: &mut PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    let all = [
        (Method::GET, get),
        (Method::PUT, put),
        (Method::POST, post),
        (Method::DELETE, delete),
        (Method::PATCH, patch),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}
