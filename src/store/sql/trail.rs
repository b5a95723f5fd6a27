//! What the audit log is checked and passed on by.

use async_trait::async_trait;
use sqlx::{ColumnIndex, Decode, FromRow, Type};

use super::{
    super::sql::{from_json, limit, parsed},
    Database,
    events::{Row, events},
};
use crate::{
    catalog::Event,
    store::{Result, Signed, Trail, Unreadable},
};

/// A row, whatever stands in it.
struct Stored {
    seq: Option<i64>,
    row: std::result::Result<Row, String>,
}

impl<'r, R: sqlx::Row> FromRow<'r, R> for Stored
where
    Row: FromRow<'r, R>,
    for<'c> &'c str: ColumnIndex<R>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        Ok(Self { seq: row.try_get("seq").ok(), row: Row::from_row(row).map_err(|e| e.to_string()) })
    }
}

impl Stored {
    fn event(self) -> std::result::Result<Event, Unreadable> {
        let seq = self.seq;
        let unreadable = |cause: String| Unreadable { seq, cause };
        let row = self.row.map_err(unreadable)?;
        let event = Event::try_from(row.clone()).map_err(|e| unreadable(e.to_string()))?;
        // The digest is over what a row means; here it has to be written as it was, too.
        match Row::of(&event) {
            Ok(written) if written == row => Ok(event),
            Ok(_) => Err(unreadable("it is not written as it was".to_owned())),
            Err(e) => Err(unreadable(e.to_string())),
        }
    }
}

#[async_trait]
impl Trail for Database {
    async fn stored_events(
        &self,
        behind: Option<i64>,
        count: usize,
    ) -> Result<Vec<std::result::Result<Event, Unreadable>>> {
        let rows: Vec<Stored> = match behind {
            None => sqlx::query_as(events!("ORDER BY seq LIMIT $1")).bind(limit(count)),
            Some(seq) => {
                sqlx::query_as(events!("WHERE seq > $2 ORDER BY seq LIMIT $1")).bind(limit(count)).bind(seq)
            }
        }
        .fetch_all(&self.reader)
        .await?;
        Ok(rows.into_iter().map(Stored::event).collect())
    }

    async fn count_events(&self, until: i64) -> Result<i64> {
        let query = sqlx::query_scalar("SELECT count(*) FROM events WHERE seq <= $1").bind(until);
        Ok(query.fetch_one(&self.reader).await?)
    }

    async fn signatures(&self, name: &str) -> Result<Vec<Signed>> {
        let rows: Vec<(i64, String, String)> =
            sqlx::query_as("SELECT seq, key, envelope FROM signatures WHERE name = $1 ORDER BY seq, key")
                .bind(name)
                .fetch_all(&self.reader)
                .await?;
        let signed = |(seq, key, envelope): (i64, String, String)| {
            Ok(Signed {
                seq,
                key: parsed("id of a key", &key)?,
                envelope: from_json("signature", &envelope)?,
            })
        };
        rows.into_iter().map(signed).collect()
    }

    async fn cursor(&self, receiver: &str) -> Result<Option<i64>> {
        let query = sqlx::query_scalar("SELECT seq FROM audit_cursors WHERE receiver = $1").bind(receiver);
        Ok(query.fetch_optional(&self.reader).await?)
    }

    async fn set_cursor(&self, receiver: &str, seq: i64) -> Result<()> {
        let mut tx = self.write().await?;
        sqlx::query(
            "INSERT INTO audit_cursors (receiver, seq) VALUES ($1, $2)
             ON CONFLICT (receiver) DO UPDATE SET seq = excluded.seq WHERE excluded.seq > audit_cursors.seq",
        )
        .bind(receiver)
        .bind(seq)
        .execute(&mut *tx)
        .await?;
        Ok(tx.commit().await?)
    }
}
