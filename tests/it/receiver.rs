//! Not tests: a receiver of webhooks that answers as a test wants it to, and remembers what it was sent.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{
    Router,
    body::Bytes,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

/// How one message is answered.
#[derive(Clone)]
pub(crate) enum Say {
    /// With a status.
    Status(u16),
    /// Not at all.
    Nothing,
    /// Go elsewhere.
    Redirect(String),
}

/// One message as it came.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().expect("text"))
    }

    pub(crate) fn id(&self) -> String {
        self.header("webhook-id").to_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a body in JSON")
    }

    /// What kind of event it tells of.
    pub(crate) fn kind(&self) -> String {
        self.json()["data"]["kind"].as_str().expect("a kind").to_owned()
    }

    /// Which of its signatures is right under a secret, from 0; checked by an HMAC written for this test alone (RFC 2104).
    pub(crate) fn signed_with(&self, secret: &str) -> Option<usize> {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").expect("a secret")).expect("base64");
        let mut signed = format!("{}.{}.", self.id(), self.header("webhook-timestamp")).into_bytes();
        signed.extend_from_slice(&self.body);
        let expected = format!("v1,{}", STANDARD.encode(hmac(&key, &signed)));
        self.header("webhook-signature").split(' ').position(|signature| signature == expected)
    }
}

fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    assert!(key.len() <= 64, "longer keys are hashed first");
    let padded = |with: u8| (0..64).map(|at| key.get(at).copied().unwrap_or(0) ^ with).collect::<Vec<u8>>();
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().to_vec()
}

/// A receiver on loopback.
pub(crate) struct Receiver {
    pub(crate) url: String,
    received: mpsc::UnboundedReceiver<Received>,
}

impl Receiver {
    /// One that answers the nth message so, from 0.
    pub(crate) async fn new(say: impl Fn(usize) -> Say + Send + Sync + 'static) -> Self {
        let (sender, received) = mpsc::unbounded_channel();
        let (say, count) = (Arc::new(say), Arc::new(AtomicUsize::new(0)));
        let take = move |headers: HeaderMap, body: Bytes| {
            let (sender, say, nth) = (sender.clone(), Arc::clone(&say), count.fetch_add(1, Ordering::SeqCst));
            async move {
                // Where the test is over, nobody looks.
                _ = sender.send(Received { headers, body });
                answered(say(nth)).await
            }
        };
        let router = Router::new().fallback(take);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let url = format!("http://{}/hook/s3cr3t-path", listener.local_addr().expect("it is bound"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, received }
    }

    pub(crate) fn port(&self) -> &str {
        self.url.trim_start_matches("http://127.0.0.1:").split('/').next().expect("a port")
    }

    /// All that came since somebody looked.
    pub(crate) fn all(&mut self) -> Vec<Received> {
        std::iter::from_fn(|| self.received.try_recv().ok()).collect()
    }

    /// The next, once it comes.
    pub(crate) async fn next(&mut self) -> Received {
        self.received.recv().await.expect("the receiver is there")
    }
}

async fn answered(say: Say) -> Response {
    match say {
        Say::Status(status) => {
            (StatusCode::from_u16(status).expect("a status"), "so\u{1b}[31m it is\0").into_response()
        }
        Say::Nothing => std::future::pending().await,
        Say::Redirect(to) => (StatusCode::TEMPORARY_REDIRECT, [("location", to)]).into_response(),
    }
}
