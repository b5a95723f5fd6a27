//! Tokens, sessions and teams.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::FromRow;

use super::{
    super::sql::{from_json, from_word, parsed, parsed_opt, time, to_json},
    Database, events,
};
use crate::{
    catalog::event::NewEvent,
    json::Digest,
    name::TeamName,
    store::{Access, Login, Owned, Result, Session, Team, Token},
};

#[derive(FromRow)]
struct TokenRow {
    id: String,
    name: String,
    owner: String,
    kind: String,
    roles: String,
    scope: String,
    created_by: String,
    created_at: String,
    expires_at: Option<String>,
    last_used_at: Option<String>,
    revoked_by: Option<String>,
    revoked_at: Option<String>,
    parent: Option<String>,
}

/// The columns of a [`TokenRow`]: all but the digest.
const TOKEN: &str = "id, name, owner, kind, roles, scope, created_by, created_at, expires_at, last_used_at, revoked_by, \
     revoked_at, parent";

impl TryFrom<TokenRow> for Token {
    type Error = crate::store::StoreError;
    fn try_from(row: TokenRow) -> Result<Self> {
        Ok(Self {
            id: row.id,
            name: row.name,
            owner: row.owner,
            kind: from_word("token kind", &row.kind)?,
            roles: from_json("token roles", &row.roles)?,
            scope: from_json("token scope", &row.scope)?,
            created_by: row.created_by,
            created_at: parsed("token time", &row.created_at)?,
            expires_at: parsed_opt("token time", row.expires_at.as_deref())?,
            last_used_at: parsed_opt("token time", row.last_used_at.as_deref())?,
            revoked_by: row.revoked_by,
            revoked_at: parsed_opt("token time", row.revoked_at.as_deref())?,
            parent: row.parent,
        })
    }
}

#[derive(FromRow)]
struct SessionRow {
    token: Option<String>,
    name: String,
    issuer: Option<String>,
    roles: String,
    created_at: String,
    expires_at: String,
}

#[derive(FromRow)]
struct LoginRow {
    browser: String,
    nonce: String,
    verifier: String,
    next: String,
    expires_at: String,
}

fn token(row: Option<TokenRow>) -> Result<Option<Token>> {
    row.map(Token::try_from).transpose()
}

fn kind(owned: Owned) -> &'static str {
    match owned {
        Owned::Server => "server",
        Owned::Catalog => "catalog",
    }
}

