//! Every way in which the API says no, as problem documents (RFC 9457). A closed list: each variant has its status and
//! a stable code; the title is the code in words.
//!
//! Our own faults are logged here, once, and their particulars stay in the log.

use axum::{
    body::Body,
    http::{HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::wire;
use crate::{
    app::{AppError, Kind},
    guard::{Denied, request_id},
};

/// The content type of problems.
pub(super) const PROBLEM: &str = "application/problem+json";

/// Why a request was not answered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The use case could not be done.
    #[error(transparent)]
    App(#[from] AppError),
    /// Nothing lives at this path.
    #[error("`{0}` is no route of this API")]
    UnknownRoute(String),
    /// Something lives there, but not for this method.
    #[error("`{path}` does not answer {method}")]
    WrongMethod {
        /// The method.
        method: Method,
        /// The path.
        path: String,
    },
    /// A part of the path cannot be what it should name.
    #[error("{0}")]
    InvalidPath(String),
    /// The query string cannot be read.
    #[error("the query {0}")]
    InvalidQuery(String),
    /// The cursor is of another list, or none.
    #[error("the cursor {0}")]
    InvalidCursor(String),
    /// The body cannot be read.
    #[error("the body {0}")]
    InvalidBody(String),
    /// A member of the body cannot be read.
    #[error("the body cannot be read: {cause}")]
    InvalidMember {
        /// Where it stands, a JSON Pointer.
        pointer: String,
        /// Why not.
        cause: String,
    },
    /// The body is not said to be what the route reads.
    #[error("the body has the content type `{said}`; this route reads {reads}")]
    WrongContentType {
        /// What it is said to be.
        said: String,
        /// What it has to be.
        reads: &'static str,
    },
    /// The body is over the route's limit.
    #[error("the body is larger than this route reads")]
    BodyTooLarge,
    /// A pointer move without the generation that the caller saw.
    #[error(
        "the header `If-Match` is missing; what others may change is changed only from the state that was seen"
    )]
    MissingIfMatch,
    /// A generation that is none.
    #[error("the header `If-Match` is `{0}`, which names no generation")]
    InvalidGeneration(String),
    /// What is no list of strong tags.
    #[error("the header `If-Match` is `{0}`, which names no ETag")]
    InvalidIfMatch(String),
    /// A header of more or other characters than are kept.
    #[error("the header `Idempotency-Key` is no printable ASCII of 1 to 128 characters")]
    InvalidIdempotencyKey,
    /// A name that is none.
    #[error("the header `Toolpact-On-Behalf-Of` is no name of 1 to 64 visible ASCII characters")]
    InvalidOnBehalfOf,
    /// What is to be made only where it is not there, or changed as it is there: one of the two.
    #[error("the header `If-None-Match` {0}")]
    InvalidIfNoneMatch(&'static str),
    /// The first request under a key is not answered yet.
    #[error("the first request with this idempotency key is not answered yet")]
    InFlight,
    /// A browser sent this from another site.
    #[error("the request comes from another site than this one")]
    CrossOrigin,
    /// A loopback service was asked under a foreign name: DNS rebinding.
    #[error("`{0}` is no name of this machine, and this service listens on loopback only")]
    ForeignHost(String),
    /// Nobody said who calls.
    #[error("nobody is known to call: the request has no credential")]
    Unauthenticated,
    /// What was shown is no credential, or none any more.
    #[error("the credential is not good: {0}")]
    InvalidCredential(&'static str),
    /// The caller calls too often; after so many seconds again.
    #[error("too many requests; the next one is answered in {0} s")]
    TooOften(u64),
    /// A handler panicked.
    #[error("a handler panicked: {0}")]
    Panicked(String),
}

impl Error {
    fn status(&self) -> StatusCode {
        match self {
            Self::App(e) => match e.kind {
                Kind::Invalid => StatusCode::BAD_REQUEST,
                Kind::NotFound => StatusCode::NOT_FOUND,
                Kind::Gone => StatusCode::GONE,
                Kind::Conflict => StatusCode::CONFLICT,
                Kind::Stale => StatusCode::PRECONDITION_FAILED,
                Kind::Blocked => StatusCode::UNPROCESSABLE_ENTITY,
                Kind::Forbidden => StatusCode::FORBIDDEN,
                Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
                Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Self::UnknownRoute(_) => StatusCode::NOT_FOUND,
            Self::WrongMethod { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::InvalidPath(_)
            | Self::InvalidQuery(_)
            | Self::InvalidCursor(_)
            | Self::InvalidBody(_)
            | Self::InvalidMember { .. }
            | Self::InvalidGeneration(_)
            | Self::InvalidIfMatch(_)
            | Self::InvalidIfNoneMatch(_)
            | Self::InvalidOnBehalfOf
            | Self::InvalidIdempotencyKey => StatusCode::BAD_REQUEST,
            Self::InFlight => StatusCode::CONFLICT,
            Self::WrongContentType { .. } => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::MissingIfMatch => StatusCode::PRECONDITION_REQUIRED,
            Self::CrossOrigin => StatusCode::FORBIDDEN,
            Self::ForeignHost(_) => StatusCode::MISDIRECTED_REQUEST,
            Self::Unauthenticated | Self::InvalidCredential(_) => StatusCode::UNAUTHORIZED,
            Self::TooOften(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Panicked(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::App(e) if e.kind == Kind::Internal => "internal",
            Self::App(e) => e.code,
            Self::UnknownRoute(_) => "unknown-route",
            Self::WrongMethod { .. } => "wrong-method",
            Self::InvalidPath(_) => "invalid-path",
            Self::InvalidQuery(_) => "invalid-query",
            Self::InvalidCursor(_) => "invalid-cursor",
            Self::InvalidBody(_) | Self::InvalidMember { .. } => "invalid-body",
            Self::WrongContentType { .. } => "wrong-content-type",
            Self::BodyTooLarge => "body-too-large",
            Self::MissingIfMatch => "missing-if-match",
            Self::InvalidGeneration(_) | Self::InvalidIfMatch(_) => "invalid-if-match",
            Self::InvalidIfNoneMatch(_) => "invalid-if-none-match",
            Self::InvalidOnBehalfOf => "invalid-on-behalf-of",
            Self::InFlight => "idempotency-key-in-flight",
            Self::InvalidIdempotencyKey => "invalid-idempotency-key",
            Self::CrossOrigin => "cross-origin",
            Self::ForeignHost(_) => "foreign-host",
            Self::Unauthenticated => "unauthenticated",
            Self::InvalidCredential(_) => "invalid-token",
            Self::TooOften(_) => "too-many-requests",
            Self::Panicked(_) => "internal",
        }
    }

    fn help(&self) -> String {
        match self {
            Self::App(e) => e.help.clone(),
            Self::MissingIfMatch | Self::InvalidIfMatch(_) => {
                "GET it, look at it, and send its `ETag` as `If-Match`; of an environment its `generation` will do, \
                 `\"3\"`, which is `\"0\"` where nothing was ever live"
                    .to_owned()
            }
            Self::InvalidGeneration(_) => {
                "GET the environment, read its `generation` (its ETag begins with it) and send it as `If-Match: \"3\"`; \
                 where nothing was ever live, that is `\"0\"`"
                    .to_owned()
            }
            Self::InvalidCursor(_) => {
                "send back the `next` of a page of this list as it came, or leave the cursor out to begin".to_owned()
            }
            Self::InFlight => {
                "send it again in a second; its answer comes back then. Where none comes for minutes, whoever worked on it is \
                 gone: look whether it was done, and if not, send it under a new key"
                    .to_owned()
            }
            Self::WrongContentType { reads, .. } => format!("send `Content-Type: {reads}`"),
            Self::InvalidIfNoneMatch(_) => {
                "send `If-None-Match: *` to make it where it is not there, or its ETag as `If-Match` to change it".to_owned()
            }
            Self::InvalidOnBehalfOf => "send a name without spaces, or leave the header out".to_owned(),
            Self::CrossOrigin => "send it from this service's own pages, or without a browser".to_owned(),
            Self::ForeignHost(_) => "ask for it as localhost, 127.0.0.1 or [::1]".to_owned(),
            Self::Unauthenticated => {
                "send `Authorization: Bearer TOKEN`; an admin makes tokens, `toolpact tokens create`".to_owned()
            }
            Self::InvalidCredential(_) => "ask an admin for a new token, or sign in again".to_owned(),
            Self::TooOften(_) => "wait, and ask less often; what has not changed costs nothing to leave out".to_owned(),
            Self::UnknownRoute(_)
            | Self::WrongMethod { .. }
            | Self::InvalidPath(_)
            | Self::InvalidQuery(_)
            | Self::InvalidBody(_)
            | Self::InvalidMember { .. }
            | Self::BodyTooLarge
            | Self::InvalidIdempotencyKey
            | Self::Panicked(_) => String::new(),
        }
    }

    /// What exactly is wrong with a body.
    fn faults(&self) -> Vec<Fault> {
        let fault = |pointer: &str, detail: &str| {
            vec![Fault { pointer: pointer.to_owned(), detail: detail.to_owned() }]
        };
        match self {
            Self::InvalidMember { pointer, cause } => fault(pointer, cause),
            Self::InvalidBody(_) => fault("", &self.to_string()),
            Self::App(e) if matches!(e.code, "empty-reason" | "invalid-reason") => {
                fault("/reason", &e.message)
            }
            Self::App(e) if e.code == "invalid-owner" => fault("/owner", &e.message),
            _ => Vec::new(),
        }
    }

    /// What stands in the way of a move.
    fn gates(&self) -> Vec<wire::Gate> {
        match self {
            Self::App(AppError { preflight: Some(preflight), .. }) => {
                let gates = preflight.gates.iter().filter(|gate| gate.blocks());
                gates.cloned().map(wire::Gate::from).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What callers are told: everything, unless it is our own fault.
    fn detail(&self) -> String {
        if self.status() != StatusCode::INTERNAL_SERVER_ERROR {
            return self.to_string();
        }
        let source = match self {
            Self::App(AppError { source: Some(source), .. }) => source.to_string(),
            _ => String::new(),
        };
        tracing::error!(error = %self, source, "a request could not be answered");
        "this is a fault of the service; its log has the particulars".to_owned()
    }
}

/// Why a request was not answered (RFC 9457).
#[derive(Serialize, ToSchema)]
pub(super) struct Problem {
    /// The same for every problem of one code.
    #[schema(examples("/errors/stale-generation"))]
    r#type: String,
    /// The code in words.
    title: String,
    /// The status of the answer.
    status: u16,
    /// What went wrong, naming the object and the cause.
    detail: String,
    /// What programs look at; it never changes its meaning.
    code: String,
    /// The next step.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    help: String,
    /// What the log calls the request; the answer's `X-Request-Id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    request_id: Option<String>,
    /// What exactly is wrong with the body.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    errors: Vec<Fault>,
    /// Everything that stands in the way of a move that was refused; `code` is that of the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    gates: Vec<wire::Gate>,
}

/// One thing that is wrong with a body.
#[derive(Serialize, ToSchema)]
pub(super) struct Fault {
    /// Where it stands, a JSON Pointer (RFC 6901); empty for the body as a whole.
    #[schema(examples("/version"))]
    pointer: String,
    /// What is wrong with it.
    detail: String,
}

impl Error {
    /// The status and the body of the problem.
    pub(super) fn problem(&self) -> (StatusCode, Vec<u8>) {
        let (status, code) = (self.status(), self.code());
        let problem = Problem {
            r#type: format!("/errors/{code}"),
            title: code.replace('-', " "),
            status: status.as_u16(),
            detail: self.detail(),
            code: code.to_owned(),
            help: self.help(),
            request_id: request_id::current(),
            errors: self.faults(),
            gates: self.gates(),
        };
        // A struct of texts and a number always serialises; an empty body would still carry the status.
        (status, serde_json::to_vec(&problem).unwrap_or_default())
    }
}

impl From<Denied> for Error {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Unknown => Self::Unauthenticated,
            Denied::Invalid(cause) => Self::InvalidCredential(cause),
            Denied::Refused(refusal) => Self::App(refusal.into()),
            Denied::TooOften(seconds) => Self::TooOften(seconds),
            Denied::Unavailable(e) => {
                Self::App(AppError::new(e.kind, e.code, e.message.clone()).help(e.help.clone()))
            }
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let (status, body) = self.problem();
        let json = HeaderValue::from_static(PROBLEM);
        let mut response = (status, [(header::CONTENT_TYPE, json)], Body::from(body)).into_response();
        let headers = response.headers_mut();
        match self {
            // What surrounds us comes back, or does not: whoever asks again need not do so at once.
            Self::App(AppError { kind: Kind::Unavailable, .. }) | Self::InFlight => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Self::TooOften(seconds) => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            }
            // RFC 6750, 3.
            Self::Unauthenticated => {
                let asked = HeaderValue::from_static("Bearer realm=\"toolpact\"");
                headers.insert(header::WWW_AUTHENTICATE, asked);
            }
            Self::InvalidCredential(_) => {
                let asked = "Bearer realm=\"toolpact\", error=\"invalid_token\"";
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(asked));
            }
            _ => {}
        }
        response
    }
}

/// Answers what no route under `/api` matches.
pub(super) async fn unknown_route(uri: Uri) -> Error {
    Error::UnknownRoute(uri.path().to_owned())
}

/// Answers a method that a route does not have; the router adds `Allow`.
pub(super) async fn wrong_method(method: Method, uri: Uri) -> Error {
    Error::WrongMethod { method, path: uri.path().to_owned() }
}
