//! The table of pages and forms. None stands in it without what it needs of whoever asks.

use axum::{
    Router,
    extract::Request,
    http::Method,
    middleware::from_fn,
    response::{IntoResponse as _, Response},
    routing::MethodRouter,
};

use super::{error::Error, page::see};
use crate::{
    app::App,
    guard::{self, Denied, Need, Row},
};

/// Pages and forms, with what they need.
pub(super) struct Pages {
    /// What answers.
    pub(super) router: Router<App>,
    /// What it needs.
    pub(super) rows: Vec<Row>,
}

impl Pages {
    /// None so far.
    pub(super) fn new() -> Self {
        Self { router: Router::new(), rows: Vec::new() }
    }

    /// Adds what answers GET.
    pub(super) fn page(self, need: Need, path: &str, route: MethodRouter<App>) -> Self {
        self.at(Method::GET, need, path, route)
    }

    /// Adds what answers POST.
    pub(super) fn form(self, need: Need, path: &str, route: MethodRouter<App>) -> Self {
        self.at(Method::POST, need, path, route)
    }

    fn at(mut self, method: Method, need: Need, path: &str, route: MethodRouter<App>) -> Self {
        self.rows.push(Row { method, path: path.to_owned(), need });
        let guarded = route.layer(from_fn(move |request, next| guard::needs(need, request, next, denied)));
        Self { router: self.router.route(path, guarded), rows: self.rows }
    }
}

/// Says no as pages do: whoever is not signed in and wants to look is sent to sign in, and comes back afterwards.
fn denied(denied: Denied, request: &Request) -> Response {
    let looks = matches!(*request.method(), Method::GET | Method::HEAD);
    match denied {
        Denied::Unknown | Denied::Invalid(_) if looks => {
            let next = request.uri().path_and_query().map_or("/", |path| path.as_str());
            let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
            see(&format!("/login?next={next}"))
        }
        denied => Error::Denied(denied).into_response(),
    }
}
