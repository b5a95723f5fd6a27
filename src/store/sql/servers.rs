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

/// A server of a page, without its listings.
#[derive(FromRow)]
struct Known {
    name: String,
    spec: Option<String>,
    asked: Option<String>,
}

/// A listing of a server of a page: the newest of a context, or the newest good one that catalogs rely on, or both.
#[derive(FromRow)]
struct Head {
    last: i64,
    #[sqlx(flatten)]
    listing: snapshots::Row,
}

/// What is selected of a page of servers whose names this selects as `name`: the servers, and their listings.
macro_rules! page {
    ($names:literal) => {
        (
            concat!(
                "WITH page AS (",
                $names,
                ") SELECT page.name, s.spec, p.asked FROM page
                 LEFT JOIN servers s ON s.name = page.name LEFT JOIN polls p ON p.server = page.name"
            ),
            // The good one is mostly the newest: both are read as one. `CROSS JOIN` is what SQLite keeps the order of: it would
            // read the listings of all servers to find those of a page.
            concat!(
                "WITH page AS (",
                $names,
                ") SELECT h.last, l.id, l.server, l.at, l.outcome, l.snapshot, s.tools, l.provenance, l.evidence,
                     l.surfaces, l.is_primary
                 FROM page CROSS JOIN heads h CROSS JOIN listings l
                 LEFT JOIN snapshots s ON s.server = l.server AND s.digest = l.snapshot
                 WHERE h.server = page.name AND l.id IN (h.last, h.last_relied)
                 ORDER BY h.server, h.context"
            ),
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
        let (servers, listings) = match outcome {
            None => page!(
                "SELECT name FROM (
                     SELECT server AS name FROM (
                         SELECT DISTINCT server FROM heads WHERE server > $1 ORDER BY server LIMIT $2
                     ) listed
                     UNION
                     SELECT name FROM (
                         SELECT name FROM servers WHERE name > $1 ORDER BY name LIMIT $2
                     ) registered
                 ) known ORDER BY name LIMIT $2"
            ),
            // The newest is that of the first context that catalogs rely on.
            Some(_) => page!(
                "SELECT h.server AS name FROM heads h
                 WHERE h.relied_outcome = $3 AND h.server > $1 AND NOT EXISTS (
                     SELECT 1 FROM heads f
                     WHERE f.server = h.server AND f.context < h.context AND f.relied_outcome IS NOT NULL
                 ) ORDER BY h.server LIMIT $2"
            ),
        };
        // No name is empty.
        let (after, count) = (after.map_or("", ServerName::as_str), limit(count));
        let (mut servers, mut listings) = (
            sqlx::query_as(servers).bind(after).bind(count),
            sqlx::query_as(listings).bind(after).bind(count),
        );
        if let Some(outcome) = outcome {
            servers = servers.bind(outcome.as_str());
            listings = listings.bind(outcome.as_str());
        }
        let servers: Vec<Known> = servers.fetch_all(&self.reader).await?;
        let listings: Vec<Head> = listings.fetch_all(&self.reader).await?;
        let mut rows = BTreeMap::new();
        for Known { name, spec, asked } in servers {
            let name: ServerName = parsed("server name", &name)?;
            let spec = spec.map(|spec| from_json("server", &spec)).transpose()?;
            let asked = parsed_opt("time of a poll", asked.as_deref())?;
            rows.insert(name.clone(), ServerRow { name, spec, asked, last: Vec::new(), last_ok: None });
        }
        for Head { last, listing } in listings {
            let listing = ListingRow::try_from(listing)?;
            let Some(row) = rows.get_mut(&listing.server) else { continue };
            let good = listing.digest.is_some() && listing.primary;
            if good && row.last_ok.as_ref().is_none_or(|other| other.id < listing.id) {
                row.last_ok = Some(listing.clone());
            }
            if listing.id == last {
                row.last.push(listing);
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
