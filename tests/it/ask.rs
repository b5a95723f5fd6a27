//! Not tests: asks the service, both faces together as `main` serves them, without sockets.

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Method, Request, StatusCode},
};
use serde_json::Value;
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use toolpact::{
    access::Caller,
    app::App,
    guard::{Known, Limits, Rates},
    http, web,
};
use tower::ServiceExt as _;

use crate::api::description::conforms;

/// Where the service would listen: on loopback.
const BOUND: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7878);

/// A request to be changed and sent.
pub(crate) struct Ask {
    method: Method,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
    /// Who asks, where that is known without a credential.
    by: Option<Caller>,
}

/// Asks for a path, as an admin: `api` of the API and `web` of the pages.
pub(crate) fn get(path: &str) -> Ask {
    Ask {
        method: Method::GET,
        path: path.to_owned(),
        headers: vec![("host".to_owned(), "localhost:7878".to_owned())],
        body: String::new(),
        by: Some(Caller::local(if path.starts_with("/api") { "api" } else { "web" })),
    }
}

/// Sends JSON.
pub(crate) fn post(path: &str, body: Value) -> Ask {
    get(path).method(Method::POST).header("content-type", "application/json").body(&body.to_string())
}

/// Sends JSON that is to stand at a path.
pub(crate) fn put(path: &str, body: Value) -> Ask {
    post(path, body).method(Method::PUT)
}

/// Sends a JSON Patch.
pub(crate) fn patch(path: &str, operations: Value) -> Ask {
    post(path, operations).method(Method::PATCH).header("content-type", "application/json-patch+json")
}

/// Sends a form, as a browser does from our own page. Values are plain words.
pub(crate) fn submit(path: &str, fields: &[(&str, &str)]) -> Ask {
    let pairs: Vec<_> =
        fields.iter().map(|(name, value)| format!("{name}={}", value.replace(' ', "+"))).collect();
    get(path)
        .method(Method::POST)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "same-origin")
        .body(&pairs.join("&"))
}

impl Ask {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(n, _)| n != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// An admin of this name asks.
    pub(crate) fn by(self, name: &str) -> Self {
        self.caller(Some(Caller::local(name)))
    }

    /// This caller asks, or somebody of whom only what the headers show is known.
    pub(crate) fn caller(self, by: Option<Caller>) -> Self {
        Self { by, ..self }
    }

    pub(crate) fn method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    pub(crate) fn body(self, body: &str) -> Self {
        Self { body: body.to_owned(), ..self }
    }
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    /// A header, or nothing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().expect("our headers are text"))
    }
}

/// Asks both faces of a service on loopback.
///
/// Whatever the API answers has to be as its description says.
pub(crate) async fn answer(app: &App, ask: Ask) -> Answer {
    let (method, path) = (ask.method.clone(), ask.path.clone());
    let routes = http::router(app.clone()).merge(web::router(app.clone()));
    let answer = sent_to(service(app, routes), ask).await;
    conforms(&method, &path, &answer);
    answer
}

/// Asks a router behind the common layers, on loopback.
pub(crate) async fn sent(app: &App, router: Router, ask: Ask) -> Answer {
    let limits = Arc::new(Limits::new(Rates::default()));
    sent_to(http::layers(router, app.clone(), BOUND, limits), ask).await
}

/// These routes with all that stands around them, on loopback.
pub(crate) fn service(app: &App, routes: Router) -> Router {
    http::service(routes, app.clone(), BOUND, Arc::new(Limits::new(Rates::default())))
}

/// Asks a whole service.
pub(crate) async fn sent_to(router: Router, ask: Ask) -> Answer {
    let mut request = Request::builder().method(ask.method).uri(&ask.path);
    for (name, value) in &ask.headers {
        request = request.header(name, value);
    }
    let mut request = request.body(Body::from(ask.body)).expect("a request");
    if let Some(caller) = ask.by {
        request.extensions_mut().insert(Known(Ok(Arc::new(caller))));
    }
    let response = router.oneshot(request).await.expect("a router always answers");
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, 1 << 26).await.expect("the body ends");
    let body = String::from_utf8(bytes.to_vec()).expect("our bodies are text");
    Answer { status: parts.status, headers: parts.headers, body }
}
