//! A client of OAuth 2.1, as which a server gives access.

use serde::{Deserialize, Serialize};

use super::Symbolic;

/// Client credentials (RFC 6749, 4.4). The secret is a reference, as everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OAuth {
    /// Where tokens are issued. Where nothing is said, the server is asked who issues them, and whoever it names is given
    /// the client's secret.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub token_url: Option<Symbolic>,
    /// The client.
    pub client_id: Symbolic,
    /// Its secret.
    pub client_secret: Symbolic,
    /// What is asked for, names with blanks between them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scope: Option<Symbolic>,
    /// What the token is for (RFC 8707); the server's URL where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub resource: Option<Symbolic>,
}

impl OAuth {
    /// Every text in it, with the name it stands under.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &Symbolic)> {
        let optional = [("tokenUrl", &self.token_url), ("scope", &self.scope), ("resource", &self.resource)];
        [("clientId", &self.client_id), ("clientSecret", &self.client_secret)]
            .into_iter()
            .chain(optional.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?))))
    }
}
