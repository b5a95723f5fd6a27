//! How requests are read: strictly. What is not understood is refused with the reason, never ignored.

use axum::{
    body::Bytes,
    extract::{
        FromRequest, FromRequestParts, Request,
        path::ErrorKind,
        rejection::{PathRejection, QueryRejection},
    },
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_path_to_error::Segment;

use super::{Error, idempotency};
use crate::catalog::draft::{self, InvalidDraft};

/// The named parts of the path.
pub(super) struct Path<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Error;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(PathRejection::FailedToDeserializePathParams(e)) => Err(match e.kind() {
                ErrorKind::DeserializeError { message, .. } | ErrorKind::Message(message) => {
                    Error::InvalidPath(message.clone())
                }
                other => Error::InvalidPath(other.to_string()),
            }),
            Err(other) => Err(Error::InvalidPath(other.body_text())),
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

/// The query string. Types say `deny_unknown_fields`, so that a misspelt parameter is an error.
pub(super) struct Query<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Error;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        match axum::extract::Query::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(value)) => Ok(Self(value)),
            Err(QueryRejection::FailedToDeserializeQueryString(e)) => {
                // The cause without the library's preface.
                let cause = std::error::Error::source(&e).map_or_else(|| e.body_text(), ToString::to_string);
                Err(Error::InvalidQuery(format!("cannot be read: {cause}")))
            }
            Err(other) => Err(Error::InvalidQuery(format!("cannot be read: {}", other.body_text()))),
        }
    }
}

/// A JSON object as body. Types say `deny_unknown_fields`.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Error;
    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        content_type(request.headers())?;
        let bytes = Bytes::from_request(request, state).await.map_err(|e| {
            if e.status() == StatusCode::PAYLOAD_TOO_LARGE {
                Error::BodyTooLarge
            } else {
                Error::InvalidBody(format!("could not be read: {}", e.body_text()))
            }
        })?;
        // A derived type would also read an array, field by field in order; no caller may come to rely on that.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(Error::InvalidBody("is no JSON object".to_owned()));
        }
        let mut text = serde_json::Deserializer::from_slice(&bytes);
        let body = serde_path_to_error::deserialize(&mut text).map_err(|e| {
            let pointer = pointer(e.path());
            let cause = e.into_inner();
            match cause.classify() {
                Category::Data => Error::InvalidMember { pointer, cause: cause.to_string() },
                Category::Io | Category::Syntax | Category::Eof => unreadable(&cause),
            }
        })?;
        text.end().map_err(|e| unreadable(&e))?;
        Ok(Self(body))
    }
}

fn unreadable(cause: &serde_json::Error) -> Error {
    Error::InvalidBody(format!("cannot be read: {cause}"))
}

/// A path into a body as a JSON Pointer.
fn pointer(path: &serde_path_to_error::Path) -> String {
    let part = |segment: &Segment| match segment {
        Segment::Seq { index } => format!("/{index}"),
        Segment::Map { key } => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
        Segment::Enum { .. } | Segment::Unknown => String::new(),
    };
    path.iter().map(part).collect()
}

fn content_type(headers: &HeaderMap) -> Result<(), Error> {
    let text = headers.get(header::CONTENT_TYPE).map_or("none", |v| v.to_str().unwrap_or("unreadable"));
    let essence = text.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Error::WrongContentType(text.to_owned()))
}

/// `Idempotency-Key`, where one is sent.
pub(super) struct IdempotencyKey(pub(super) Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Error;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        idempotency::key(&parts.headers).map(Self)
    }
}
