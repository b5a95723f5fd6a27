//! The pages that say no: what went wrong, and where to go from here.

use askama::Template;
use axum::{
    http::{Method, StatusCode, Uri},
    response::{IntoResponse, Response},
};

use super::{filters, page::page};
use crate::{
    app::{AppError, Kind},
    guard::Denied,
};

/// Why a page could not be shown or a form not be followed.
#[derive(Debug)]
pub(super) enum Error {
    /// The use case could not be done.
    App(AppError),
    /// Whoever asks is not let through.
    Denied(Denied),
    /// No page lives here.
    UnknownPage(String),
    /// A page lives here, but not for this method.
    WrongMethod(Method),
}

impl From<AppError> for Error {
    fn from(e: AppError) -> Self {
        Self::App(e)
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    status: u16,
    title: &'static str,
    message: String,
    help: String,
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let (status, title, message, help) = match self {
            Self::App(e) => of(e),
            Self::Denied(Denied::Refused(refusal)) => of(refusal.into()),
            Self::Denied(Denied::Unavailable(e)) => {
                (StatusCode::SERVICE_UNAVAILABLE, "Not reachable", e.message.clone(), e.help.clone())
            }
            Self::Denied(Denied::TooOften(seconds)) => (
                StatusCode::TOO_MANY_REQUESTS,
                "Too often",
                format!("too many requests; the next one is answered in {seconds} s"),
                "wait, then load the page again".to_owned(),
            ),
            Self::Denied(Denied::Unknown | Denied::Invalid(_)) => (
                StatusCode::UNAUTHORIZED,
                "Not signed in",
                "this is for people who are signed in".to_owned(),
                "sign in, then send the form again".to_owned(),
            ),
            Self::UnknownPage(path) => {
                let message = format!("no page lives at `{path}`");
                (StatusCode::NOT_FOUND, "Not found", message, "start from the overview".to_owned())
            }
            Self::WrongMethod(method) => {
                let message = format!("this address does not answer {method}");
                (
                    StatusCode::METHOD_NOT_ALLOWED,
                    "Not like this",
                    message,
                    "start from the overview".to_owned(),
                )
            }
        };
        page(status, &ErrorPage { status: status.as_u16(), title, message, help })
    }
}

fn of(e: AppError) -> (StatusCode, &'static str, String, String) {
    let (status, title) = kind(e.kind);
    let (message, help) = told(e);
    (status, title, message, help)
}

/// Status and heading of a failure.
pub(super) fn kind(kind: Kind) -> (StatusCode, &'static str) {
    match kind {
        Kind::Invalid => (StatusCode::BAD_REQUEST, "That cannot be read"),
        Kind::NotFound => (StatusCode::NOT_FOUND, "Not found"),
        Kind::Gone => (StatusCode::GONE, "Gone"),
        Kind::Conflict => (StatusCode::CONFLICT, "Not possible now"),
        Kind::Stale => (StatusCode::PRECONDITION_FAILED, "Somebody was faster"),
        Kind::Blocked => (StatusCode::UNPROCESSABLE_ENTITY, "Blocked by policy"),
        Kind::Forbidden => (StatusCode::FORBIDDEN, "Not yours to do"),
        Kind::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "Not reachable"),
        Kind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "Our fault"),
    }
}

/// Message and help for the reader. Our own faults are logged here, once, and not told.
pub(super) fn told(e: AppError) -> (String, String) {
    if e.kind == Kind::Internal {
        let source = e.source.as_ref().map(ToString::to_string).unwrap_or_default();
        tracing::error!(error = %e, source, "a page could not be shown");
        return (
            "the service could not do this".to_owned(),
            "the service's log has the particulars".to_owned(),
        );
    }
    (e.message, e.help)
}

/// Answers what no route matches.
pub(super) async fn unknown_page(uri: Uri) -> Error {
    Error::UnknownPage(uri.path().to_owned())
}

/// Answers a method that a page does not have.
pub(super) async fn wrong_method(method: Method) -> Error {
    Error::WrongMethod(method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn our_own_faults_are_told_without_their_cause() {
        let error = AppError::new(Kind::Internal, "corrupt-database", "row 7 of contracts cannot be read");
        let response = Error::App(error).into_response();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.expect("a page");
        let page = String::from_utf8_lossy(&body);
        assert!(page.contains("Our fault") && page.contains("log has the particulars"), "{page}");
        assert!(!page.contains("row 7"), "{page}");
    }
}
