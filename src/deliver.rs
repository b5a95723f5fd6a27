//! Deliveries: one message to one URL, and what came back.
//!
//! Bounded in time and bytes. It reaches no further than it may ([`Reach`]), follows no redirect (the receiver that was
//! named is the one that is told), uses no proxy of the environment (it would resolve names by itself) and says nothing of
//! the URL, which is a secret.

use std::time::Duration;

use reqwest::{
    Client, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderValue},
};
use tokio::sync::OnceCell;

use crate::{
    json::is_hidden,
    reach::{Reach, innermost},
};

/// How long a receiver may take, from the first byte sent to the last one read.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How much of an answer is read; it is for people who look for a cause.
const ANSWER_BYTES: usize = 600;

/// What a receiver answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// How the body began, without what does not show.
    pub said: String,
}

impl Answer {
    /// Whether the message was taken.
    #[must_use]
    pub fn took_it(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the receiver wants no more messages.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.status == StatusCode::GONE.as_u16()
    }
}

/// Whether anything can be sent to a URL.
///
/// # Errors
/// Why not.
pub fn check(url: &str) -> Result<(), &'static str> {
    let url: Url = url.parse().map_err(|_| "cannot be read")?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(()),
        _ => Err("is no http or https URL with a host"),
    }
}

/// What sends messages; keeps its connections.
pub struct Sender {
    reach: Reach,
    timeout: Duration,
    plain: OnceCell<Client>,
    /// Made when it is needed: reading the system's roots takes tens of milliseconds.
    secure: OnceCell<Client>,
}

impl Sender {
    /// One that reaches this far.
    #[must_use]
    pub fn new(reach: Reach) -> Self {
        Self { reach, timeout: TIMEOUT, plain: OnceCell::new(), secure: OnceCell::new() }
    }

    /// The same with another time for receivers.
    #[must_use]
    pub fn within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sends one message.
    ///
    /// # Errors
    /// Why there was no answer, in words for the log of deliveries.
    pub async fn send(
        &self,
        url: &str,
        content_type: &'static str,
        headers: &[(&'static str, String)],
        body: Vec<u8>,
    ) -> Result<Answer, String> {
        let url: Url = url.parse().map_err(|_| "the URL cannot be read".to_owned())?;
        if let Some(address) = self.reach.refuses(&url) {
            return Err(format!("not sent: {address} is no public address"));
        }
        let client = self.client(&url).await?;
        let mut request = client
            .post(url)
            .timeout(self.timeout)
            .header(CONTENT_TYPE, HeaderValue::from_static(content_type))
            .body(body);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let mut response = request.send().await.map_err(|error| self.cause(error))?;
        let status = response.status().as_u16();
        let mut body = Vec::new();
        // The status is the answer; a body that does not come changes nothing.
        while body.len() < ANSWER_BYTES
            && let Ok(Some(chunk)) = response.chunk().await
        {
            body.extend_from_slice(&chunk);
        }
        body.truncate(ANSWER_BYTES);
        Ok(Answer { status, said: shown(&String::from_utf8_lossy(&body)) })
    }

    async fn client(&self, url: &Url) -> Result<&Client, String> {
        let secure = url.scheme() == "https";
        let cell = if secure { &self.secure } else { &self.plain };
        cell.get_or_try_init(async || {
            // Fails where a provider is installed already, which serves as well.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let mut builder = Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .user_agent(concat!("toolpact/", env!("CARGO_PKG_VERSION")))
                .no_proxy();
            if !secure {
                builder = builder.tls_certs_only(std::iter::empty());
            }
            if let Some(guard) = self.reach.resolver() {
                builder = builder.dns_resolver(guard);
            }
            builder.build().map_err(|_| {
                "cannot be sent: https needs the system's root certificates (package ca-certificates, or SSL_CERT_FILE)"
                    .to_owned()
            })
        })
        .await
    }

    /// Why there was no answer: the innermost cause, which names no URL.
    fn cause(&self, error: reqwest::Error) -> String {
        if error.is_timeout() {
            return format!("no answer within {} s", self.timeout.as_secs_f64());
        }
        shown(&innermost(&error.without_url()))
    }
}

/// A text of somebody else's as it may be shown and kept.
fn shown(text: &str) -> String {
    let plain = |c: char| if is_hidden(c) { ' ' } else { c };
    let text: String = text.chars().take(300).map(plain).collect();
    text.trim().to_owned()
}
