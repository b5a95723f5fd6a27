//! When servers are asked next, and by whom.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::{
    super::sql::{limit, parsed, parsed_opt, time},
    Connection, Database,
};
use crate::{
    name::ServerName,
    store::{Claim, Next, Polls, Result, Store, StoreError},
};

#[async_trait]
impl Polls for Database {
    async fn claim_due(
        &self,
        holder: &str,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
        most: usize,
    ) -> Result<Vec<Claim>> {
        let mut tx = self.write().await?;
        // A server that was registered meanwhile is due at once.
        sqlx::query(
            "INSERT INTO polls (server, due) SELECT name, $1 FROM servers
             WHERE name NOT IN (SELECT server FROM polls)",
        )
        .bind(time(now))
        .execute(&mut *tx)
        .await?;
        let rows: Vec<(String, i64, i64)> = sqlx::query_as(
            "UPDATE polls SET holder = $1, held_until = $2, fence = (SELECT last + 1 FROM fences) WHERE server IN (
                 SELECT server FROM polls WHERE CASE WHEN holder IS NULL THEN due ELSE held_until END <= $3
                 ORDER BY due, server LIMIT $4)
             RETURNING server, failures, fence",
        )
        .bind(holder)
        .bind(time(until))
        .bind(time(now))
        .bind(i64::try_from(most).unwrap_or(i64::MAX))
        .fetch_all(&mut *tx)
        .await?;
        if !rows.is_empty() {
            sqlx::query("UPDATE fences SET last = last + 1").execute(&mut *tx).await?;
        }
        tx.commit().await?;
        let mut claims = rows
            .into_iter()
            .map(|(server, failures, fence)| {
                Ok(Claim {
                    holder: holder.to_owned(),
                    fence,
                    server: parsed("name of a server", &server)?,
                    failures: u32::try_from(failures).unwrap_or(u32::MAX),
                })
            })
            .collect::<Result<Vec<_>>>()?;
        claims.sort_by(|a, b| a.server.cmp(&b.server));
        Ok(claims)
    }

    fn under(&self, claim: &Claim) -> Arc<dyn Store> {
        Arc::new(Self { claim: Some(claim.clone()), ..self.clone() })
    }

    async fn renew_claim(&self, claim: &Claim, until: DateTime<Utc>) -> Result<bool> {
        let mut tx = self.write().await?;
        let held =
            sqlx::query("UPDATE polls SET held_until = $4 WHERE holder = $1 AND server = $2 AND fence = $3")
                .bind(&claim.holder)
                .bind(claim.server.as_str())
                .bind(claim.fence)
                .bind(time(until))
                .execute(&mut *tx)
                .await?
                .rows_affected();
        tx.commit().await?;
        Ok(held == 1)
    }

    async fn note_poll(&self, claim: &Claim, next: Next) -> Result<bool> {
        self.polled(claim, next, "").await
    }

    async fn end_claim(&self, claim: &Claim, next: Next) -> Result<bool> {
        self.polled(claim, next, ", holder = NULL, held_until = NULL").await
    }

    async fn release_claims(&self, holder: &str, now: DateTime<Utc>) -> Result<()> {
        let mut tx = self.write().await?;
        sqlx::query(
            "UPDATE polls SET due = $3, holder = NULL, held_until = NULL WHERE substr(holder, 1, CAST($1 AS INTEGER)) = $2",
        )
        .bind(limit(holder.len() + 1))
        .bind(format!("{holder}:"))
        .bind(time(now))
        .execute(&mut *tx)
        .await?;
        Ok(tx.commit().await?)
    }

    async fn asked(&self, server: &ServerName) -> Result<Option<DateTime<Utc>>> {
        let text: Option<Option<String>> = sqlx::query_scalar("SELECT asked FROM polls WHERE server = $1")
            .bind(server.as_str())
            .fetch_optional(&self.reader)
            .await?;
        parsed_opt("time of a poll", text.flatten().as_deref())
    }

    async fn next_due(&self) -> Result<Option<DateTime<Utc>>> {
        // What another process holds is nobody else's until its lease ends.
        let next: Option<String> = sqlx::query_scalar(
            "SELECT MIN(CASE WHEN holder IS NULL THEN due ELSE held_until END) FROM polls",
        )
        .fetch_one(&self.reader)
        .await?;
        next.map(|text| parsed("time of the next listing", &text)).transpose()
    }
}

impl Database {
    async fn polled(&self, claim: &Claim, next: Next, and: &'static str) -> Result<bool> {
        let mut tx = self.write().await?;
        let held = sqlx::query(sqlx::AssertSqlSafe(format!(
            "UPDATE polls SET asked = $4, due = $5, failures = $6{and} WHERE holder = $1 AND server = $2 AND fence = $3"
        )))
        .bind(&claim.holder)
        .bind(claim.server.as_str())
        .bind(claim.fence)
        .bind(time(next.asked))
        .bind(time(next.due))
        .bind(i64::from(next.failures))
        .execute(&mut *tx)
        .await?
        .rows_affected();
        tx.commit().await?;
        Ok(held == 1)
    }
}

/// Refuses what is written under a claim that is another's by now. In the transaction of the write, so that nobody claims
/// in between.
pub(super) async fn stands(db: &mut Connection, claim: &Claim) -> Result<()> {
    let held: Option<i64> =
        sqlx::query_scalar("SELECT fence FROM polls WHERE holder = $1 AND server = $2 AND fence = $3")
            .bind(&claim.holder)
            .bind(claim.server.as_str())
            .bind(claim.fence)
            .fetch_optional(db)
            .await?;
    held.map(|_| ()).ok_or_else(|| StoreError::ClaimLost(claim.server.clone()))
}
