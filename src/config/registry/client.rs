//! The registry's API v0.1 over HTTP: paged lists of servers, and one server by name.
//!
//! A registry is foreign: time, bytes, pages and servers are bounded, a cursor that comes again ends the list with an
//! error, and no redirect is followed.

use std::{collections::HashSet, time::Duration};

use reqwest::{StatusCode, Url};
use serde_json::Value;

use crate::reach::innermost;

/// How much a registry may cost.
#[derive(Debug, Clone)]
pub struct Limits {
    /// One request.
    pub request: Duration,
    /// Bytes of one page.
    pub page_bytes: usize,
    /// Bytes of all pages.
    pub total_bytes: usize,
    /// Pages.
    pub pages: usize,
    /// Servers asked for on a page.
    pub page_size: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(30),
            page_bytes: 8 << 20,
            total_bytes: 128 << 20,
            pages: 500,
            page_size: 100,
        }
    }
}

/// Why a registry's answer cannot be had. Names the URL without user info and query.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// No URL of a registry.
    #[error("`{0}` is no http or https URL of a registry")]
    Url(String),
    /// Nobody answered.
    #[error("registry `{url}` did not answer: {cause}")]
    Unreachable {
        /// What was asked.
        url: String,
        /// The innermost cause.
        cause: String,
    },
    /// It answered with another status.
    #[error("registry `{url}` answered {status}")]
    Status {
        /// What was asked.
        url: String,
        /// The status.
        status: u16,
    },
    /// It has no such server.
    #[error("registry `{url}` has no server `{name}`")]
    NoServer {
        /// What was asked.
        url: String,
        /// The server.
        name: String,
    },
    /// It answered with something that is no answer of a registry.
    #[error("registry `{url}` answered something that is no {expected}")]
    Malformed {
        /// What was asked.
        url: String,
        /// What it should have been.
        expected: &'static str,
    },
    /// It has a limit's worth, and more.
    #[error("registry `{url}` has more than {limit}; narrow the list with a search, or name the servers")]
    TooLarge {
        /// What was asked.
        url: String,
        /// The limit, in words.
        limit: String,
    },
    /// Its pages go round in a circle.
    #[error("registry `{url}` gave one cursor twice, so its list has no end")]
    Circle {
        /// What was asked.
        url: String,
    },
}

/// A registry.
#[derive(Debug)]
pub struct Client {
    base: Url,
    http: reqwest::Client,
    limits: Limits,
}

impl Client {
    /// A registry at this base URL; what stands before `/v0.1`.
    ///
    /// # Errors
    /// Where that is no http(s) URL.
    pub fn new(base: &str, limits: Limits) -> Result<Self, RegistryError> {
        let url = Url::parse(base).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let base = url.ok_or_else(|| RegistryError::Url(base.chars().take(120).collect()))?;
        // Fails where a provider is installed already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(limits.request)
            .user_agent(concat!("toolpact/", env!("CARGO_PKG_VERSION")));
        let host = base.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        if host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback()) {
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|e| unreachable(&base, &e))?;
        Ok(Self { base, http, limits })
    }

    /// Every server's newest version, or those that a search finds, as the registry answers them.
    ///
    /// # Errors
    /// Where the list cannot be had whole.
    pub async fn servers(&self, search: Option<&str>) -> Result<Vec<Value>, RegistryError> {
        let mut all = Vec::new();
        let mut left = self.limits.total_bytes;
        let mut seen = HashSet::new();
        let mut cursor: Option<String> = None;
        for _ in 0..self.limits.pages {
            let mut url = self.path(&["servers"]);
            url.query_pairs_mut()
                .append_pair("limit", &self.limits.page_size.to_string())
                .append_pair("version", "latest")
                .extend_pairs(search.map(|text| ("search", text)))
                .extend_pairs(cursor.as_deref().map(|text| ("cursor", text)));
            let (bytes, page) = self.get(&url).await?;
            left = left
                .checked_sub(bytes)
                .ok_or_else(|| self.too_large(format!("{} bytes", self.limits.total_bytes)))?;
            let Value::Object(mut page) = page else { return Err(malformed(&url, "page of servers")) };
            match page.remove("servers") {
                Some(Value::Array(servers)) => all.extend(servers),
                Some(_) | None => return Err(malformed(&url, "page of servers")),
            }
            let metadata = page.get("metadata");
            let next = metadata.and_then(|m| m.get("nextCursor").or_else(|| m.get("next_cursor")));
            // The end is no cursor, null, or an empty one.
            let Some(next) = next.and_then(Value::as_str).filter(|next| !next.is_empty()) else {
                return Ok(all);
            };
            if !seen.insert(next.to_owned()) {
                return Err(RegistryError::Circle { url: shown(&self.base) });
            }
            cursor = Some(next.to_owned());
        }
        Err(self.too_large(format!("{} pages", self.limits.pages)))
    }

    /// The newest version of one server.
    ///
    /// # Errors
    /// Where the registry has none, or does not answer.
    pub async fn server(&self, name: &str) -> Result<Value, RegistryError> {
        let url = self.path(&["servers", name, "versions", "latest"]);
        match self.get(&url).await {
            Ok((_, server)) => Ok(server),
            Err(RegistryError::Status { status: 404, .. }) => {
                Err(RegistryError::NoServer { url: shown(&self.base), name: name.to_owned() })
            }
            Err(error) => Err(error),
        }
    }

    /// Each part becomes one segment: a slash in a name is encoded.
    fn path(&self, parts: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push("v0.1").extend(parts);
        }
        url
    }

    async fn get(&self, url: &Url) -> Result<(usize, Value), RegistryError> {
        let request = self.http.get(url.clone()).header("accept", "application/json");
        let mut response = request.send().await.map_err(|e| unreachable(url, &e))?;
        if response.status() != StatusCode::OK {
            return Err(RegistryError::Status { url: shown(url), status: response.status().as_u16() });
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| unreachable(url, &e))? {
            if body.len() + chunk.len() > self.limits.page_bytes {
                return Err(self.too_large(format!("{} bytes on one page", self.limits.page_bytes)));
            }
            body.extend_from_slice(&chunk);
        }
        let value = serde_json::from_slice(&body).map_err(|_| malformed(url, "JSON"))?;
        Ok((body.len(), value))
    }

    fn too_large(&self, limit: String) -> RegistryError {
        RegistryError::TooLarge { url: shown(&self.base), limit }
    }
}

fn malformed(url: &Url, expected: &'static str) -> RegistryError {
    RegistryError::Malformed { url: shown(url), expected }
}

fn unreachable(url: &Url, error: &reqwest::Error) -> RegistryError {
    let cause = if error.is_timeout() { "it took too long".to_owned() } else { innermost(error) };
    RegistryError::Unreachable { url: shown(url), cause }
}

/// A URL without what may be secret in it.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Neither can fail on a URL with a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}
