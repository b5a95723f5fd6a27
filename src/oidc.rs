//! Signing in through an issuer: OpenID Connect's code flow with PKCE (RFC 7636), a nonce and a state.
//!
//! Alone names the `openidconnect` crate. What it learns is an account and its groups; which roles those give is said in the
//! settings, and what comes of it is decided by the use cases. Without the feature `oidc` there is none of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::access::Role;

/// How an issuer is asked, and what its groups may do here.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// The issuer, as it calls itself: a URL.
    pub issuer: String,
    /// What people call it, on the button.
    pub label: String,
    /// What we are called there.
    pub client_id: String,
    /// Our secret, where we have one.
    pub client_secret: Option<String>,
    /// Where browsers reach this service, without a path.
    pub public_url: String,
    /// The claim that names people: it must not be one that they may choose as they like. `email` counts only where the issuer
    /// has verified it.
    pub name_claim: String,
    /// The claim that lists groups.
    pub groups_claim: String,
    /// What is asked for beside `openid`.
    pub scopes: Vec<String>,
    /// The roles of each group.
    pub roles: BTreeMap<String, BTreeSet<Role>>,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("issuer", &self.issuer)
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

/// A login that goes to the issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Going {
    /// Where the browser goes.
    pub url: String,
    /// Whatever comes back has to repeat this.
    pub nonce: String,
    /// What the code is exchanged with.
    pub verifier: String,
}

/// An account that the issuer vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// As the issuer tells it from all others, for ever.
    pub subject: String,
    /// What people call it.
    pub name: String,
    /// Whether that is an address which the issuer has verified.
    pub verified: bool,
    /// Its groups.
    pub groups: Vec<String>,
}

/// Why nobody was signed in.
#[derive(Debug, thiserror::Error)]
pub enum OidcError {
    /// The settings cannot be.
    #[error("the issuer is not set up: {0}")]
    Settings(String),
    /// The issuer did not answer, or not as it should.
    #[error("the issuer `{issuer}` {cause}")]
    Issuer {
        /// The issuer.
        issuer: String,
        /// What it did.
        cause: String,
    },
    /// What it answered vouches for nobody.
    #[error("the issuer `{issuer}` vouches for nobody: {cause}")]
    Refused {
        /// The issuer.
        issuer: String,
        /// Why.
        cause: String,
    },
}

#[cfg(feature = "oidc")]
mod flow;
#[cfg(feature = "oidc")]
pub use flow::Provider;

/// What stands in its place in a program that was built without it.
#[cfg(not(feature = "oidc"))]
mod absent {
    use super::{Account, Going, OidcError, Settings};

    /// None.
    #[derive(Debug)]
    pub enum Provider {}

    impl Provider {
        /// There is none.
        ///
        /// # Errors
        /// Always.
        pub fn new(_: Settings) -> Result<Self, OidcError> {
            Err(OidcError::Settings("this program was built without the feature `oidc`".to_owned()))
        }

        /// Never called.
        #[must_use]
        pub fn settings(&self) -> &Settings {
            match *self {}
        }

        /// Never called.
        ///
        /// # Errors
        /// Never.
        pub async fn begin(&self, _: &str) -> Result<Going, OidcError> {
            match *self {}
        }

        /// Never called.
        ///
        /// # Errors
        /// Never.
        pub async fn finish(&self, _: &str, _: &str, _: &str) -> Result<Account, OidcError> {
            match *self {}
        }
    }
}
#[cfg(not(feature = "oidc"))]
pub use absent::Provider;