#[async_trait]
impl Access for Database {
    async fn add_token(&self, token: &Token, digest: &Digest, first: bool, event: NewEvent) -> Result<bool> {
        let mut tx = self.write().await?;
        if first {
            let known: i64 = sqlx::query_scalar("SELECT count(*) FROM tokens").fetch_one(&mut *tx).await?;
            if known > 0 {
                return Ok(false);
            }
        }
        sqlx::query(
            "INSERT INTO tokens (id, digest, name, owner, kind, roles, scope, created_by, created_at, expires_at, parent)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        )
        .bind(&token.id)
        .bind(digest.as_str())
        .bind(&token.name)
        .bind(&token.owner)
        .bind(token.kind.as_str())
        .bind(to_json("token roles", &token.roles)?)
        .bind(to_json("token scope", &token.scope)?)
        .bind(&token.created_by)
        .bind(time(token.created_at))
        .bind(token.expires_at.map(time))
        .bind(token.parent.as_deref())
        .execute(&mut *tx)
        .await?;
        events::append(&mut tx, event).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn tokens(&self) -> Result<Vec<Token>> {
        let statement = format!("SELECT {TOKEN} FROM tokens ORDER BY created_at, id");
        let rows: Vec<TokenRow> =
            sqlx::query_as(sqlx::AssertSqlSafe(statement)).fetch_all(&self.reader).await?;
        rows.into_iter().map(Token::try_from).collect()
    }

    async fn token(&self, id: &str) -> Result<Option<Token>> {
        let statement = format!("SELECT {TOKEN} FROM tokens WHERE id = $1");
        token(sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(id).fetch_optional(&self.reader).await?)
    }

    async fn token_of(&self, digest: &Digest) -> Result<Option<Token>> {
        let statement = format!("SELECT {TOKEN} FROM tokens WHERE digest = $1");
        let row = sqlx::query_as(sqlx::AssertSqlSafe(statement)).bind(digest.as_str());
        token(row.fetch_optional(&self.reader).await?)
    }

    async fn note_token_use(&self, id: &str, at: DateTime<Utc>) -> Result<()> {
        let mut tx = self.write().await?;
        sqlx::query(
            "UPDATE tokens SET last_used_at = $1 WHERE id = $2 AND (last_used_at IS NULL OR last_used_at < $1)",
        )
        .bind(time(at))
        .bind(id)
        .execute(&mut *tx)
        .await?;
        Ok(tx.commit().await?)
    }

    async fn revoke_token(&self, id: &str, by: &str, at: DateTime<Utc>, event: NewEvent) -> Result<bool> {
        let mut tx = self.write().await?;
        let done = sqlx::query(
            "UPDATE tokens SET revoked_by = $1, revoked_at = $2 WHERE id = $3 AND revoked_at IS NULL",
        )
        .bind(by)
        .bind(time(at))
        .bind(id)
        .execute(&mut *tx)
        .await?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
        sqlx::query(
            "WITH RECURSIVE family (id) AS (
                 SELECT id FROM tokens WHERE id = $3 UNION SELECT t.id FROM tokens t JOIN family f ON t.parent = f.id
             )
             UPDATE tokens SET revoked_by = $1, revoked_at = $2
             WHERE id IN (SELECT id FROM family) AND revoked_at IS NULL",
        )
        .bind(by)
        .bind(time(at))
        .bind(id)
        .execute(&mut *tx)
        .await?;
        sqlx::query(
            "DELETE FROM sessions WHERE token IN (SELECT id FROM tokens WHERE revoked_at IS NOT NULL)",
        )
        .execute(&mut *tx)
        .await?;
        events::append(&mut tx, event).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn add_session(&self, session: &Session, digest: &Digest, event: NewEvent) -> Result<()> {
        let mut tx = self.write().await?;
        sqlx::query("DELETE FROM sessions WHERE expires_at < $1")
            .bind(time(session.created_at))
            .execute(&mut *tx)
            .await?;
        sqlx::query(
            "INSERT INTO sessions (digest, token, name, issuer, roles, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(digest.as_str())
        .bind(session.token.as_deref())
        .bind(&session.name)
        .bind(session.issuer.as_deref())
        .bind(to_json("session roles", &session.roles)?)
        .bind(time(session.created_at))
        .bind(time(session.expires_at))
        .execute(&mut *tx)
        .await?;
        events::append(&mut tx, event).await?;
        Ok(tx.commit().await?)
    }

    async fn session_of(&self, digest: &Digest) -> Result<Option<Session>> {
        let row: Option<SessionRow> = sqlx::query_as(
            "SELECT token, name, issuer, roles, created_at, expires_at FROM sessions WHERE digest = $1",
        )
        .bind(digest.as_str())
        .fetch_optional(&self.reader)
        .await?;
        row.map(|row| {
            Ok(Session {
                token: row.token,
                name: row.name,
                issuer: row.issuer,
                roles: from_json("session roles", &row.roles)?,
                created_at: parsed("session time", &row.created_at)?,
                expires_at: parsed("session time", &row.expires_at)?,
            })
        })
        .transpose()
    }

    async fn end_session(&self, digest: &Digest, event: NewEvent) -> Result<bool> {
        let mut tx = self.write().await?;
        let done = sqlx::query("DELETE FROM sessions WHERE digest = $1")
            .bind(digest.as_str())
            .execute(&mut *tx)
            .await?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
        events::append(&mut tx, event).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn begin_login(&self, state: &Digest, login: &Login, now: DateTime<Utc>) -> Result<()> {
        let mut tx = self.write().await?;
        sqlx::query("DELETE FROM logins WHERE expires_at < $1").bind(time(now)).execute(&mut *tx).await?;
        sqlx::query(
            "INSERT INTO logins (state, browser, nonce, verifier, next, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(state.as_str())
        .bind(login.browser.as_str())
        .bind(&login.nonce)
        .bind(&login.verifier)
        .bind(&login.next)
        .bind(time(login.expires_at))
        .execute(&mut *tx)
        .await?;
        Ok(tx.commit().await?)
    }

    async fn take_login(&self, state: &Digest) -> Result<Option<Login>> {
        // Nobody who makes states up is to take the writer from others.
        let known: i64 = sqlx::query_scalar("SELECT count(*) FROM logins WHERE state = $1")
            .bind(state.as_str())
            .fetch_one(&self.reader)
            .await?;
        if known == 0 {
            return Ok(None);
        }
        let mut tx = self.write().await?;
        let row: Option<LoginRow> = sqlx::query_as(
            "DELETE FROM logins WHERE state = $1 RETURNING browser, nonce, verifier, next, expires_at",
        )
        .bind(state.as_str())
        .fetch_optional(&mut *tx)
        .await?;
        tx.commit().await?;
        row.map(|row| {
            Ok(Login {
                browser: parsed("login's browser", &row.browser)?,
                nonce: row.nonce,
                verifier: row.verifier,
                next: row.next,
                expires_at: parsed("login time", &row.expires_at)?,
            })
        })
        .transpose()
    }

    async fn bound(&self, issuer: &str, subject: &str) -> Result<Option<String>> {
        let name = sqlx::query_scalar("SELECT name FROM people WHERE issuer = $1 AND subject = $2")
            .bind(issuer)
            .bind(subject)
            .fetch_optional(&self.reader)
            .await?;
        Ok(name)
    }

    async fn is_bound(&self, name: &str) -> Result<bool> {
        let found: Option<String> = sqlx::query_scalar("SELECT name FROM people WHERE name = $1")
            .bind(name)
            .fetch_optional(&self.reader)
            .await?;
        Ok(found.is_some())
    }

    async fn person(
        &self,
        issuer: &str,
        subject: &str,
        name: &str,
        now: DateTime<Utc>,
        event: NewEvent,
    ) -> Result<Option<String>> {
        let mut tx = self.write().await?;
        let known: Option<String> =
            sqlx::query_scalar("SELECT name FROM people WHERE issuer = $1 AND subject = $2")
                .bind(issuer)
                .bind(subject)
                .fetch_optional(&mut *tx)
                .await?;
        if known.is_some() {
            return Ok(known);
        }
        let done = sqlx::query(
            "INSERT INTO people (name, issuer, subject, since) VALUES ($1, $2, $3, $4)
             ON CONFLICT DO NOTHING",
        )
        .bind(name)
        .bind(issuer)
        .bind(subject)
        .bind(time(now))
        .execute(&mut *tx)
        .await?;
        if done.rows_affected() != 1 {
            return Ok(None);
        }
        events::append(&mut tx, event).await?;
        tx.commit().await?;
        Ok(Some(name.to_owned()))
    }

    async fn teams(&self) -> Result<Vec<Team>> {
        let rows: Vec<(String, String)> =
            sqlx::query_as("SELECT name, members FROM teams ORDER BY name").fetch_all(&self.reader).await?;
        let owned: Vec<(String, String, String)> =
            sqlx::query_as("SELECT team, kind, name FROM owners ORDER BY kind, name")
                .fetch_all(&self.reader)
                .await?;
        rows.iter()
            .map(|(name, members)| {
                let mine = |wanted: Owned| {
                    owned
                        .iter()
                        .filter(move |(team, k, _)| **team == *name && k == kind(wanted))
                        .map(|o| o.2.as_str())
                };
                Ok(Team {
                    servers: mine(Owned::Server).map(|n| parsed("owned server", n)).collect::<Result<_>>()?,
                    catalogs: mine(Owned::Catalog)
                        .map(|n| parsed("owned catalog", n))
                        .collect::<Result<_>>()?,
                    members: from_json("team members", members)?,
                    name: parsed("team name", name)?,
                })
            })
            .collect()
    }

    async fn put_team(&self, team: &Team, at: DateTime<Utc>, event: NewEvent) -> Result<()> {
        let mut tx = self.write().await?;
        sqlx::query(
            "INSERT INTO teams (name, members, changed_at) VALUES ($1, $2, $3)
             ON CONFLICT (name) DO UPDATE SET members = excluded.members, changed_at = excluded.changed_at",
        )
        .bind(team.name.as_str())
        .bind(to_json("team members", &team.members)?)
        .bind(time(at))
        .execute(&mut *tx)
        .await?;
        sqlx::query("DELETE FROM owners WHERE team = $1").bind(team.name.as_str()).execute(&mut *tx).await?;
        let servers = team.servers.iter().map(|name| (Owned::Server, name.as_str()));
        let catalogs = team.catalogs.iter().map(|name| (Owned::Catalog, name.as_str()));
        for (owned, name) in servers.chain(catalogs) {
            // Who comes last owns it: an admin said so.
            sqlx::query(
                "INSERT INTO owners (kind, name, team) VALUES ($1, $2, $3)
                 ON CONFLICT (kind, name) DO UPDATE SET team = excluded.team",
            )
            .bind(kind(owned))
            .bind(name)
            .bind(team.name.as_str())
            .execute(&mut *tx)
            .await?;
        }
        events::append(&mut tx, event).await?;
        Ok(tx.commit().await?)
    }

    async fn remove_team(&self, team: &TeamName, event: NewEvent) -> Result<bool> {
        let mut tx = self.write().await?;
        sqlx::query("DELETE FROM owners WHERE team = $1").bind(team.as_str()).execute(&mut *tx).await?;
        let done =
            sqlx::query("DELETE FROM teams WHERE name = $1").bind(team.as_str()).execute(&mut *tx).await?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
        events::append(&mut tx, event).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn owner(&self, owned: Owned, name: &str) -> Result<Option<Team>> {
        let team: Option<String> =
            sqlx::query_scalar("SELECT team FROM owners WHERE kind = $1 AND name = $2")
                .bind(kind(owned))
                .bind(name)
                .fetch_optional(&self.reader)
                .await?;
        let Some(team) = team else { return Ok(None) };
        Ok(self.teams().await?.into_iter().find(|t| t.name.as_str() == team))
    }
}
