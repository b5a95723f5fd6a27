//! Who may do what, as it is kept.

use std::collections::BTreeSet;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use serde::Serialize;

use super::Result;
use crate::{
    access::{CallerKind, Role, Scope},
    catalog::event::NewEvent,
    json::Digest,
    name::{CatalogName, ServerName, TeamName},
};

/// A token, but for its secret, which nobody has but its holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// `tok-` and the beginning of its digest.
    pub id: String,
    /// What it is for.
    pub name: String,
    /// Who acts with it, as the history shows.
    pub owner: String,
    /// What its holder is.
    pub kind: CallerKind,
    /// What its holder may do.
    pub roles: BTreeSet<Role>,
    /// And where.
    pub scope: Scope,
    /// Who made it.
    pub created_by: String,
    /// When.
    pub created_at: DateTime<Utc>,
    /// From when it is refused; never where there is none.
    pub expires_at: Option<DateTime<Utc>>,
    /// When it was used last, to the minute.
    pub last_used_at: Option<DateTime<Utc>>,
    /// Who took it back.
    pub revoked_by: Option<String>,
    /// When.
    pub revoked_at: Option<DateTime<Utc>>,
    /// The token with which its owner made it, and with which it is taken back.
    pub parent: Option<String>,
}

/// Somebody signed in at a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The token that they signed in with: what it allows, they may.
    pub token: Option<String>,
    /// Who they are.
    pub name: String,
    /// The issuer that said so, where one did.
    pub issuer: Option<String>,
    /// What they may do, where no token says it.
    pub roles: BTreeSet<Role>,
    /// Since when.
    pub created_at: DateTime<Utc>,
    /// Until when.
    pub expires_at: DateTime<Utc>,
}

/// Somebody on the way to an issuer and back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The digest of what the browser that began it holds.
    pub browser: Digest,
    /// What the issuer has to repeat in its token.
    pub nonce: String,
    /// What the code is exchanged with (RFC 7636).
    pub verifier: String,
    /// The page that they came from.
    pub next: String,
    /// When it is too late.
    pub expires_at: DateTime<Utc>,
}

/// People who own servers and catalogs together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Team {
    /// Its name.
    pub name: TeamName,
    /// Who belongs to it, as the history shows them.
    pub members: BTreeSet<String>,
    /// Its servers.
    pub servers: BTreeSet<ServerName>,
    /// Its catalogs: only its members decide on their drafts.
    pub catalogs: BTreeSet<CatalogName>,
}

/// What a team may own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owned {
    /// A server.
    Server,
    /// A catalog.
    Catalog,
}

/// Tokens, sessions and teams.
#[async_trait]
pub trait Access: Send + Sync {
    /// Keeps a token. `first`: only where there never was one; `false` where there was.
    async fn add_token(&self, token: &Token, digest: &Digest, first: bool, event: NewEvent) -> Result<bool>;
    /// Every token there ever was, the oldest first.
    async fn tokens(&self) -> Result<Vec<Token>>;
    /// The token of this id.
    async fn token(&self, id: &str) -> Result<Option<Token>>;
    /// The token of this digest.
    async fn token_of(&self, digest: &Digest) -> Result<Option<Token>>;
    /// Says when a token was used last. That is no event.
    async fn note_token_use(&self, id: &str, at: DateTime<Utc>) -> Result<()>;
    /// Takes a token back, with those that were made with it, and ends the sessions that they began; `false` where it is not there, or was taken back before.
    async fn revoke_token(&self, id: &str, by: &str, at: DateTime<Utc>, event: NewEvent) -> Result<bool>;

    /// Keeps a session, and forgets those that have ended.
    async fn add_session(&self, session: &Session, digest: &Digest, event: NewEvent) -> Result<()>;
    /// The session of this digest.
    async fn session_of(&self, digest: &Digest) -> Result<Option<Session>>;
    /// Ends a session; `false` where it is not there.
    async fn end_session(&self, digest: &Digest, event: NewEvent) -> Result<bool>;

    /// Keeps what a login has to be compared with when it comes back, and forgets those that did not come back in time.
    async fn begin_login(&self, state: &Digest, login: &Login, now: DateTime<Utc>) -> Result<()>;
    /// Takes it, once.
    async fn take_login(&self, state: &Digest) -> Result<Option<Login>>;
    /// The name of an account that signed in before.
    async fn bound(&self, issuer: &str, subject: &str) -> Result<Option<String>>;
    /// Whether an account is bound to this name.
    async fn is_bound(&self, name: &str) -> Result<bool>;
    /// The name of an account: the one that it had first, or `name` where that is nobody else's;
    /// the event is of that.
    async fn person(
        &self,
        issuer: &str,
        subject: &str,
        name: &str,
        now: DateTime<Utc>,
        event: NewEvent,
    ) -> Result<Option<String>>;

    /// The teams, by name.
    async fn teams(&self) -> Result<Vec<Team>>;
    /// Makes a team, or changes it to this. What it owns is no other team's any more.
    async fn put_team(&self, team: &Team, at: DateTime<Utc>, event: NewEvent) -> Result<()>;
    /// Removes a team; what it owned has no owner. `false` where it is not there.
    async fn remove_team(&self, team: &TeamName, event: NewEvent) -> Result<bool>;
    /// The team that owns this.
    async fn owner(&self, owned: Owned, name: &str) -> Result<Option<Team>>;
}
