//! Webhooks and what was sent to them.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::FromRow;

use super::{
    super::sql::{from_json, from_word, limit, parsed, parsed_opt, time, to_json},
    Connection, Database, events, stored, unstored,
};
use crate::{
    catalog::{
        event::NewEvent,
        webhook::{Attempt, Delivery, DeliveryStatus, Webhook},
    },
    name::WebhookName,
    store::{Attempted, Planned, Queue, Result, Sending, StoreError, Webhooks},
};

/// The columns of a webhook.
macro_rules! columns {
    () => {
        "name, url, shape, filter, secrets, state, because, revision, created_by, created_at, seen, fence"
    };
}

/// Webhooks, by their columns.
macro_rules! webhooks {
    ($where:literal) => {
        concat!("SELECT ", columns!(), " FROM webhooks ", $where)
    };
}

#[derive(FromRow)]
struct WebhookRow {
    name: String,
    url: String,
    shape: String,
    filter: String,
    secrets: String,
    state: String,
    because: Option<String>,
    revision: i64,
    created_by: String,
    created_at: String,
    seen: i64,
    fence: i64,
}

impl TryFrom<WebhookRow> for Webhook {
    type Error = StoreError;
    fn try_from(row: WebhookRow) -> Result<Self> {
        Ok(Self {
            name: parsed("name of a webhook", &row.name)?,
            url: row.url.into(),
            shape: from_word("shape of a webhook", &row.shape)?,
            filter: from_json("filter of a webhook", &row.filter)?,
            secrets: from_json("secrets of a webhook", &row.secrets)?,
            state: from_word("state of a webhook", &row.state)?,
            because: row.because,
            revision: row.revision,
            created_by: row.created_by,
            created_at: parsed("time of a webhook", &row.created_at)?,
        })
    }
}

/// Deliveries, by their columns.
macro_rules! deliveries {
    ($where:literal) => {
        concat!(
            "SELECT d.id, d.webhook, d.event, d.kind, d.status, d.attempts, d.since, d.due, d.last_at, d.last_status,
                 d.last_said
             FROM deliveries d ",
            $where
        )
    };
}

#[derive(FromRow)]
struct DeliveryRow {
    id: i64,
    webhook: String,
    event: i64,
    kind: String,
    status: String,
    attempts: i64,
    since: String,
    due: Option<String>,
    last_at: Option<String>,
    last_status: Option<i64>,
    last_said: Option<String>,
}

impl TryFrom<DeliveryRow> for Delivery {
    type Error = StoreError;
    fn try_from(row: DeliveryRow) -> Result<Self> {
        let at: Option<DateTime<Utc>> = parsed_opt("time of an attempt", row.last_at.as_deref())?;
        let last = at.map(|at| Attempt {
            at,
            status: row.last_status.and_then(|status| u16::try_from(status).ok()),
            said: row.last_said.map(unstored).unwrap_or_default(),
        });
        Ok(Self {
            id: row.id,
            webhook: parsed("name of a webhook", &row.webhook)?,
            event: row.event,
            kind: row.kind,
            status: from_word("status of a delivery", &row.status)?,
            attempts: u32::try_from(row.attempts).unwrap_or(u32::MAX),
            since: parsed("time of a delivery", &row.since)?,
            due: parsed_opt("time of a delivery", row.due.as_deref())?,
            last,
        })
    }
}

#[async_trait]
impl Webhooks for Database {
    async fn webhooks(&self, after: Option<&WebhookName>, count: usize) -> Result<Vec<Webhook>> {
        let rows: Vec<WebhookRow> = sqlx::query_as(webhooks!("WHERE name > $1 ORDER BY name LIMIT $2"))
            .bind(after.map_or("", WebhookName::as_str))
            .bind(limit(count))
            .fetch_all(&self.reader)
            .await?;
        rows.into_iter().map(Webhook::try_from).collect()
    }

    async fn webhook(&self, name: &WebhookName) -> Result<Option<Webhook>> {
        let row: Option<WebhookRow> = sqlx::query_as(webhooks!("WHERE name = $1"))
            .bind(name.as_str())
            .fetch_optional(&self.reader)
            .await?;
        row.map(Webhook::try_from).transpose()
    }

