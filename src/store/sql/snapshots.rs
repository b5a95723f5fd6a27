//! Listings, snapshots, surfaces, and the texts of what stands in them.

use std::{collections::HashMap, sync::LazyLock};

use async_trait::async_trait;
use serde_json::value::RawValue;
use sqlx::FromRow;

use super::{
    super::sql::{from_json, from_word, limit, parsed, parsed_opt, time, to_json},
    Connection, Database, events, stored, unstored,
};
use crate::{
    catalog::event::NewEvent,
    contract::{self, Contract},
    json::Digest,
    name::ServerName,
    snapshot::{Outcome, Provenance, RawItem, Snapshot, SurfaceKind, SurfaceListing},
    store::{ListingRow, NewListing, Result, Snapshots, StoreError, SurfaceRow},
};

/// A listing, as it is selected.
#[derive(FromRow)]
pub(super) struct Row {
    id: i64,
    server: String,
    at: String,
    outcome: String,
    snapshot: Option<String>,
    tools: Option<i64>,
    provenance: String,
    evidence: String,
    surfaces: String,
    is_primary: bool,
}

impl TryFrom<Row> for ListingRow {
    type Error = StoreError;
    fn try_from(row: Row) -> Result<Self> {
        Ok(Self {
            id: row.id,
            server: parsed("server name", &row.server)?,
            at: parsed("listing time", &row.at)?,
            outcome: from_word("outcome", &row.outcome)?,
            digest: parsed_opt("snapshot digest", row.snapshot.as_deref())?,
            tools: row.tools.and_then(|n| usize::try_from(n).ok()),
            provenance: from_json("provenance", &row.provenance)?,
            evidence: from_json("evidence", &row.evidence)?,
            surfaces: from_json("surfaces", &row.surfaces)?,
            primary: row.is_primary,
        })
    }
}

#[async_trait]
impl Snapshots for Database {
    async fn record_listing(&self, listing: NewListing, event: NewEvent) -> Result<ListingRow> {
        let mut tx = self.write().await?;
        let mut held = None;
        if let Some((snapshot, contracts)) = &listing.snapshot {
            put_snapshot(&mut tx, snapshot, contracts).await?;
            held = Some((snapshot.digest.clone(), snapshot.tools.len()));
        }
        for surface in &listing.surfaces {
            put_surface(&mut tx, &listing.server, surface).await?;
        }
        let surfaces: Vec<SurfaceRow> = listing.surfaces.iter().map(SurfaceRow::from).collect();
        let id: i64 = sqlx::query_scalar(
            "INSERT INTO listings
                 (server, at, outcome, snapshot, provenance, evidence, surfaces, context, is_primary)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
        )
        .bind(listing.server.as_str())
        .bind(time(listing.at))
        .bind(listing.outcome.as_str())
        .bind(held.as_ref().map(|(digest, _)| digest.as_str()))
        .bind(to_json("provenance", &listing.provenance)?)
        .bind(to_json("evidence", &listing.evidence)?)
        .bind(to_json("surfaces", &surfaces)?)
        .bind(&listing.provenance.auth_context)
        .bind(listing.primary)
        .fetch_one(&mut *tx)
        .await?;
        events::append(&mut tx, event.with("listing", id)).await?;
        tx.commit().await?;
        let (digest, tools) = held.unzip();
        let NewListing { server, at, outcome, provenance, evidence, primary, .. } = listing;
        Ok(ListingRow { id, server, at, outcome, digest, tools, provenance, evidence, surfaces, primary })
    }

    async fn servers(&self) -> Result<Vec<ServerName>> {
        let names: Vec<String> = sqlx::query_scalar("SELECT DISTINCT server FROM heads ORDER BY server")
            .fetch_all(&self.reader)
            .await?;
        names.iter().map(|n| parsed("server name", n)).collect()
    }

