//! The options of `serve` about who may call: the issuer that people sign in through, and how often somebody may call.

use std::{collections::BTreeMap, num::NonZeroU32, path::PathBuf};

use crate::{
    access::Role,
    app::{App, AppError, IpNet, Kind},
    guard::{Limits, Rates},
    oidc::{Provider, Settings},
};

/// Who may call, and how often.
#[derive(clap::Args)]
#[command(next_help_heading = "Access")]
pub(super) struct Login {
    /// Where browsers reach this service (`https://toolpact.example.com`); needed with `--oidc-issuer`.
    #[arg(long, value_name = "URL", env = "TOOLPACT_PUBLIC_URL")]
    public_url: Option<String>,
    /// Sign people in through this OpenID Connect issuer, beside tokens.
    #[arg(long, value_name = "URL", env = "TOOLPACT_OIDC_ISSUER", requires_all = ["oidc_client_id", "public_url"])]
    oidc_issuer: Option<String>,
    /// What the issuer calls this service.
    #[arg(long, value_name = "ID", env = "TOOLPACT_OIDC_CLIENT_ID", requires = "oidc_issuer")]
    oidc_client_id: Option<String>,
    /// A file with this service's secret at the issuer.
    #[arg(long, value_name = "FILE", env = "TOOLPACT_OIDC_CLIENT_SECRET_FILE", requires = "oidc_issuer")]
    oidc_client_secret_file: Option<PathBuf>,
    /// The claim that names people in the history. A name stays with the account that signed in under it first.
    #[arg(long, value_name = "CLAIM", default_value = "email", env = "TOOLPACT_OIDC_NAME_CLAIM")]
    oidc_name_claim: String,
    /// The claim that lists groups.
    #[arg(long, value_name = "CLAIM", default_value = "groups", env = "TOOLPACT_OIDC_GROUPS_CLAIM")]
    oidc_groups_claim: String,
    /// What is asked for beside `openid`, comma-separated.
    #[arg(
        long,
        value_name = "SCOPES",
        default_value = "email,profile",
        value_delimiter = ',',
        env = "TOOLPACT_OIDC_SCOPES"
    )]
    oidc_scopes: Vec<String>,
    /// The role of a group, `GROUP=ROLE`; repeat for more. Whoever is in no group with a role may not sign in.
    #[arg(long = "oidc-role", value_name = "GROUP=ROLE", value_parser = group_role, value_delimiter = ',', env = "TOOLPACT_OIDC_ROLES")]
    oidc_roles: Vec<(String, Role)>,
    /// How many requests a second one caller may send; ten times as many at once.
    #[arg(long, value_name = "COUNT", default_value = "1000", env = "TOOLPACT_RATE_LIMIT")]
    rate_limit: NonZeroU32,
    /// A network of proxies that stand before this service (`10.0.0.0/8`); repeat for more. What their `X-Forwarded-For` says
    /// counts as the caller's address. Without, all callers behind a proxy count as one.
    #[arg(long = "trust-proxy", value_name = "CIDR", env = "TOOLPACT_TRUST_PROXY", value_delimiter = ',')]
    proxies: Vec<IpNet>,
}

impl Login {
    /// How often somebody may call, and how they are told apart.
    pub(super) fn limits(&self) -> Limits {
        let rates = Rates { calls: self.rate_limit, ..Rates::default() };
        Limits::new(rates).behind(self.proxies.clone())
    }

    /// The app with the issuer that was named, if one was.
    pub(super) fn with_issuer(&self, app: App) -> Result<App, AppError> {
        let (Some(issuer), Some(client_id), Some(public_url)) =
            (&self.oidc_issuer, &self.oidc_client_id, &self.public_url)
        else {
            return Ok(app);
        };
        let client_secret = self.oidc_client_secret_file.as_ref().map(|file| {
            let text = std::fs::read_to_string(file).map_err(|e| {
                let message = format!("the secret `{}` cannot be read: {e}", file.display());
                AppError::new(Kind::Invalid, "no-secret", message)
            })?;
            Ok::<_, AppError>(text.trim().to_owned())
        });
        let mut roles: BTreeMap<String, std::collections::BTreeSet<Role>> = BTreeMap::new();
        for (group, role) in &self.oidc_roles {
            roles.entry(group.clone()).or_default().insert(*role);
        }
        let host = issuer.split("://").nth(1).unwrap_or(issuer).split('/').next().unwrap_or(issuer);
        let settings = Settings {
            issuer: issuer.clone(),
            label: host.to_owned(),
            client_id: client_id.clone(),
            client_secret: client_secret.transpose()?,
            public_url: public_url.clone(),
            name_claim: self.oidc_name_claim.clone(),
            groups_claim: self.oidc_groups_claim.clone(),
            scopes: self.oidc_scopes.clone(),
            roles,
        };
        let provider = Provider::new(settings).map_err(|e| {
            AppError::new(Kind::Invalid, "invalid-issuer", e.to_string())
                .help("an issuer is a URL, as its discovery document names it")
        })?;
        Ok(app.with_oidc(provider))
    }
}

fn group_role(text: &str) -> Result<(String, Role), String> {
    let (group, role) = text.rsplit_once('=').ok_or("a role is given as GROUP=ROLE")?;
    let role = super::tokens::role(role)?;
    if group.is_empty() { Err("the group has no name".to_owned()) } else { Ok((group.to_owned(), role)) }
}
