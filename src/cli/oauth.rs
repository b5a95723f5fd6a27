//! The client as which access to a server is had by OAuth 2.1 client credentials.

use crate::{
    app::{AppError, Kind},
    catalog::server::{OAuth, Symbolic},
    mcp::{self, Tokens},
};

/// How it is said. The secret stands in a variable: what is written on a command line is seen by others and kept by shells.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Get access to the URL as this OAuth client, by client credentials.
    #[arg(long, value_name = "ID", requires = "oauth_client_secret_env")]
    oauth_client_id: Option<String>,
    /// The variable in which the client's secret stands.
    #[arg(long, value_name = "VAR", requires = "oauth_client_id", value_parser = variable)]
    oauth_client_secret_env: Option<String>,
    /// Where tokens are issued. Without it the server is asked who issues them, and whoever it names is given the secret.
    #[arg(long, value_name = "URL", requires = "oauth_client_id")]
    oauth_token_url: Option<String>,
    /// What access is asked for; several names with blanks between them.
    #[arg(long, value_name = "SCOPE", requires = "oauth_client_id")]
    oauth_scope: Option<String>,
    /// What the token is for, as the authorization server knows it; the server's URL where nothing else is said.
    #[arg(long, value_name = "URI", requires = "oauth_client_id")]
    oauth_resource: Option<String>,
}

impl Args {
    /// The client as it is registered, with references.
    pub(super) fn symbolic(&self) -> Option<OAuth> {
        let text = |text: &Option<String>| text.as_deref().map(Symbolic::from);
        Some(OAuth {
            token_url: text(&self.oauth_token_url),
            client_id: text(&self.oauth_client_id)?,
            client_secret: Symbolic::variable(self.oauth_client_secret_env.as_deref()?),
            scope: text(&self.oauth_scope),
            resource: text(&self.oauth_resource),
        })
    }

    /// The client as it is used now.
    ///
    /// # Errors
    /// Where the variable is not set.
    pub(super) fn client(&self) -> Result<Option<mcp::OAuth>, AppError> {
        let (Some(id), Some(name)) = (&self.oauth_client_id, &self.oauth_client_secret_env) else {
            return Ok(None);
        };
        let secret = std::env::var(name).ok().filter(|secret| !secret.is_empty()).ok_or_else(|| {
            let message = format!("the secret of client `{id}` is missing: the variable `{name}` is not set");
            AppError::new(Kind::Invalid, "unset-variable", message)
                .help(format!("set `{name}` and run it again"))
        })?;
        Ok(Some(mcp::OAuth {
            token_url: self.oauth_token_url.clone(),
            client_id: id.clone(),
            client_secret: secret,
            scope: self.oauth_scope.clone(),
            resource: self.oauth_resource.clone(),
            tokens: Tokens::default(),
        }))
    }
}

/// A name, and not the secret itself by a slip.
fn variable(text: &str) -> Result<String, String> {
    match Symbolic::variable(text).references().next() {
        Some(reference) if !reference.acts() && !text.contains(':') => Ok(text.to_owned()),
        Some(_) | None => Err("expected the name of a variable".to_owned()),
    }
}
