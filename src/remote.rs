//! A toolpact service, asked over HTTP: what commands of the command line need of it, and no more.
//!
//! The service is ours and its answer is not trusted: time and bytes are bounded, no redirect is followed (it would carry the
//! token along), and what cannot be read is a failure, never an answer. A token travels over https, or to this machine.

use std::time::Duration;

use reqwest::{Client, Method, StatusCode, Url, header};
use serde::{Deserialize, de::DeserializeOwned};

use crate::reach::innermost;

/// How long one request may take; the service may have to compare several lists.
const REQUEST: Duration = Duration::from_secs(120);

/// The longest wait for a connection: whoever is not there should not keep a pipeline.
const CONNECT: Duration = Duration::from_secs(10);

/// The largest answer that is read: a report over the largest lists that the service takes.
const ANSWER_BYTES: usize = 64 << 20;

/// The largest body that a service reads. One that is larger would be refused while it is sent, which looks like a connection
/// that broke.
const BODY_BYTES: usize = 16 << 20;

/// Why the service gave no answer that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// No URL of a service.
    #[error("`{0}` is no URL of a service: {1}")]
    Url(String, &'static str),
    /// Nobody answered, or only that it cannot now.
    #[error("service `{url}` could not be reached: {cause}")]
    Unreachable {
        /// What was asked.
        url: String,
        /// Why, in words.
        cause: String,
    },
    /// It does not know who asks.
    #[error("service `{url}` does not take the token: {cause}")]
    Unknown {
        /// What was asked.
        url: String,
        /// What it said.
        cause: String,
    },
    /// It refused.
    #[error("service `{url}` refused ({code}): {detail}")]
    Refused {
        /// What was asked.
        url: String,
        /// The status.
        status: u16,
        /// The code of the problem.
        code: String,
        /// What it said.
        detail: String,
        /// The next step that it named; may be empty.
        help: String,
    },
    /// It would not read so much.
    #[error("{0} bytes would be sent to service `{1}`, which reads {BODY_BYTES}")]
    TooLarge(usize, String),
    /// What answers there is something else.
    #[error("`{url}` answers as no toolpact service does: {cause}")]
    Foreign {
        /// What was asked.
        url: String,
        /// What was answered instead.
        cause: String,
    },
}

/// A service.
#[derive(Debug)]
pub struct Service {
    base: Url,
    token: Option<String>,
    http: Client,
}

/// A refusal, as the API writes one.
#[derive(Deserialize)]
struct Problem {
    code: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    help: String,
}

/// What was answered, and the tag that it came with.
#[derive(Debug)]
pub struct Answer<T> {
    /// The body.
    pub body: T,
    /// Its `ETag`, where it has one.
    pub tag: Option<String>,
}

impl Service {
    /// A service at this base URL, asked with this token.
    ///
    /// # Errors
    /// Where that is no URL of one, or the token would travel in clear.
    pub fn new(base: &str, token: Option<String>) -> Result<Self, RemoteError> {
        let said = || base.chars().take(120).collect::<String>();
        let url = Url::parse(base).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let Some(url) = url.filter(Url::has_host) else {
            return Err(RemoteError::Url(said(), "expected https://HOST"));
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(RemoteError::Url(
                "…".to_owned(),
                "it holds credentials; a token belongs in TOOLPACT_TOKEN",
            ));
        }
        if url.scheme() == "http" && !is_loopback(&url) && token.is_some() {
            return Err(RemoteError::Url(said(), "a token would travel in clear; use https"));
        }
        // Fails where a provider is installed already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(REQUEST)
            .connect_timeout(CONNECT)
            .user_agent(concat!("toolpact/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        if url.scheme() == "http" {
            // No roots needed, and loading the system's costs tens of milliseconds.
            builder = builder.tls_certs_only(std::iter::empty());
        }
        let http = builder.build().map_err(|_| {
            RemoteError::Url(
                said(),
                "https needs the system's root certificates (package ca-certificates, or SSL_CERT_FILE)",
            )
        })?;
        Ok(Self { base: url, token, http })
    }

    /// The URL of a path of the service.
    #[must_use]
    pub fn at(&self, path: &str) -> String {
        let mut url = self.base.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        url.set_path(&format!("{base}{path}"));
        url.set_query(query);
        url.set_fragment(None);
        url.into()
    }

    /// Reads what stands at a path.
    ///
    /// # Errors
    /// Where it answers with anything but that.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<Answer<T>, RemoteError> {
        self.ask(Method::GET, path, None, None).await
    }

