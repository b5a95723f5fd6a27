//! Registered servers.

use async_trait::async_trait;
use sqlx::FromRow;

use super::{
    super::sql::{from_json, parsed, time, to_json},
    Database, events,
};
use crate::{
    catalog::event::NewEvent,
    name::ServerName,
    store::{Registration, Result, Servers, StoreError},
};

#[derive(FromRow)]
struct Row {
    spec: String,
    registered_by: String,
    registered_at: String,
}

impl TryFrom<Row> for Registration {
    type Error = StoreError;
    fn try_from(row: Row) -> Result<Self> {
        Ok(Self {
            spec: from_json("server", &row.spec)?,
            registered_by: row.registered_by,
            registered_at: parsed("time of a registration", &row.registered_at)?,
        })
    }
}

#[async_trait]
impl Servers for Database {
    async fn registrations(&self) -> Result<Vec<Registration>> {
        let rows: Vec<Row> =
            sqlx::query_as("SELECT spec, registered_by, registered_at FROM servers ORDER BY name")
                .fetch_all(&self.reader)
                .await?;
        rows.into_iter().map(Registration::try_from).collect()
    }

    async fn registration(&self, server: &ServerName) -> Result<Option<Registration>> {
        let row: Option<Row> =
            sqlx::query_as("SELECT spec, registered_by, registered_at FROM servers WHERE name = $1")
                .bind(server.as_str())
                .fetch_optional(&self.reader)
                .await?;
        row.map(Registration::try_from).transpose()
    }

    async fn register(&self, servers: &[Registration], new: Vec<NewEvent>) -> Result<()> {
        let mut tx = self.write().await?;
        for Registration { spec, registered_by, registered_at } in servers {
            sqlx::query(
                "INSERT INTO servers (name, spec, registered_by, registered_at) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (name) DO UPDATE SET spec = excluded.spec,
                     registered_by = excluded.registered_by, registered_at = excluded.registered_at",
            )
            .bind(spec.name.as_str())
            .bind(to_json("server", spec)?)
            .bind(registered_by)
            .bind(time(*registered_at))
            .execute(&mut *tx)
            .await?;
        }
        for Registration { spec, registered_at, .. } in servers {
            // Whoever asks it as it was registered before does so no longer.
            sqlx::query(
                "UPDATE polls SET due = $2, failures = 0, holder = NULL, held_until = NULL WHERE server = $1",
            )
            .bind(spec.name.as_str())
            .bind(time(*registered_at))
            .execute(&mut *tx)
            .await?;
        }
        for event in new {
            events::append(&mut tx, event).await?;
        }
        Ok(tx.commit().await?)
    }

    async fn unregister(&self, server: &ServerName, event: NewEvent) -> Result<bool> {
        let mut tx = self.write().await?;
        let gone = sqlx::query("DELETE FROM servers WHERE name = $1")
            .bind(server.as_str())
            .execute(&mut *tx)
            .await?
            .rows_affected();
        if gone == 0 {
            return Ok(false);
        }
        events::append(&mut tx, event).await?;
        tx.commit().await?;
        Ok(true)
    }
}
