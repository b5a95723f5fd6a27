//! The audit log.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::FromRow;

use super::{
    super::sql::{from_json, limit, parsed, time, to_json},
    Connection, Database,
};
use crate::{
    catalog::{Event, event::NewEvent},
    store::{Basis, EventQuery, Events, Result, StoreError},
};

/// As it is written.
/// Events, by their columns.
macro_rules! events {
    ($where:literal) => {
        concat!("SELECT seq, at, actor, kind, subject, data, origin, previous, digest FROM events ", $where)
    };
}

pub(super) use events;

#[derive(FromRow, Clone, PartialEq)]
pub(super) struct Row {
    seq: i64,
    at: String,
    actor: String,
    kind: String,
    subject: String,
    data: String,
    origin: Option<String>,
    previous: String,
    digest: String,
}

impl Row {
    pub(super) fn of(event: &Event) -> Result<Self> {
        Ok(Self {
            seq: event.seq,
            at: time(event.at),
            actor: event.actor.clone(),
            kind: event.kind.clone(),
            subject: event.subject.clone(),
            data: to_json("event data", &event.data)?,
            origin: event.origin.as_ref().map(|origin| to_json("event origin", origin)).transpose()?,
            previous: event.previous.as_str().to_owned(),
            digest: event.digest.as_str().to_owned(),
        })
    }
}

impl TryFrom<Row> for Event {
    type Error = StoreError;
    fn try_from(row: Row) -> Result<Self> {
        Ok(Self {
            seq: row.seq,
            at: parsed::<DateTime<Utc>>("event time", &row.at)?,
            actor: row.actor,
            kind: row.kind,
            subject: row.subject,
            data: from_json("event data", &row.data)?,
            origin: row.origin.map(|text| from_json("event origin", &text)).transpose()?,
            previous: parsed("event digest", &row.previous)?,
            digest: parsed("event digest", &row.digest)?,
        })
    }
}

/// Chains an event behind the last one, inside the transaction of the write that it describes.
pub(super) async fn append(db: &mut Connection, mut event: NewEvent) -> Result<()> {
    let last: Option<(i64, String)> =
        sqlx::query_as("SELECT seq, digest FROM events ORDER BY seq DESC LIMIT 1")
            .fetch_optional(&mut *db)
            .await?;
    let last = last.map(|(seq, digest)| Ok::<_, StoreError>((seq, parsed("event digest", &digest)?)));
    let seal = event.seal.take();
    let event = Event::chained(event, last.transpose()?);
    let row = Row::of(&event)?;
    sqlx::query(
        "INSERT INTO events (seq, at, actor, kind, subject, data, origin, previous, digest)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(row.seq)
    .bind(row.at)
    .bind(row.actor)
    .bind(row.kind)
    .bind(row.subject)
    .bind(row.data)
    .bind(row.origin)
    .bind(row.previous)
    .bind(row.digest)
    .execute(&mut *db)
    .await?;
    if let Some(seal) = seal {
        let (name, key) = (seal.name(), seal.key.public().id());
        sqlx::query("INSERT INTO signatures (name, key, seq, envelope) VALUES ($1, $2, $3, $4)")
            .bind(name)
            .bind(key.as_str())
            .bind(event.seq)
            .bind(to_json("signature", &seal.made(&event))?)
            .execute(db)
            .await?;
    }
    Ok(())
}

/// Whether what a write was decided on still stands, as this transaction sees it.
pub(super) async fn stands(db: &mut Connection, basis: &Basis) -> Result<()> {
    for subject in &basis.subjects {
        let later: i64 = sqlx::query_scalar("SELECT count(*) FROM events WHERE subject = $1 AND seq > $2")
            .bind(subject)
            .bind(basis.seq)
            .fetch_one(&mut *db)
            .await?;
        if later > 0 {
            return Err(StoreError::Shifted);
        }
    }
    Ok(())
}

#[async_trait]
impl Events for Database {
    async fn events(&self, count: usize) -> Result<Vec<Event>> {
        let rows: Vec<Row> = sqlx::query_as(events!("ORDER BY seq DESC LIMIT $1"))
            .bind(limit(count))
            .fetch_all(&self.reader)
            .await?;
        rows.into_iter().map(Event::try_from).collect()
    }

    async fn events_before(
        &self,
        query: &EventQuery,
        first: i64,
        before: i64,
        count: usize,
    ) -> Result<Vec<Event>> {
        // What is looked for most narrowly comes first in the statement, so that its index is read in order. `substr` takes
        // a prefix as it is written, which `LIKE` does not.
        let statement = match query {
            EventQuery { subject: Some(_), .. } => {
                events!(
                    "WHERE subject = $1 AND seq >= $5 AND seq < $6
                     AND ($2 IS NULL OR kind = $2) AND ($3 IS NULL OR actor = $3)
                     AND ($4 IS NULL OR substr(kind, 1, length($4)) = $4)
                 ORDER BY seq DESC LIMIT $7"
                )
            }
            EventQuery { kind: Some(_), .. } => {
                events!(
                    "WHERE kind = $2 AND seq >= $5 AND seq < $6
                     AND ($1 IS NULL OR subject = $1) AND ($3 IS NULL OR actor = $3)
                     AND ($4 IS NULL OR substr(kind, 1, length($4)) = $4)
                 ORDER BY seq DESC LIMIT $7"
                )
            }
            EventQuery { actor: Some(_), .. } => {
                events!(
                    "WHERE actor = $3 AND seq >= $5 AND seq < $6
                     AND ($1 IS NULL OR subject = $1) AND ($2 IS NULL OR kind = $2)
                     AND ($4 IS NULL OR substr(kind, 1, length($4)) = $4)
                 ORDER BY seq DESC LIMIT $7"
                )
            }
            EventQuery { .. } => {
                events!("WHERE seq >= $5 AND seq < $6
                     AND ($1 IS NULL OR subject = $1) AND ($2 IS NULL OR kind = $2) AND ($3 IS NULL OR actor = $3)
                     AND ($4 IS NULL OR substr(kind, 1, length($4)) = $4)
                 ORDER BY seq DESC LIMIT $7")
            }
        };
        let rows: Vec<Row> = sqlx::query_as(statement)
            .bind(query.subject.as_deref())
            .bind(query.kind.as_deref())
            .bind(query.actor.as_deref())
            .bind(query.family.as_deref())
            .bind(first)
            .bind(before)
            .bind(limit(count))
            .fetch_all(&self.reader)
            .await?;
        rows.into_iter().map(Event::try_from).collect()
    }

    async fn last_event(&self) -> Result<i64> {
        let last: Option<i64> =
            sqlx::query_scalar("SELECT max(seq) FROM events").fetch_one(&self.reader).await?;
        Ok(last.unwrap_or(0))
    }

    async fn note(&self, event: NewEvent) -> Result<()> {
        let mut tx = self.write().await?;
        append(&mut tx, event).await?;
        Ok(tx.commit().await?)
    }

    async fn events_after(&self, seq: i64, count: usize) -> Result<Vec<Event>> {
        let rows: Vec<Row> = sqlx::query_as(events!("WHERE seq > $1 ORDER BY seq LIMIT $2"))
            .bind(seq)
            .bind(limit(count))
            .fetch_all(&self.reader)
            .await?;
        rows.into_iter().map(Event::try_from).collect()
    }
}
