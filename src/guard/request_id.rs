//! A name for each request, so that a caller and the log speak of the same one.
//!
//! A caller's own `X-Request-Id` is taken where it is harmless to log and to send back; otherwise one is made. Problems
//! name it in `request_id`.

use std::{
    hash::{BuildHasher as _, RandomState},
    pin::Pin,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use axum::{
    extract::Request,
    http::{self, HeaderMap, HeaderName, HeaderValue},
    response::Response,
};
use tower::{Layer, Service};

/// The header.
const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Longer ones are not taken over.
const LONGEST: usize = 128;

tokio::task_local! {
    static CURRENT: String;
}

/// The name of the request that is being answered; none outside of one.
pub fn current() -> Option<String> {
    CURRENT.try_with(Clone::clone).ok()
}

/// Runs what answers a request on another task under the same name.
pub async fn carried<F: Future>(id: Option<String>, work: F) -> F::Output {
    match id {
        Some(id) => CURRENT.scope(id, work).await,
        None => work.await,
    }
}

/// Names each request, and says the name in its answer.
#[derive(Clone, Copy)]
pub struct Naming;

impl<S> Layer<S> for Naming {
    type Service = Named<S>;
    fn layer(&self, inner: S) -> Named<S> {
        Named(inner)
    }
}

/// What answers requests, each under its name.
#[derive(Clone)]
pub struct Named<S>(S);

impl<S, B> Service<Request> for Named<S>
where
    S: Service<Request, Response = http::Response<B>, Future: Send + 'static>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let id = given(request.headers()).map_or_else(made, ToOwned::to_owned);
        let value = HeaderValue::from_str(&id).ok();
        if let Some(value) = &value {
            // Where the span of the request finds it.
            request.headers_mut().insert(HEADER, value.clone());
        }
        let answered = CURRENT.sync_scope(id.clone(), || self.0.call(request));
        let answered = CURRENT.scope(id, answered);
        Box::pin(async move {
            let mut response = answered.await?;
            if let Some(value) = value {
                response.headers_mut().insert(HEADER, value);
            }
            Ok(response)
        })
    }
}

/// Says in an answer the name of the request with these headers, where nothing of it was ever logged.
pub fn name_answer(headers: &HeaderMap, response: &mut Response) {
    let value = match given(headers) {
        // Taken over as it stands.
        Some(_) => headers.get(HEADER).cloned(),
        None => HeaderValue::from_bytes(&digits()).ok(),
    };
    if let Some(value) = value {
        response.headers_mut().insert(HEADER, value);
    }
}

/// The caller's name for a request, where it is letters, digits and a few signs.
pub fn given(headers: &HeaderMap) -> Option<&str> {
    let id = headers.get(HEADER)?.to_str().ok()?;
    let plain =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':' | b'/' | b'+' | b'=');
    ((1..=LONGEST).contains(&id.len()) && id.bytes().all(plain)).then_some(id)
}

/// A name that no other request of any process has had, as far as 64 bits go.
fn made() -> String {
    String::from_utf8_lossy(&digits()).into_owned()
}

/// Its 16 hexadecimal digits.
fn digits() -> [u8; 16] {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let name = SEED.hash_one(COUNT.fetch_add(1, Ordering::Relaxed));
    let mut digits = [0; 16];
    // There is room for all.
    _ = hex::encode_to_slice(name.to_be_bytes(), &mut digits);
    digits
}