    async fn add_webhook(&self, webhook: &Webhook, event: NewEvent) -> Result<bool> {
        let mut tx = self.write().await?;
        let added = sqlx::query(
            "INSERT INTO webhooks (name, url, shape, filter, secrets, state, revision, created_by, created_at, seen)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, (SELECT COALESCE(MAX(seq), 0) FROM events))
             ON CONFLICT (name) DO NOTHING",
        )
        .bind(webhook.name.as_str())
        .bind(webhook.url.as_str())
        .bind(webhook.shape.as_str())
        .bind(to_json("filter of a webhook", &webhook.filter)?)
        .bind(to_json("secrets of a webhook", &webhook.secrets)?)
        .bind(webhook.state.as_str())
        .bind(webhook.revision)
        .bind(&webhook.created_by)
        .bind(time(webhook.created_at))
        .execute(&mut *tx)
        .await?
        .rows_affected();
        if added == 0 {
            return Ok(false);
        }
        events::append(&mut tx, event).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn change_webhook(&self, webhook: &Webhook, event: NewEvent) -> Result<bool> {
        let mut tx = self.write().await?;
        let changed = sqlx::query(
            "UPDATE webhooks SET url = $3, shape = $4, filter = $5, secrets = $6, because = $8, revision = $2,
                 seen = CASE WHEN state = $7 THEN seen ELSE (SELECT COALESCE(MAX(seq), 0) FROM events) END,
                 state = $7
             WHERE name = $1 AND revision = $2 - 1",
        )
        .bind(webhook.name.as_str())
        .bind(webhook.revision)
        .bind(webhook.url.as_str())
        .bind(webhook.shape.as_str())
        .bind(to_json("filter of a webhook", &webhook.filter)?)
        .bind(to_json("secrets of a webhook", &webhook.secrets)?)
        .bind(webhook.state.as_str())
        .bind(webhook.because.as_deref())
        .execute(&mut *tx)
        .await?
        .rows_affected();
        if changed == 0 {
            return Ok(false);
        }
        events::append(&mut tx, event).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn remove_webhook(&self, name: &WebhookName, revision: i64, event: NewEvent) -> Result<bool> {
        let mut tx = self.write().await?;
        let known: Option<i64> =
            sqlx::query_scalar("SELECT revision FROM webhooks WHERE name = $1 AND revision = $2")
                .bind(name.as_str())
                .bind(revision)
                .fetch_optional(&mut *tx)
                .await?;
        if known.is_none() {
            return Ok(false);
        }
        for statement in ["DELETE FROM deliveries WHERE webhook = $1", "DELETE FROM webhooks WHERE name = $1"]
        {
            sqlx::query(statement).bind(name.as_str()).execute(&mut *tx).await?;
        }
        events::append(&mut tx, event).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn deliveries(
        &self,
        webhook: &WebhookName,
        status: Option<DeliveryStatus>,
        before: Option<i64>,
        count: usize,
    ) -> Result<Vec<Delivery>> {
        let rows: Vec<DeliveryRow> = sqlx::query_as(deliveries!(
            "WHERE webhook = $1 AND id < $2 AND ($3 IS NULL OR status = $3)
             ORDER BY id DESC LIMIT $4"
        ))
        .bind(webhook.as_str())
        .bind(before.unwrap_or(i64::MAX))
        .bind(status.map(DeliveryStatus::as_str))
        .bind(limit(count))
        .fetch_all(&self.reader)
        .await?;
        rows.into_iter().map(Delivery::try_from).collect()
    }

    async fn delivery(&self, webhook: &WebhookName, id: i64) -> Result<Option<Delivery>> {
        let row: Option<DeliveryRow> = sqlx::query_as(deliveries!("WHERE webhook = $1 AND id = $2"))
            .bind(webhook.as_str())
            .bind(id)
            .fetch_optional(&self.reader)
            .await?;
        row.map(Delivery::try_from).transpose()
    }

    async fn resend(
        &self,
        webhook: &WebhookName,
        id: i64,
        now: DateTime<Utc>,
        event: NewEvent,
    ) -> Result<bool> {
        let mut tx = self.write().await?;
        let found = sqlx::query(
            "UPDATE deliveries SET status = 'waiting', attempts = 0, since = $3, due = $3
             WHERE webhook = $1 AND id = $2",
        )
        .bind(webhook.as_str())
        .bind(id)
        .bind(time(now))
        .execute(&mut *tx)
        .await?
        .rows_affected();
        if found == 0 {
            return Ok(false);
        }
        events::append(&mut tx, event).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn note_once(&self, event: NewEvent) -> Result<bool> {
        let mut tx = self.write().await?;
        let known: i64 = sqlx::query_scalar("SELECT count(*) FROM events WHERE subject = $1 AND kind = $2")
            .bind(&event.subject)
            .bind(event.kind)
            .fetch_one(&mut *tx)
            .await?;
        if known > 0 {
            return Ok(false);
        }
        events::append(&mut tx, event).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn next_sending(&self, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>> {
        // What another process holds is nobody else's until its lease ends.
        let next: Option<String> = sqlx::query_scalar(
            "SELECT MIN(CASE WHEN w.holder IS NOT NULL AND w.held_until > t.due THEN w.held_until ELSE t.due END)
             FROM webhooks w JOIN (
                 SELECT webhook, MIN(due) AS due FROM deliveries WHERE due IS NOT NULL GROUP BY webhook
                 UNION ALL
                 SELECT name, $1 FROM webhooks WHERE seen < (SELECT COALESCE(MAX(seq), 0) FROM events)
             ) t ON t.webhook = w.name
             WHERE w.state = 'active'",
        )
        .bind(time(now))
        .fetch_one(&self.reader)
        .await?;
        next.map(|text| parsed("time of the next delivery", &text)).transpose()
    }

    async fn claim_sendings(
        &self,
        holder: &str,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
        most: usize,
    ) -> Result<Vec<Sending>> {
        let mut tx = self.write().await?;
        let rows: Vec<WebhookRow> = sqlx::query_as(concat!(
            "UPDATE webhooks SET holder = $1, held_until = $2, fence = (SELECT last + 1 FROM fences)
             WHERE name IN (
                 SELECT name FROM webhooks WHERE state = 'active' AND (holder IS NULL OR held_until <= $3)
                     AND (seen < (SELECT COALESCE(MAX(seq), 0) FROM events) OR EXISTS (
                         SELECT 1 FROM deliveries d WHERE d.webhook = webhooks.name AND d.due <= $3))
                 ORDER BY name LIMIT $4)
             RETURNING ",
            columns!()
        ))
        .bind(holder)
        .bind(time(until))
        .bind(time(now))
        .bind(limit(most))
        .fetch_all(&mut *tx)
        .await?;
        if !rows.is_empty() {
            sqlx::query("UPDATE fences SET last = last + 1").execute(&mut *tx).await?;
        }
        tx.commit().await?;
        let claimed = rows.into_iter().map(|row| {
            let (fence, seen) = (row.fence, row.seen);
            Ok(Sending { holder: holder.to_owned(), fence, webhook: row.try_into()?, seen })
        });
        claimed.collect()
    }

    async fn renew_sending(&self, claim: &Sending, until: DateTime<Utc>) -> Result<bool> {
        let mut tx = self.write().await?;
        let held =
            sqlx::query("UPDATE webhooks SET held_until = $4 WHERE name = $1 AND holder = $2 AND fence = $3")
                .bind(claim.webhook.name.as_str())
                .bind(&claim.holder)
                .bind(claim.fence)
                .bind(time(until))
                .execute(&mut *tx)
                .await?
                .rows_affected();
        tx.commit().await?;
        Ok(held == 1)
    }

    async fn end_sending(&self, claim: &Sending) -> Result<()> {
        let mut tx = self.write().await?;
        sqlx::query(
            "UPDATE webhooks SET holder = NULL, held_until = NULL WHERE name = $1 AND holder = $2 AND fence = $3",
        )
        .bind(claim.webhook.name.as_str())
        .bind(&claim.holder)
        .bind(claim.fence)
        .execute(&mut *tx)
        .await?;
        Ok(tx.commit().await?)
    }

    async fn release_sendings(&self, holder: &str) -> Result<()> {
        let mut tx = self.write().await?;
        sqlx::query(
            "UPDATE webhooks SET holder = NULL, held_until = NULL WHERE substr(holder, 1, CAST($1 AS INTEGER)) = $2",
        )
        .bind(limit(holder.len() + 1))
        .bind(format!("{holder}:"))
        .execute(&mut *tx)
        .await?;
        Ok(tx.commit().await?)
    }

    async fn plan(
        &self,
        claim: &Sending,
        planned: &[Planned],
        seen: i64,
        now: DateTime<Utc>,
    ) -> Result<bool> {
        let mut tx = self.write().await?;
        if !is_held(&mut tx, claim).await? {
            return Ok(false);
        }
        for Planned { event, kind } in planned {
            sqlx::query(
                "INSERT INTO deliveries (webhook, event, kind, status, attempts, since, due)
                 VALUES ($1, $2, $3, 'waiting', 0, $4, $4) ON CONFLICT (webhook, event) DO NOTHING",
            )
            .bind(claim.webhook.name.as_str())
            .bind(event)
            .bind(kind)
            .bind(time(now))
            .execute(&mut *tx)
            .await?;
        }
        sqlx::query("UPDATE webhooks SET seen = $2 WHERE name = $1 AND seen < $2")
            .bind(claim.webhook.name.as_str())
            .bind(seen)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn due_deliveries(
        &self,
        claim: &Sending,
        now: DateTime<Utc>,
        most: usize,
    ) -> Result<Vec<Delivery>> {
        let rows: Vec<DeliveryRow> = sqlx::query_as(deliveries!(
            "JOIN webhooks w ON w.name = d.webhook
             WHERE d.webhook = $1 AND d.due <= $2 AND w.state = 'active' ORDER BY d.due, d.id LIMIT $3"
        ))
        .bind(claim.webhook.name.as_str())
        .bind(time(now))
        .bind(limit(most))
        .fetch_all(&self.reader)
        .await?;
        rows.into_iter().map(Delivery::try_from).collect()
    }

    async fn note_attempt(&self, claim: &Sending, attempted: &Attempted) -> Result<bool> {
        let Attempted { delivery, attempt, status, due } = attempted;
        let mut tx = self.write().await?;
        if !is_held(&mut tx, claim).await? {
            return Ok(false);
        }
        sqlx::query(
            "UPDATE deliveries SET status = $2, attempts = attempts + 1, due = $3, last_at = $4, last_status = $5,
                 last_said = $6
             WHERE id = $1",
        )
        .bind(delivery)
        .bind(status.as_str())
        .bind(due.map(time))
        .bind(time(attempt.at))
        .bind(attempt.status.map(i64::from))
        .bind(stored(&attempt.said))
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn was_heard(&self, webhook: &WebhookName, since: DateTime<Utc>) -> Result<bool> {
        let heard: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM deliveries WHERE webhook = $1 AND status = 'delivered' AND last_at >= $2",
        )
        .bind(webhook.as_str())
        .bind(time(since))
        .fetch_one(&self.reader)
        .await?;
        Ok(heard > 0)
    }

    async fn disable_webhook(&self, claim: &Sending, because: &str, event: NewEvent) -> Result<bool> {
        let mut tx = self.write().await?;
        if !is_held(&mut tx, claim).await? {
            return Ok(false);
        }
        let disabled = sqlx::query(
            "UPDATE webhooks SET state = 'disabled', because = $2, revision = revision + 1
             WHERE name = $1 AND state = 'active'",
        )
        .bind(claim.webhook.name.as_str())
        .bind(because)
        .execute(&mut *tx)
        .await?
        .rows_affected();
        if disabled == 0 {
            return Ok(false);
        }
        events::append(&mut tx, event).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn forget_deliveries(&self, before: DateTime<Utc>) -> Result<u64> {
        let mut tx = self.write().await?;
        let gone = sqlx::query("DELETE FROM deliveries WHERE since < $1 AND status <> 'waiting'")
            .bind(time(before))
            .execute(&mut *tx)
            .await?
            .rows_affected();
        tx.commit().await?;
        Ok(gone)
    }

    async fn queue(&self, now: DateTime<Utc>) -> Result<Queue> {
        let (waiting, sending, polling, overdue): (i64, i64, i64, i64) = sqlx::query_as(
            "SELECT (SELECT count(*) FROM deliveries WHERE due IS NOT NULL),
                    (SELECT count(*) FROM webhooks WHERE holder IS NOT NULL AND held_until > $1),
                    (SELECT count(*) FROM polls WHERE holder IS NOT NULL AND held_until > $1),
                    (SELECT count(*) FROM polls WHERE holder IS NOT NULL AND held_until <= $1)",
        )
        .bind(time(now))
        .fetch_one(&self.reader)
        .await?;
        Ok(Queue { waiting, sending, polling, overdue })
    }
}

/// Whether a claim is still its holder's, as this transaction sees it.
async fn is_held(db: &mut Connection, claim: &Sending) -> Result<bool> {
    let held: Option<i64> =
        sqlx::query_scalar("SELECT fence FROM webhooks WHERE name = $1 AND holder = $2 AND fence = $3")
            .bind(claim.webhook.name.as_str())
            .bind(&claim.holder)
            .bind(claim.fence)
            .fetch_optional(db)
            .await?;
    Ok(held.is_some())
}
