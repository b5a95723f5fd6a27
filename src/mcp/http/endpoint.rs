//! Where an HTTP server is: a URL and headers that can be used, and the client that reaches it.
//!
//! Header values, user info and query are secrets: what is shown of an endpoint never holds them.

use reqwest::{
    Client, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};

use crate::mcp::{Reach, SourceError, record::printable};

/// Headers that the protocol or HTTP itself sets.
const RESERVED: [&str; 9] = [
    "accept",
    "content-type",
    "content-length",
    "transfer-encoding",
    "connection",
    "host",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
];

/// A URL and headers that can be used.
#[derive(Debug)]
pub(in crate::mcp) struct Endpoint {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
}

impl Endpoint {
    pub(in crate::mcp) fn parse(url: &str, headers: &[(String, String)]) -> Result<Self, SourceError> {
        let refuse = |cause: String| SourceError::Url { url: without_secrets(url), cause };
        let parsed = Url::parse(url).map_err(|error| refuse(error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(refuse(format!("the scheme `{}` is not http or https", parsed.scheme())));
        }
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let refuse = |cause| SourceError::Header { name: printable(name, 60), cause };
            let key: HeaderName = name.trim().parse().map_err(|_| refuse("that is no header name"))?;
            if RESERVED.contains(&key.as_str()) {
                return Err(refuse("the protocol sets it itself"));
            }
            let mut value = HeaderValue::from_str(value.trim())
                .map_err(|_| refuse("its value has characters that no header may have"))?;
            value.set_sensitive(true);
            map.append(key, value);
        }
        Ok(Self { url: parsed, headers: map })
    }
}

/// A URL as it may be shown: without user info, query and fragment.
pub(in crate::mcp) fn without_secrets(url: &str) -> String {
    match Url::parse(url) {
        Ok(mut url) if url.has_host() => {
            // Neither can fail on a URL with a host.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.set_query(None);
            url.set_fragment(None);
            url.into()
        }
        // No URL we know the parts of: only what cannot be a secret in any reading.
        Ok(_) | Err(_) if url.contains('@') => "…".to_owned(),
        Ok(_) | Err(_) => printable(url.split(['?', '#']).next().unwrap_or_default(), 120),
    }
}

/// A client for this URL that reaches no further than it may. It follows no redirect by itself: it would carry the headers along.
pub(super) fn client(url: &Url, reach: &Reach) -> reqwest::Result<Client> {
    // Fails where a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("toolpact/", env!("CARGO_PKG_VERSION")));
    if url.scheme() == "http" {
        // No roots needed, and loading the system's costs tens of milliseconds.
        builder = builder.tls_certs_only(std::iter::empty());
    }
    if let Some(guard) = reach.resolver() {
        builder = builder.dns_resolver(guard).no_proxy();
    } else if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder.build()
}

pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