    /// Sends JSON to a path, from the state that `seen` names where that matters.
    ///
    /// # Errors
    /// Where it answers with anything but what was to come of it.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: String,
        seen: Option<&str>,
    ) -> Result<Answer<T>, RemoteError> {
        self.ask(Method::POST, path, Some(body), seen).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
        seen: Option<&str>,
    ) -> Result<Answer<T>, RemoteError> {
        let url = self.at(path);
        let unreachable = |cause: String| RemoteError::Unreachable { url: self.at(""), cause };
        let mut request = self.http.request(method, &url).header(header::ACCEPT, "application/json");
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            if body.len() > BODY_BYTES {
                return Err(RemoteError::TooLarge(body.len(), self.at("")));
            }
            request = request.header(header::CONTENT_TYPE, "application/json").body(body);
        }
        if let Some(seen) = seen {
            request = request.header(header::IF_MATCH, seen);
        }
        let mut response = request.send().await.map_err(|e| unreachable(cause(e)))?;
        let status = response.status();
        let text = |name: header::HeaderName| {
            response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        let (tag, kind) = (text(header::ETAG), text(header::CONTENT_TYPE).unwrap_or_default());
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| unreachable(cause(e)))? {
            if bytes.len() + chunk.len() > ANSWER_BYTES {
                return Err(self.foreign(format!("it sends more than {ANSWER_BYTES} bytes")));
            }
            bytes.extend_from_slice(&chunk);
        }
        if status.is_success() {
            let body = serde_json::from_slice(&bytes);
            let body = body.map_err(|e| self.foreign(format!("its answer cannot be read: {e}")))?;
            return Ok(Answer { body, tag });
        }
        let problem = if kind.starts_with("application/problem+json") {
            serde_json::from_slice::<Problem>(&bytes).ok()
        } else {
            None
        };
        Err(self.refusal(status, problem))
    }

    fn refusal(&self, status: StatusCode, problem: Option<Problem>) -> RemoteError {
        let url = self.at("");
        let said = |problem: Option<Problem>| match problem {
            Some(Problem { code, detail, .. }) => format!("{code}: {}", shown(&detail)),
            None => format!("it answers {status}"),
        };
        match status {
            // What is so now may be otherwise a minute later; whatever stands before the service says the same.
            _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                RemoteError::Unreachable { url, cause: said(problem) }
            }
            StatusCode::UNAUTHORIZED => RemoteError::Unknown { url, cause: said(problem) },
            _ => match problem {
                Some(Problem { code, detail, help }) => RemoteError::Refused {
                    url,
                    status: status.as_u16(),
                    code: shown(&code),
                    detail: shown(&detail),
                    help: shown(&help),
                },
                // A proxy, or another program: whose limits and rules these are nobody knows.
                None => self.foreign(format!("it answers {status}")),
            },
        }
    }

    fn foreign(&self, cause: String) -> RemoteError {
        RemoteError::Foreign { url: self.at(""), cause: shown(&cause) }
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The innermost cause, which names no URL.
fn cause(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return "it took too long".to_owned();
    }
    shown(&innermost(&error.without_url()))
}

/// A text of somebody else's, cut; whoever shows it sees to its characters.
fn shown(text: &str) -> String {
    text.chars().take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_travels_over_https_or_to_this_machine() {
        let new = |url: &str, token: bool| {
            Service::new(url, token.then(|| "tp_x".to_owned()))
                .map(|s| s.at("/api/v1/x?a=1"))
                .map_err(|e| e.to_string())
        };
        for (url, token, expected) in [
            ("http://127.0.0.1:7878", true, Ok("http://127.0.0.1:7878/api/v1/x?a=1")),
            ("http://localhost:7878/", true, Ok("http://localhost:7878/api/v1/x?a=1")),
            ("http://[::1]:7878/pact/", true, Ok("http://[::1]:7878/pact/api/v1/x?a=1")),
            ("http://pact.example.com", false, Ok("http://pact.example.com/api/v1/x?a=1")),
            ("http://pact.example.com", true, Err("in clear")),
            ("ftp://pact.example.com", false, Err("expected https://HOST")),
            ("pact.example.com", false, Err("expected https://HOST")),
            ("https://ann:secret@pact.example.com", false, Err("holds credentials")),
        ] {
            match (new(url, token), expected) {
                (Ok(at), Ok(expected)) => assert_eq!(at, expected),
                (Err(said), Err(cause)) => {
                    assert!(said.contains(cause) && !said.contains("secret"), "{url}: {said}");
                }
                (got, expected) => panic!("{url}: {got:?}, not {expected:?}"),
            }
        }
    }
}
