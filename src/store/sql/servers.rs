//! Registered servers.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sqlx::FromRow;

use super::{
    super::sql::{from_json, limit, parsed, parsed_opt, time, to_json},
    Database, events, snapshots,
};
use crate::{
    catalog::event::NewEvent,
    name::ServerName,
    snapshot::Outcome,
    store::{ListingRow, Registration, Result, ServerRow, Servers, StoreError},
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

/// The listings that `heads` names by this column, of servers from the first to the last name, by server and context.
macro_rules! heads {
    ($column:literal) => {
        concat!(
            "SELECT l.id, l.server, l.at, l.outcome, l.snapshot, s.tools, l.provenance, l.evidence, l.surfaces,
                 l.is_primary
             FROM heads h JOIN listings l ON l.id = h.",
            $column,
            " LEFT JOIN snapshots s ON s.server = l.server AND s.digest = l.snapshot
             WHERE h.server BETWEEN $1 AND $2 ORDER BY h.server, h.context"
        )
    };
}

#[async_trait]
impl Servers for Database {
    async fn server_rows(
        &self,
        after: Option<&ServerName>,
        outcome: Option<Outcome>,
        count: usize,
    ) -> Result<Vec<ServerRow>> {
        let statement = match outcome {
            None => {
                "SELECT name FROM (
                     SELECT server AS name FROM (
                         SELECT DISTINCT server FROM heads WHERE server > $1 ORDER BY server LIMIT $2
                     ) listed
                     UNION
                     SELECT name FROM (
                         SELECT name FROM servers WHERE name > $1 ORDER BY name LIMIT $2
                     ) registered
                 ) known ORDER BY name LIMIT $2"
            }
            // The newest is that of the first context that catalogs rely on.
            Some(_) => {
                "SELECT h.server FROM heads h JOIN listings l ON l.id = h.last
                 WHERE h.server > $1 AND l.is_primary AND l.outcome = $3 AND NOT EXISTS (
                     SELECT 1 FROM heads f JOIN listings k ON k.id = f.last
                     WHERE f.server = h.server AND f.context < h.context AND k.is_primary
                 ) ORDER BY h.server LIMIT $2"
            }
        };
        // No name is empty.
        let mut query =
            sqlx::query_scalar(statement).bind(after.map_or("", ServerName::as_str)).bind(limit(count));
        if let Some(outcome) = outcome {
            query = query.bind(outcome.as_str());
        }
        let names: Vec<String> = query.fetch_all(&self.reader).await?;
        let (Some(first), Some(last)) = (names.first(), names.last()) else { return Ok(Vec::new()) };
        let range = |statement| sqlx::query_as(statement).bind(first).bind(last);
        let lasts: Vec<snapshots::Row> = range(heads!("last")).fetch_all(&self.reader).await?;
        let goods: Vec<snapshots::Row> = range(heads!("last_relied")).fetch_all(&self.reader).await?;
        let known: Vec<(String, String, Option<String>)> = sqlx::query_as(
            "SELECT s.name, s.spec, p.asked FROM servers s LEFT JOIN polls p ON p.server = s.name
             WHERE s.name BETWEEN $1 AND $2",
        )
        .bind(first)
        .bind(last)
        .fetch_all(&self.reader)
        .await?;
        let mut rows = BTreeMap::new();
        for name in names {
            let name: ServerName = parsed("server name", &name)?;
            let row =
                ServerRow { name: name.clone(), spec: None, asked: None, last: Vec::new(), last_ok: None };
            rows.insert(name, row);
        }
        for listing in lasts {
            let listing = ListingRow::try_from(listing)?;
            if let Some(row) = rows.get_mut(&listing.server) {
                row.last.push(listing);
            }
        }
        for listing in goods {
            let listing = ListingRow::try_from(listing)?;
            if let Some(row) = rows.get_mut(&listing.server)
                && row.last_ok.as_ref().is_none_or(|other| other.id < listing.id)
            {
                row.last_ok = Some(listing);
            }
        }
        for (name, spec, asked) in known {
            if let Some(row) = rows.get_mut(&parsed("server name", &name)?) {
                row.spec = Some(from_json("server", &spec)?);
                row.asked = parsed_opt("time of a poll", asked.as_deref())?;
            }
        }
        Ok(rows.into_values().collect())
    }

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