    async fn listings(&self, server: &ServerName, count: usize) -> Result<Vec<ListingRow>> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT l.id, l.server, l.at, l.outcome, l.snapshot, s.tools, l.provenance, l.evidence, l.surfaces,
                 l.is_primary
             FROM listings l LEFT JOIN snapshots s ON s.server = l.server AND s.digest = l.snapshot
             WHERE l.server = $1 ORDER BY l.id DESC LIMIT $2",
        )
        .bind(server.as_str())
        .bind(limit(count))
        .fetch_all(&self.reader)
        .await?;
        rows.into_iter().map(ListingRow::try_from).collect()
    }

    async fn listings_before(
        &self,
        server: &ServerName,
        outcome: Option<Outcome>,
        before: Option<i64>,
        count: usize,
    ) -> Result<Vec<ListingRow>> {
        // Two statements, so that each is read in the order of an index.
        let statement = match outcome {
            None => {
                "SELECT l.id, l.server, l.at, l.outcome, l.snapshot, s.tools, l.provenance, l.evidence, l.surfaces,
                     l.is_primary
                 FROM listings l LEFT JOIN snapshots s ON s.server = l.server AND s.digest = l.snapshot
                 WHERE l.server = $1 AND l.id < $2 ORDER BY l.id DESC LIMIT $3"
            }
            Some(_) => {
                "SELECT l.id, l.server, l.at, l.outcome, l.snapshot, s.tools, l.provenance, l.evidence, l.surfaces,
                     l.is_primary
                 FROM listings l LEFT JOIN snapshots s ON s.server = l.server AND s.digest = l.snapshot
                 WHERE l.server = $1 AND l.id < $2 AND l.outcome = $4 ORDER BY l.id DESC LIMIT $3"
            }
        };
        let mut query = sqlx::query_as(statement)
            .bind(server.as_str())
            .bind(before.unwrap_or(i64::MAX))
            .bind(limit(count));
        if let Some(outcome) = outcome {
            query = query.bind(outcome.as_str());
        }
        let rows: Vec<Row> = query.fetch_all(&self.reader).await?;
        rows.into_iter().map(ListingRow::try_from).collect()
    }

    async fn last_ok(&self, server: &ServerName) -> Result<Option<ListingRow>> {
        let row: Option<Row> = sqlx::query_as(
            "SELECT l.id, l.server, l.at, l.outcome, l.snapshot, s.tools, l.provenance, l.evidence, l.surfaces,
                 l.is_primary
             FROM listings l JOIN snapshots s ON s.server = l.server AND s.digest = l.snapshot
             WHERE l.id = (SELECT max(last_relied) FROM heads WHERE server = $1)",
        )
        .bind(server.as_str())
        .fetch_optional(&self.reader)
        .await?;
        row.map(ListingRow::try_from).transpose()
    }

    async fn last_by_context(&self, server: &ServerName, ok: bool) -> Result<Vec<ListingRow>> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT l.id, l.server, l.at, l.outcome, l.snapshot, s.tools, l.provenance, l.evidence, l.surfaces,
                 l.is_primary
             FROM heads h JOIN listings l ON l.id = CASE WHEN $2 THEN h.last_ok ELSE h.last END
             LEFT JOIN snapshots s ON s.server = l.server AND s.digest = l.snapshot
             WHERE h.server = $1 ORDER BY h.context",
        )
        .bind(server.as_str())
        .bind(ok)
        .fetch_all(&self.reader)
        .await?;
        rows.into_iter().map(ListingRow::try_from).collect()
    }

    async fn tool_digests(&self, server: &ServerName, snapshot: &Digest) -> Result<Vec<(String, Digest)>> {
        let rows: Vec<(String, String)> = sqlx::query_as(
            "SELECT k.tool, k.raw FROM snapshot_tools t
             JOIN contracts k ON k.content = t.content AND k.policy = $3
             WHERE t.server = $1 AND t.snapshot = $2 ORDER BY t.position",
        )
        .bind(server.as_str())
        .bind(snapshot.as_str())
        .bind(contract::POLICY)
        .fetch_all(&self.reader)
        .await?;
        rows.into_iter().map(|(tool, raw)| Ok((unstored(tool), parsed("digest of a tool", &raw)?))).collect()
    }

    async fn snapshot(&self, server: &ServerName, digest: &Digest) -> Result<Option<Snapshot>> {
        let provenance: Option<String> = sqlx::query_scalar(
            "SELECT provenance FROM listings WHERE server = $1 AND snapshot = $2 ORDER BY id DESC LIMIT 1",
        )
        .bind(server.as_str())
        .bind(digest.as_str())
        .fetch_optional(&self.reader)
        .await?;
        let Some(provenance) = provenance else { return Ok(None) };
        let texts: Vec<String> = sqlx::query_scalar(
            "SELECT c.body FROM snapshot_tools t JOIN content c ON c.digest = t.content
             WHERE t.server = $1 AND t.snapshot = $2 ORDER BY t.position",
        )
        .bind(server.as_str())
        .bind(digest.as_str())
        .fetch_all(&self.reader)
        .await?;
        let (server, provenance) = (server.clone(), from_json("provenance", &provenance)?);
        // Digesting a long list is computing, which has threads of its own.
        let made = tokio::task::spawn_blocking(move || made(server, provenance, texts));
        let snapshot = made.await.map_err(|e| StoreError::Database(Box::new(e)))??;
        if &snapshot.digest != digest {
            let cause = format!("its tools make {}", snapshot.digest);
            return Err(StoreError::Corrupt { what: "snapshot", cause });
        }
        Ok(Some(snapshot))
    }

    async fn surfaces(&self, server: &ServerName, snapshot: &Digest) -> Result<Vec<SurfaceRow>> {
        let text: Option<String> = sqlx::query_scalar(
            "SELECT surfaces FROM listings WHERE server = $1 AND snapshot = $2 ORDER BY id DESC LIMIT 1",
        )
        .bind(server.as_str())
        .bind(snapshot.as_str())
        .fetch_optional(&self.reader)
        .await?;
        text.map_or(Ok(Vec::new()), |text| from_json("surfaces", &text))
    }

    async fn surface_items(
        &self,
        server: &ServerName,
        kind: SurfaceKind,
        digest: &Digest,
    ) -> Result<Vec<RawItem>> {
        let texts: Vec<String> = sqlx::query_scalar(
            "SELECT c.body FROM surface_items i JOIN content c ON c.digest = i.content
             WHERE i.server = $1 AND i.kind = $2 AND i.surface = $3 ORDER BY i.position",
        )
        .bind(server.as_str())
        .bind(kind.as_str())
        .bind(digest.as_str())
        .fetch_all(&self.reader)
        .await?;
        items("item", texts)
    }

    async fn snapshots_like(&self, server: &ServerName, hex: &str) -> Result<Vec<Digest>> {
        let digests: Vec<String> = sqlx::query_scalar(
            "SELECT digest FROM snapshots WHERE server = $1 AND substr(digest, 8, CAST($2 AS INTEGER)) = $3 ORDER BY digest",
        )
        .bind(server.as_str())
        .bind(limit(hex.len()))
        .bind(hex)
        .fetch_all(&self.reader)
        .await?;
        digests.iter().map(|d| parsed("snapshot digest", d)).collect()
    }

    async fn tool_texts(&self, raws: &[&Digest]) -> Result<HashMap<Digest, String>> {
        let mut texts = HashMap::with_capacity(raws.len());
        for batch in raws.chunks(BATCH) {
            let mut query = sqlx::query_as(sqlx::AssertSqlSafe(BY_RAW.as_str()));
            // One statement for every length: what is missing of a batch is its last digest again.
            for place in 0..BATCH {
                query = query.bind(batch[place.min(batch.len() - 1)].as_str());
            }
            let rows: Vec<(String, String)> = query.fetch_all(&self.reader).await?;
            for (raw, text) in rows {
                texts.insert(parsed("digest", &raw)?, text);
            }
        }
        Ok(texts)
    }
}

