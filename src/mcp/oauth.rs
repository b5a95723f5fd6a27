//! OAuth 2.1 client credentials: who we are to an authorization server, and the tokens that it gave.
//!
//! Secrets and tokens live in memory only. Neither is ever printed; `http` sends them where they belong.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use reqwest::{Url, header::HeaderValue};
use tokio::time::{Duration, Instant};

use super::SourceError;
use crate::json::Digest;

/// A token is renewed so long before it ends that no request carries one that ends on its way.
const EARLY: Duration = Duration::from_secs(30);
/// How long a token is used of which nobody says how long it lasts.
const UNKNOWN_LIFETIME: Duration = Duration::from_secs(5 * 60);

/// A client, as it is registered at an authorization server.
#[derive(Clone, PartialEq, Eq)]
pub struct OAuth {
    /// Where tokens are issued; found out by asking the server where there is none (RFC 9728, RFC 8414).
    pub token_url: Option<String>,
    /// The client.
    pub client_id: String,
    /// Its secret.
    pub client_secret: String,
    /// What is asked for, names with blanks between them.
    pub scope: Option<String>,
    /// What the token is for (RFC 8707); the server's URL where there is none.
    pub resource: Option<String>,
    /// The tokens that there are already. Shared by whoever asks the same servers.
    pub tokens: Tokens,
}

impl OAuth {
    /// Whether it can be used.
    pub(super) fn check(&self) -> Result<(), SourceError> {
        let refuse = |cause: &str| Err(SourceError::OAuth(cause.to_owned()));
        if self.client_id.is_empty() || self.client_secret.is_empty() {
            return refuse("a client has an id and a secret");
        }
        for (what, text) in [("token URL", &self.token_url), ("resource", &self.resource)] {
            let Some(text) = text else { continue };
            match Url::parse(text) {
                Ok(url) if what == "resource" && url.fragment().is_some() => {
                    return refuse("the resource has a fragment, which RFC 8707 forbids");
                }
                Ok(url) if what == "resource" || matches!(url.scheme(), "http" | "https") => {}
                Ok(_) | Err(_) => return refuse(&format!("the {what} is no http or https URL")),
            }
        }
        Ok(())
    }

    /// What a token is kept under for this server.
    pub(super) fn key(&self, server: &str) -> Key {
        Key {
            issued_for: self.token_url.clone().unwrap_or_else(|| format!("whom {server} trusts")),
            client: self.client_id.clone(),
            // A wrong secret must not be given the token of the right one.
            secret: Digest::of_bytes(self.client_secret.as_bytes()),
            scope: self.scope.clone(),
            resource: self.resource.clone().unwrap_or_else(|| server.to_owned()),
        }
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

/// What a token is kept under.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    issued_for: String,
    client: String,
    secret: Digest,
    scope: Option<String>,
    resource: String,
}

/// Tokens, each until shortly before it ends.
#[derive(Clone, Default)]
pub struct Tokens(Arc<Mutex<HashMap<Key, (HeaderValue, Instant)>>>);

impl Tokens {
    pub(super) fn get(&self, key: &Key) -> Option<HeaderValue> {
        let tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.get(key).filter(|(_, until)| *until > Instant::now()).map(|(token, _)| token.clone())
    }

    pub(super) fn put(&self, key: Key, token: HeaderValue, lasts: Option<Duration>) {
        let now = Instant::now();
        let until = now.checked_add(lasts.unwrap_or(EARLY + UNKNOWN_LIFETIME).saturating_sub(EARLY));
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|_, (_, until)| *until > now);
        if let Some(until) = until {
            tokens.insert(key, (token, until));
        }
    }
}

impl PartialEq for Tokens {
    /// Where tokens are kept says nothing of a source.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Tokens {}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens(…)")
    }
}
