//! What was answered under a caller's key.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::FromRow;

use super::{
    super::sql::{from_json, parsed, time, to_json},
    Database,
};
use crate::{
    json::Digest,
    store::{Answers, Begun, KeptAnswer, Result, StoreError},
};

#[derive(FromRow)]
struct AnswerRow {
    request: String,
    status: Option<i64>,
    headers: Option<String>,
    body: Option<Vec<u8>>,
}

#[async_trait]
impl Answers for Database {
    async fn begin_answer(
        &self,
        key: &str,
        request: &Digest,
        now: DateTime<Utc>,
        kept_since: DateTime<Utc>,
        given_up: DateTime<Utc>,
    ) -> Result<Begun> {
        let mut tx = self.write().await?;
        sqlx::query("DELETE FROM answers WHERE since < $1 OR (key = $2 AND status IS NULL AND since < $3)")
            .bind(time(kept_since))
            .bind(key)
            .bind(time(given_up))
            .execute(&mut *tx)
            .await?;
        let known: Option<AnswerRow> =
            sqlx::query_as("SELECT request, status, headers, body FROM answers WHERE key = $1")
                .bind(key)
                .fetch_optional(&mut *tx)
                .await?;
        let begun = match known {
            None => {
                sqlx::query("INSERT INTO answers (key, request, since) VALUES ($1, $2, $3)")
                    .bind(key)
                    .bind(request.as_str())
                    .bind(time(now))
                    .execute(&mut *tx)
                    .await?;
                Begun::Fresh
            }
            Some(row) if parsed::<Digest>("request digest", &row.request)? != *request => Begun::Reused,
            Some(AnswerRow { status: Some(status), headers: Some(headers), body: Some(body), .. }) => {
                let status = u16::try_from(status)
                    .map_err(|e| StoreError::Corrupt { what: "kept status", cause: e.to_string() })?;
                Begun::Answered(KeptAnswer { status, headers: from_json("kept headers", &headers)?, body })
            }
            Some(_) => Begun::InFlight,
        };
        tx.commit().await?;
        Ok(begun)
    }

    async fn finish_answer(&self, key: &str, request: &Digest, answer: KeptAnswer) -> Result<()> {
        let mut tx = self.write().await?;
        sqlx::query(
            "UPDATE answers SET status = $1, headers = $2, body = $3 WHERE key = $4 AND request = $5",
        )
        .bind(i64::from(answer.status))
        .bind(to_json("kept headers", &answer.headers)?)
        .bind(answer.body)
        .bind(key)
        .bind(request.as_str())
        .execute(&mut *tx)
        .await?;
        Ok(tx.commit().await?)
    }

    async fn forget_answer(&self, key: &str, request: &Digest) -> Result<()> {
        let mut tx = self.write().await?;
        sqlx::query("DELETE FROM answers WHERE key = $1 AND request = $2")
            .bind(key)
            .bind(request.as_str())
            .execute(&mut *tx)
            .await?;
        Ok(tx.commit().await?)
    }
}
