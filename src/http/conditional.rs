//! Answers that say which state they show (`ETag`), and requests that hold only for one (`If-None-Match`, `If-Match`).
//!
//! A tag is strong: it is made of the very bytes that are sent, or begins with what they are made of.

use axum::{
    body::Body,
    extract::{FromRequestParts, Request},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::Error;
use crate::{
    app::{AppError, Kind},
    json::Digest,
};

/// JSON with a tag over its bytes.
pub(super) struct Tagged<T>(pub(super) T);

impl<T: Serialize> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        match bytes(&self.0) {
            Ok(bytes) => tagged(&of_bytes(&bytes), "application/json", bytes),
            Err(e) => e.into_response(),
        }
    }
}

/// An answer under this tag. It may be kept, and is asked for anew each time.
pub(super) fn tagged(tag: &str, content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = body.into().into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// The bytes of an answer.
pub(super) fn bytes(answer: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(answer)
        .map_err(|e| AppError::new(Kind::Internal, "internal", format!("an answer is no JSON: {e}")).into())
}

/// The tag of bytes.
pub(super) fn of_bytes(bytes: &[u8]) -> String {
    format!("\"{}\"", Digest::of_bytes(bytes).short())
}

/// The tag of an answer.
pub(super) fn tag(answer: &impl Serialize) -> Result<String, Error> {
    Ok(of_bytes(&bytes(answer)?))
}

/// The tag of one pointer: its generation, which is what a move is made from, and then what else is shown.
pub(super) fn generation_tag(generation: i64, bytes: &[u8]) -> String {
    format!("\"{generation}-{}\"", Digest::of_bytes(bytes).short())
}

/// The tag of a catalog: what it is set to, which is what a change is made from, and then what else is shown.
pub(super) fn settings_tag(settings: &Digest, bytes: &[u8]) -> String {
    format!("\"{}-{}\"", settings.short(), Digest::of_bytes(bytes).short())
}

/// Whether the caller has what this tag stands for.
pub(super) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|v| v.to_str().ok()).any(|known| {
        known
            .split(',')
            .map(str::trim)
            .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
    })
}

/// Whether the caller does not say what it has.
pub(super) fn says_nothing(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::IF_NONE_MATCH)
}

/// Leaves out what the caller has already.
pub(super) async fn not_modified(request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if !reads || says_nothing(request.headers()) {
        return next.run(request).await;
    }
    let known = request.headers().get_all(header::IF_NONE_MATCH).iter().cloned().collect::<Vec<_>>();
    let response = next.run(request).await;
    if response.status() != StatusCode::OK {
        return response;
    }
    let mut asked = HeaderMap::new();
    for value in known {
        asked.append(header::IF_NONE_MATCH, value);
    }
    let tag = response.headers().get(header::ETAG).and_then(|v| v.to_str().ok());
    if tag.is_some_and(|tag| is_known(&asked, tag)) { unmodified(response.headers()) } else { response }
}

/// Says that the caller has it, with what belongs to the answer that is left out.
pub(super) fn unmodified(headers: &HeaderMap) -> Response {
    let mut response = StatusCode::NOT_MODIFIED.into_response();
    for name in [header::ETAG, header::CACHE_CONTROL, header::VARY, header::LINK] {
        if let Some(value) = headers.get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}

/// The states from which a caller wants something changed.
pub(super) struct IfMatch(Vec<String>);

impl IfMatch {
    /// Whether the object is in one of them.
    ///
    /// # Errors
    /// Where it is not: somebody changed it since.
    pub(super) fn check(&self, what: &str, tag: &str) -> Result<(), Error> {
        if self.0.iter().any(|seen| seen == tag) {
            return Ok(());
        }
        let message = format!("{what} is not what it was when it was read: its ETag is {tag}");
        Err(AppError::new(Kind::Stale, "stale-etag", message)
            .help("read it again, look at what became of it, then repeat with its ETag")
            .into())
    }

    /// Whether one of them is of a catalog that is set like this.
    pub(super) fn has_settings(&self, settings: &Digest) -> bool {
        let seen = |tag: &String| tag.trim_matches('"').split('-').next() == Some(settings.short());
        self.0.iter().any(seen)
    }
}

/// What a caller who sets something saw: nothing (`If-None-Match: *`), or one of these states.
pub(super) struct Seen(pub(super) Option<IfMatch>);

impl<S: Send + Sync> FromRequestParts<S> for Seen {
    type Rejection = Error;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let none = parts.headers.get(header::IF_NONE_MATCH).cloned();
        match (none, parts.headers.contains_key(header::IF_MATCH)) {
            (Some(_), true) => {
                Err(Error::InvalidIfNoneMatch("comes with `If-Match`; only one of them can hold"))
            }
            (Some(none), false) if none == "*" => Ok(Self(None)),
            (Some(_), false) => {
                Err(Error::InvalidIfNoneMatch("is not `*`, which says that nothing is there yet"))
            }
            (None, _) => Ok(Self(Some(IfMatch::from_request_parts(parts, state).await?))),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Error;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let text = if_match(&parts.headers)?;
        let tags: Vec<&str> = text.split(',').map(str::trim).collect();
        // Weak tags never match, and `*` is what the header exists to prevent: a change of whatever is there.
        let quoted = |tag: &&str| {
            tag.strip_prefix('"').and_then(|t| t.strip_suffix('"')).is_some_and(|t| !t.contains('"'))
        };
        if !tags.iter().all(quoted) {
            return Err(Error::InvalidIfMatch(text.to_owned()));
        }
        Ok(Self(tags.into_iter().map(ToOwned::to_owned).collect()))
    }
}

/// The generation that the caller saw, from `If-Match: "3"` or an environment's ETag, which begins with it.
pub(super) struct Generation(pub(super) i64);

impl<S: Send + Sync> FromRequestParts<S> for Generation {
    type Rejection = Error;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let text = if_match(&parts.headers)?;
        // `*` and lists are refused: a move from "whatever is there" is what the header exists to prevent.
        let tag = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or_default();
        let (digits, rest) = tag.split_once('-').map_or((tag, "0"), |(digits, rest)| (digits, rest));
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let whole = !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_hexdigit());
        match digits.parse() {
            Ok(generation) if plain && whole => Ok(Self(generation)),
            _ => Err(Error::InvalidGeneration(text.to_owned())),
        }
    }
}

fn if_match(headers: &HeaderMap) -> Result<&str, Error> {
    let header = headers.get(header::IF_MATCH).ok_or(Error::MissingIfMatch)?;
    header.to_str().map_err(|_| Error::InvalidIfMatch("not text".to_owned()))
}
