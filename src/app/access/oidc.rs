//! Signing in through an issuer: what it says of an account, and the roles that this gives here.

use std::sync::Arc;

use super::sessions::Vouched;
use crate::{
    app::{App, AppError, Kind},
    oidc::{OidcError, Provider},
};

impl App {
    /// The same, with an issuer that people sign in through.
    #[must_use]
    pub fn with_oidc(self, provider: Provider) -> Self {
        Self { oidc: Some(Arc::new(provider)), ..self }
    }

    /// What people call the issuer, where there is one.
    #[must_use]
    pub fn issuer(&self) -> Option<String> {
        self.oidc.as_ref().map(|provider| provider.settings().label.clone())
    }

    /// Begins a login: where the browser goes, and what it has to keep until it is back.
    ///
    /// # Errors
    /// Where there is no issuer, or it does not answer.
    pub async fn begin_oidc(&self, next: &str) -> Result<(String, String), AppError> {
        let provider = self.provider()?;
        let state = self.new_state()?;
        let going = provider.begin(&state.state).await.map_err(not_signed_in)?;
        self.begin_login(&state, &going.nonce, &going.verifier, next).await?;
        Ok((going.url, state.browser))
    }

    /// Finishes it: the secret of the session, and the page to go on to.
    ///
    /// # Errors
    /// Where this browser did not begin it, the issuer vouches for nobody, or the account may do nothing here.
    pub async fn finish_oidc(
        &self,
        state: &str,
        browser: &str,
        code: &str,
        refusal: Option<&str>,
    ) -> Result<(String, String), AppError> {
        let provider = self.provider()?;
        let login = self.finish_login(state, browser).await?;
        if let Some(refusal) = refusal {
            let message = format!("the issuer refused: {}", printable(refusal));
            return Err(AppError::new(Kind::Forbidden, "oidc-refused", message).help("sign in again"));
        }
        let account = provider.finish(code, &login.verifier, &login.nonce).await.map_err(not_signed_in)?;
        let settings = provider.settings();
        let roles =
            account.groups.iter().filter_map(|group| settings.roles.get(group)).flatten().copied().collect();
        let vouched = Vouched {
            issuer: settings.issuer.clone(),
            subject: account.subject,
            name: account.name,
            verified: account.verified,
            roles,
        };
        Ok((self.sign_in_vouched(vouched).await?, login.next))
    }

    fn provider(&self) -> Result<&Provider, AppError> {
        self.oidc.as_deref().ok_or_else(|| {
            AppError::new(Kind::NotFound, "no-issuer", "nobody signs in here through an issuer")
                .help("sign in with a token, or start the service with `--oidc-issuer`")
        })
    }
}

fn not_signed_in(e: OidcError) -> AppError {
    let (kind, help) = match &e {
        OidcError::Settings(_) => {
            (Kind::Invalid, "see the options of `toolpact serve` that begin with `--oidc`")
        }
        OidcError::Issuer { .. } => (Kind::Unavailable, "try again, or sign in with a token"),
        OidcError::Refused { .. } => (Kind::Forbidden, "sign in again, or with a token"),
    };
    AppError::new(kind, "oidc-refused", e.to_string()).help(help)
}

/// What somebody else wrote into our address, for people to read.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}
