//! `Idempotency-Key` on every POST: sent twice, done once.
//!
//! The key belongs to the first request that it came with: to its route, its query and its body. The same again gets the
//! stored answer, another one is refused, and one that comes while the first is worked on is told to wait. Kept is what
//! was done; every refusal may be right a minute later, and where the request alone decides it, it is the same again.
//!
//! A crash may come between the work and the keeping of its answer. Once that request is given up it is done again only
//! where it says from which state (`If-Match`): what was done has moved that state on, so that it is refused, and a pointer
//! move and the release of a hold keep their answer in their own transaction as well. Any other is not: a decision, a freeze
//! or its end that comes a second time would undo what others did since.

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts, response},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use tracing::Instrument as _;

use super::{Error, error::PROBLEM};
use crate::{
    app::{
        App, AppError, Kind,
        answers::{Begun, KeptAnswer, Lost},
    },
    guard::{Known, ON_BEHALF_OF, request_id},
    json::Digest,
};

/// The header.
pub(super) const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Says that an answer was given before.
pub(super) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The longest key.
pub(super) const LONGEST: usize = 128;

/// The headers that belong to an answer and not to its delivery.
const KEPT: [HeaderName; 3] = [header::CONTENT_TYPE, header::ETAG, header::LOCATION];

/// The largest body of a route, which is read whole to know the request by.
pub(super) type MostBytes = fn(&str) -> usize;

/// Answers a POST with a key once.
pub(super) async fn once(
    State((app, most)): State<(App, MostBytes)>,
    request: Request,
    next: Next,
) -> Response {
    let known = request.extensions().get::<Known>().is_some_and(|known| known.0.is_ok());
    // Nobody keeps answers here under no name: who is not known is refused by the route, without a trace.
    if request.method() != Method::POST || !known {
        return next.run(request).await;
    }
    match key(request.headers()) {
        Ok(None) => next.run(request).await,
        Ok(Some(key)) => with_key(app, key, most, request, next).await.unwrap_or_else(|e| e.into_response()),
        Err(e) => e.into_response(),
    }
}

/// The key that a request came with.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, Error> {
    let Some(header) = headers.get(KEY) else { return Ok(None) };
    let key = header.to_str().map_err(|_| Error::InvalidIdempotencyKey)?;
    let plain = key.bytes().all(|b| (b' '..=b'~').contains(&b)) && !key.trim().is_empty();
    if plain && (1..=LONGEST).contains(&key.len()) {
        Ok(Some(key.to_owned()))
    } else {
        Err(Error::InvalidIdempotencyKey)
    }
}

async fn with_key(
    app: App,
    key: String,
    most: MostBytes,
    request: Request,
    next: Next,
) -> Result<Response, Error> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, most(parts.uri.path())).await.map_err(|_| Error::BodyTooLarge)?;
    let digest = digest(&parts, &body);
    let lost = if parts.headers.contains_key(header::IF_MATCH) { Lost::DoneAgain } else { Lost::LeftAlone };
    match app.begin_answer(&key, &digest, lost).await? {
        Begun::Fresh => {}
        Begun::InFlight => return Err(Error::InFlight),
        Begun::Answered(answer) => return Ok(again(answer)),
        Begun::Reused => {
            let message = "the idempotency key was used for another request; use a new key for a new request";
            return Err(AppError::new(Kind::Blocked, "idempotency-key-reused", message).into());
        }
    }
    // On a task of its own: a caller that hangs up must not leave the work half done and the key taken.
    let request = Request::from_parts(parts, Body::from(body));
    let (id, worker, worked) = (request_id::current(), app.clone(), (key.clone(), digest.clone()));
    let work = async move {
        let response = next.run(request).await;
        keep(&worker, &worked.0, &worked.1, response).await
    };
    let task = tokio::spawn(request_id::carried(id, work).in_current_span());
    match task.await {
        Ok(response) => response,
        Err(e) => {
            app.forget_answer(&key, &digest).await?;
            match e.try_into_panic() {
                // The layer for panics says what there is to say.
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(e) => {
                    Err(AppError::new(Kind::Internal, "internal", format!("a request ended: {e}")).into())
                }
            }
        }
    }
}

/// All that makes a request this request: who sends it, where to, from which state, and what.
fn digest(parts: &Parts, body: &Bytes) -> Digest {
    let header = |name| parts.headers.get(name).map_or(&[] as &[u8], HeaderValue::as_bytes);
    let head = format!("\n{} {}\n", parts.method, parts.uri);
    let (seen, kind) = (header(header::IF_MATCH), header(header::CONTENT_TYPE));
    let caller = parts.extensions.get::<Known>().and_then(|known| known.0.as_ref().ok());
    let caller = caller.map(|caller| format!("{} {}", caller.name, caller.auth)).unwrap_or_default();
    // One that is empty is refused, and must not be told what was answered to none.
    let behalf = if parts.headers.contains_key(ON_BEHALF_OF) {
        [b"=", header(ON_BEHALF_OF)].concat()
    } else {
        Vec::new()
    };
    Digest::of_bytes(
        &[caller.as_bytes(), b"\n", &behalf, head.as_bytes(), seen, b"\n", kind, b"\n\n", body].concat(),
    )
}

async fn keep(app: &App, key: &str, request: &Digest, response: Response) -> Result<Response, Error> {
    if !response.status().is_success() {
        app.forget_answer(key, request).await?;
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX)
        .await
        .map_err(|e| AppError::new(Kind::Internal, "internal", format!("an answer has no body: {e}")))?;
    let secret = parts.headers.get(header::CACHE_CONTROL).is_some_and(|value| value == "no-store");
    let answer = if secret { told_once() } else { kept(&parts, &body) };
    // The work is done, whether or not a retry will learn so.
    if let Err(e) = app.finish_answer(key, request, answer).await {
        tracing::error!(error = %e, "an answer could not be kept under its key");
    }
    Ok(Response::from_parts(parts, Body::from(body)))
}

fn kept(parts: &response::Parts, body: &Bytes) -> KeptAnswer {
    let text =
        |name: HeaderName| Some((name.to_string(), parts.headers.get(&name)?.to_str().ok()?.to_owned()));
    let headers = KEPT.into_iter().filter_map(text).collect();
    KeptAnswer { status: parts.status.as_u16(), headers, body: body.to_vec() }
}

/// What holds a secret is told once and kept nowhere: whoever asks again learns that it was done.
fn told_once() -> KeptAnswer {
    let message = "it was done before, and its secret is shown only once";
    let problem = AppError::new(Kind::Conflict, "secret-shown-once", message)
        .help("take back what was made, and make another under a new key");
    let (status, body) = Error::App(problem).problem();
    let headers = vec![(header::CONTENT_TYPE.to_string(), PROBLEM.to_owned())];
    KeptAnswer { status: status.as_u16(), headers, body }
}

fn again(answer: KeptAnswer) -> Response {
    let mut response = Body::from(answer.body).into_response();
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    for (name, value) in answer.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(&value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}