/// Tools of which the texts are read at once.
const BATCH: usize = 100;

/// Their texts; one of those that a tool has which was written in several ways.
static BY_RAW: LazyLock<String> = LazyLock::new(|| {
    let places: Vec<String> = (1..=BATCH).map(|place| format!("${place}")).collect();
    format!(
        "SELECT k.raw, c.body
         FROM (SELECT raw, min(content) AS content FROM contracts WHERE raw IN ({}) GROUP BY raw) k
         JOIN content c ON c.digest = k.content",
        places.join(", ")
    )
});

/// A snapshot from the texts of its tools.
fn made(server: ServerName, provenance: Provenance, texts: Vec<String>) -> Result<Snapshot> {
    Ok(Snapshot::new(server, provenance, items("tool", texts)?))
}

/// The items of a list from their texts.
fn items(what: &'static str, texts: Vec<String>) -> Result<Vec<RawItem>> {
    let items = texts.into_iter().enumerate().map(|(index, text)| {
        let raw =
            RawValue::from_string(text).map_err(|e| StoreError::Corrupt { what, cause: e.to_string() })?;
        Ok(RawItem { index, raw: raw.into() })
    });
    items.collect()
}

/// The digest of a server's newest snapshot, as this transaction sees it.
pub(super) async fn newest(db: &mut Connection, server: &ServerName) -> Result<Option<Digest>> {
    let text: Option<String> = sqlx::query_scalar(
        "SELECT snapshot FROM listings WHERE id = (SELECT max(last_relied) FROM heads WHERE server = $1)",
    )
    .bind(server.as_str())
    .fetch_optional(db)
    .await?;
    parsed_opt("snapshot digest", text.as_deref())
}

