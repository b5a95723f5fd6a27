//! What every page has: the frame around it, and how requests for pages are read.

use std::{fmt::Display, str::FromStr};

use askama::Template;
use axum::{
    extract::{FromRequest, FromRequestParts, Request, path::ErrorKind, rejection::PathRejection},
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Redirect, Response},
};
use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;

use super::error::Error;
use crate::{
    access::{Object, Right},
    app::{App, AppError, Kind},
    catalog::draft::{self, InvalidDraft},
    name::CatalogName,
};

/// The frame around a page.
pub(super) struct Frame {
    /// The entry of the main navigation that this page belongs to, by its path.
    pub(super) section: &'static str,
    /// When the page was made; ages are counted from here.
    pub(super) now: DateTime<Utc>,
    /// Who looks at it.
    pub(super) who: Option<String>,
}

impl Frame {
    pub(super) fn new(app: &App, section: &'static str) -> Self {
        Self { section, now: app.now(), who: app.caller().map(|caller| caller.name.clone()) }
    }
}

/// A page as an answer. Pages show what is true now, so none is kept.
pub(super) fn page(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(html) => {
            let headers =
                [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, "no-store")];
            (status, headers, html).into_response()
        }
        Err(e) => {
            tracing::error!(error = %e, "a page could not be rendered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// What only one browser may see, with the cookies that it is to keep.
pub(super) fn with_cookies(
    mut response: Response,
    cookies: impl IntoIterator<Item = Option<HeaderValue>>,
) -> Response {
    for cookie in cookies.into_iter().flatten() {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// A path with a query.
pub(super) fn address(path: &str, parts: &[(&str, &str)]) -> String {
    if parts.is_empty() {
        return path.to_owned();
    }
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parts).finish();
    format!("{path}?{query}")
}

/// After a form: on to the page that shows what it did.
pub(super) fn see(path: &str) -> Response {
    Redirect::to(path).into_response()
}

/// The named parts of the path.
pub(super) struct Path<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Error;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(PathRejection::FailedToDeserializePathParams(e)) => Err(match e.kind() {
                ErrorKind::ParseErrorAtKey { value, .. } | ErrorKind::ParseError { value, .. } => {
                    invalid(&format!("`{value}` is no number"))
                }
                ErrorKind::DeserializeError { message, .. } | ErrorKind::Message(message) => invalid(message),
                other => invalid(&other.to_string()),
            }),
            Err(other) => Err(invalid(&other.body_text())),
        }
    }
}

/// A draft's number in a path: `31`, or `d-31` as people see it.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(try_from = "String")]
pub(super) struct DraftId(pub(super) i64);

impl TryFrom<String> for DraftId {
    type Error = InvalidDraft;
    fn try_from(text: String) -> Result<Self, InvalidDraft> {
        draft::number(&text).map(Self)
    }
}

/// The query string.
pub(super) struct Query<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Error;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let read = axum::extract::Query::from_request_parts(parts, state).await;
        read.map(|axum::extract::Query(value)| Self(value))
            .map_err(|e| unread("the query of this address", &e.body_text()))
    }
}

/// A form that was sent.
pub(super) struct Form<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Form<T> {
    type Rejection = Error;
    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        let read = axum::extract::Form::from_request(request, state).await;
        read.map(|axum::extract::Form(value)| Self(value)).map_err(|e| unread("this form", &e.body_text()))
    }
}

/// What somebody wrote into an address by hand, mostly.
fn unread(what: &str, cause: &str) -> Error {
    let cause = cause.split_once(": ").map_or(cause, |(_, cause)| cause);
    let message = format!("{what} cannot be read: {cause}");
    Error::App(
        AppError::new(Kind::Invalid, "invalid-request", message)
            .help("follow a link of a page, or leave that out"),
    )
}

fn invalid(message: &str) -> Error {
    Error::App(AppError::new(Kind::Invalid, "invalid-request", message))
}

/// Whether whoever looks may give and take tokens, teams and webhooks. What they may not is refused by the use cases; this
/// only keeps forms from standing where nobody could send them.
pub(super) fn administers(app: &App) -> bool {
    app.caller().is_none_or(|caller| caller.may(Right::Administer, Object::default()).is_ok())
}

/// The same of how a catalog is judged, or of which servers are asked.
pub(super) fn configures(app: &App, catalog: Option<&CatalogName>) -> bool {
    let object = Object { catalog, environment: None };
    app.caller().is_none_or(|caller| caller.may(Right::Configure, object).is_ok())
}

/// The same of asking servers, as whoever makes drafts may.
pub(super) fn drafts(app: &App) -> bool {
    app.caller().is_none_or(|caller| caller.may(Right::Draft, Object::default()).is_ok())
}

/// The names that a field of a form lists, with spaces, commas or new lines between them.
pub(super) fn words<T: FromStr<Err: Display>>(text: &str) -> Result<Vec<T>, AppError> {
    let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    words
        .map(|word| {
            word.parse().map_err(|e: T::Err| AppError::new(Kind::Invalid, "invalid-name", e.to_string()))
        })
        .collect()
}
