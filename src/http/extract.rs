//! How requests are read: strictly. What is not understood is refused with the reason, never ignored.

use std::{fmt, marker::PhantomData};

use axum::{
    body::Bytes,
    extract::{
        FromRequest, FromRequestParts, Request,
        path::ErrorKind,
        rejection::{PathRejection, QueryRejection},
    },
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::error::Category;
use serde_path_to_error::Segment;

use super::{Error, idempotency};
use crate::{
    app::App,
    catalog::draft::{self, InvalidDraft},
    guard::{self, Acting, ON_BEHALF_OF},
};

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
        let Object(body) = read(request, state, ("application/json", b'{', "object")).await?;
        Ok(Self(body))
    }
}

/// A JSON Patch (RFC 6902) as body.
pub(super) struct PatchBody<T>(pub(super) Vec<T>);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for PatchBody<T> {
    type Rejection = Error;
    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        let operations: Vec<Object<T>> = read(request, state, (JSON_PATCH, b'[', "array")).await?;
        Ok(Self(operations.into_iter().map(|Object(operation)| operation).collect()))
    }
}

/// What a JSON Patch says that it is.
const JSON_PATCH: &str = "application/json-patch+json";

/// What is written as an object. A derived type would also read an array, field by field in order; no caller may come to
/// rely on that.
#[derive(Debug)]
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Object<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members)).map(Object)
            }
        }
        deserializer.deserialize_map(Members(PhantomData))
    }
}

/// Reads a body that is said to be of this kind, begins so, and is called so.
async fn read<S: Send + Sync, T: DeserializeOwned>(
    request: Request,
    state: &S,
    (kind, begins, called): (&'static str, u8, &'static str),
) -> Result<T, Error> {
    content_type(request.headers(), kind)?;
    let bytes = Bytes::from_request(request, state).await.map_err(|e| {
        if e.status() == StatusCode::PAYLOAD_TOO_LARGE {
            Error::BodyTooLarge
        } else {
            Error::InvalidBody(format!("could not be read: {}", e.body_text()))
        }
    })?;
    if bytes.trim_ascii_start().first() != Some(&begins) {
        return Err(Error::InvalidBody(format!("is no JSON {called}")));
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
    Ok(body)
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

fn content_type(headers: &HeaderMap, kind: &'static str) -> Result<(), Error> {
    let text = headers.get(header::CONTENT_TYPE).map_or("none", |v| v.to_str().unwrap_or("unreadable"));
    let essence = text.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(kind) {
        return Ok(());
    }
    Err(Error::WrongContentType { said: text.to_owned(), reads: kind })
}

/// The use cases as whoever calls, and the name that the history shows.
pub(super) struct By {
    pub(super) app: App,
    pub(super) actor: String,
}

impl FromRequestParts<App> for By {
    type Rejection = Error;
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let mut said = parts.headers.get_all(&ON_BEHALF_OF).iter();
        match (said.next(), said.next()) {
            (None, _) => {}
            (Some(name), None) if guard::is_name(name) => {}
            (Some(_), _) => return Err(Error::InvalidOnBehalfOf),
        }
        let Ok(Acting { app, actor }) = Acting::from_request_parts(parts, app).await;
        Ok(Self { app, actor })
    }
}

/// `Idempotency-Key`, where one is sent.
pub(super) struct IdempotencyKey(pub(super) Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Error;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        idempotency::key(&parts.headers).map(Self)
    }
}