/// Keeps a text once; answers the key it is kept under.
pub(super) async fn put_content(db: &mut Connection, body: &str) -> Result<Digest> {
    let digest = Digest::of_bytes(body.as_bytes());
    sqlx::query("INSERT INTO content (digest, body) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING")
        .bind(digest.as_str())
        .bind(body)
        .execute(db)
        .await?;
    Ok(digest)
}

/// Keeps a snapshot; one that is known already writes nothing.
async fn put_snapshot(db: &mut Connection, snapshot: &Snapshot, contracts: &[Contract]) -> Result<()> {
    let new = sqlx::query(
        "INSERT INTO snapshots (server, digest, tools) VALUES ($1, $2, $3) ON CONFLICT (server, digest) DO NOTHING",
    )
    .bind(snapshot.server.as_str())
    .bind(snapshot.digest.as_str())
    .bind(limit(snapshot.tools.len()))
    .execute(&mut *db)
    .await?;
    if new.rows_affected() == 0 {
        return Ok(());
    }
    for (tool, contract) in snapshot.tools.iter().zip(contracts) {
        let content = put_content(db, tool.raw.get()).await?;
        sqlx::query(
            "INSERT INTO snapshot_tools (server, snapshot, position, content) VALUES ($1, $2, $3, $4)",
        )
        .bind(snapshot.server.as_str())
        .bind(snapshot.digest.as_str())
        .bind(limit(tool.index))
        .bind(content.as_str())
        .execute(&mut *db)
        .await?;
        sqlx::query(
            "INSERT INTO contracts (content, policy, tool, raw, contract, presentation)
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (content, policy) DO NOTHING",
        )
        .bind(content.as_str())
        .bind(contract::POLICY)
        .bind(stored(&contract.name))
        .bind(contract.digests().raw.as_str())
        .bind(contract.digests().contract.as_str())
        .bind(contract.digests().presentation.as_str())
        .execute(&mut *db)
        .await?;
    }
    Ok(())
}

/// Keeps a surface that was read to its end; one that is known already writes nothing.
async fn put_surface(db: &mut Connection, server: &ServerName, surface: &SurfaceListing) -> Result<()> {
    let Some(digest) = &surface.digest else { return Ok(()) };
    let new = sqlx::query(
        "INSERT INTO surfaces (server, kind, digest, items) VALUES ($1, $2, $3, $4)
         ON CONFLICT (server, kind, digest) DO NOTHING",
    )
    .bind(server.as_str())
    .bind(surface.kind.as_str())
    .bind(digest.as_str())
    .bind(limit(surface.items.len()))
    .execute(&mut *db)
    .await?;
    if new.rows_affected() == 0 {
        return Ok(());
    }
    for item in &surface.items {
        let content = put_content(db, item.raw.get()).await?;
        sqlx::query(
            "INSERT INTO surface_items (server, kind, surface, position, content) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(server.as_str())
        .bind(surface.kind.as_str())
        .bind(digest.as_str())
        .bind(limit(item.index))
        .bind(content.as_str())
        .execute(&mut *db)
        .await?;
    }
    Ok(())
}
