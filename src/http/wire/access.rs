//! Who may do what.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;
use crate::{access, app::access::teams, app::access::tokens};

/// Whoever calls.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Caller {
    /// As the history shows them.
    name: String,
    /// What they are.
    #[schema(value_type = schema::CallerKind)]
    kind: access::CallerKind,
    /// What they were given.
    #[schema(value_type = Vec<schema::Role>)]
    roles: Vec<access::Role>,
    /// What that comes to.
    #[schema(value_type = Vec<String>)]
    rights: Vec<access::Right>,
    /// Where.
    #[schema(value_type = schema::Scope)]
    scope: access::Scope,
    /// How that is known: `token:ID`, `session:ID`, `oidc:ISSUER` or `link`.
    auth: String,
}

impl From<&access::Caller> for Caller {
    fn from(caller: &access::Caller) -> Self {
        Self {
            name: caller.name.clone(),
            kind: caller.kind,
            roles: caller.roles.iter().copied().collect(),
            rights: access::Right::ALL.into_iter().filter(|right| caller.has(*right).is_ok()).collect(),
            scope: caller.scope.clone(),
            auth: caller.auth.to_string(),
        }
    }
}

/// A token, but for its secret.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// Its id, which tells nothing of its secret.
    #[schema(value_type = schema::TokenId)]
    id: String,
    /// What it is for.
    name: String,
    /// Who acts with it.
    owner: String,
    /// What its holder is.
    #[schema(value_type = schema::CallerKind)]
    kind: access::CallerKind,
    /// What its holder may do.
    #[schema(value_type = Vec<schema::Role>)]
    roles: Vec<access::Role>,
    /// And where.
    #[schema(value_type = schema::Scope)]
    scope: access::Scope,
    /// Who made it.
    created_by: String,
    /// When.
    created_at: DateTime<Utc>,
    /// When it ends; never where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expires_at: Option<DateTime<Utc>>,
    /// When it was used last, to the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last_used_at: Option<DateTime<Utc>>,
    /// Who took it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    revoked_by: Option<String>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    revoked_at: Option<DateTime<Utc>>,
}

impl From<tokens::Token> for Token {
    fn from(token: tokens::Token) -> Self {
        Self {
            id: token.id,
            name: token.name,
            owner: token.owner,
            kind: token.kind,
            roles: token.roles.into_iter().collect(),
            scope: token.scope,
            created_by: token.created_by,
            created_at: token.created_at,
            expires_at: token.expires_at,
            last_used_at: token.last_used_at,
            revoked_by: token.revoked_by,
            revoked_at: token.revoked_at,
        }
    }
}

/// A token, with its secret.
#[derive(Serialize, ToSchema)]
pub struct NewToken {
    /// What is sent as `Authorization: Bearer …`. Shown this once.
    secret: String,
    /// The token.
    token: Token,
}

impl NewToken {
    /// Both together.
    pub fn of(token: tokens::Token, secret: String) -> Self {
        Self { secret, token: token.into() }
    }
}

/// People who own servers and catalogs together.
#[derive(Serialize, ToSchema)]
pub struct Team {
    /// Its name.
    #[schema(value_type = schema::TeamName)]
    name: crate::name::TeamName,
    /// Who belongs to it.
    members: Vec<String>,
    /// Its servers.
    #[schema(value_type = Vec<schema::ServerName>)]
    servers: Vec<crate::name::ServerName>,
    /// Its catalogs.
    #[schema(value_type = Vec<schema::CatalogName>)]
    catalogs: Vec<crate::name::CatalogName>,
}

impl From<teams::Team> for Team {
    fn from(team: teams::Team) -> Self {
        Self {
            name: team.name,
            members: team.members.into_iter().collect(),
            servers: team.servers.into_iter().collect(),
            catalogs: team.catalogs.into_iter().collect(),
        }
    }
}
