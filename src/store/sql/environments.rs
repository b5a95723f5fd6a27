//! Pointers, their moves, and the answers that retries get.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::FromRow;

use super::{
    super::sql::{from_json, from_word, limit, parsed, parsed_opt, time, to_json},
    Connection, Database, events, notify,
};
use crate::{
    catalog::{CatalogVersion, EnvironmentPointer, Freeze, Move, MoveKind, event::NewEvent},
    json::Digest,
    name::{CatalogName, EnvironmentName},
    store::{Environments, Freezes, Idempotency, NewMove, NewRelease, PointerChanges, Result, StoreError},
};

/// Pointers with the digests of their versions and the holds that stand, by their columns.
macro_rules! pointers {
    ($where:literal) => {
        concat!(
            "SELECT p.environment, p.catalog, p.version, v.digest, p.generation, p.moved_by, p.moved_at, (
                 SELECT h.version FROM holds h
                 WHERE h.environment = p.environment AND h.catalog = p.catalog
                 ORDER BY h.generation DESC LIMIT 1
             ) AS hold
             FROM pointers p
             JOIN versions v ON v.catalog = p.catalog AND v.version = p.version ",
            $where
        )
    };
}

#[derive(FromRow)]
struct PointerRow {
    environment: String,
    catalog: String,
    version: String,
    digest: String,
    generation: i64,
    hold: Option<String>,
    moved_by: String,
    moved_at: String,
}

impl TryFrom<PointerRow> for EnvironmentPointer {
    type Error = StoreError;
    fn try_from(row: PointerRow) -> Result<Self> {
        Ok(Self {
            environment: parsed("environment name", &row.environment)?,
            catalog: parsed("catalog name", &row.catalog)?,
            version: parsed("catalogVersion", &row.version)?,
            digest: parsed("version digest", &row.digest)?,
            generation: row.generation,
            hold: parsed_opt("catalogVersion", row.hold.as_deref())?,
            moved_by: row.moved_by,
            moved_at: parsed("move time", &row.moved_at)?,
        })
    }
}

/// Moves, by their columns.
macro_rules! moves {
    ($where:literal) => {
        concat!(
            "SELECT m.environment, m.catalog, m.generation, m.kind, m.from_version, m.to_version, m.reason, m.actor, m.at,
                 m.grounds
             FROM moves m ",
            $where
        )
    };
}

#[derive(FromRow)]
struct MoveRow {
    environment: String,
    catalog: String,
    generation: i64,
    kind: String,
    from_version: Option<String>,
    to_version: String,
    reason: String,
    actor: String,
    at: String,
    grounds: String,
}

impl TryFrom<MoveRow> for Move {
    type Error = StoreError;
    fn try_from(row: MoveRow) -> Result<Self> {
        Ok(Self {
            environment: parsed("environment name", &row.environment)?,
            catalog: parsed("catalog name", &row.catalog)?,
            generation: row.generation,
            kind: from_word("kind of move", &row.kind)?,
            from: parsed_opt("catalogVersion", row.from_version.as_deref())?,
            to: parsed("catalogVersion", &row.to_version)?,
            reason: row.reason,
            actor: row.actor,
            at: parsed("move time", &row.at)?,
            grounds: from_json("grounds of a move", &row.grounds)?,
        })
    }
}

#[async_trait]
impl Environments for Database {
    async fn pointers(&self) -> Result<Vec<EnvironmentPointer>> {
        let rows: Vec<PointerRow> =
            sqlx::query_as(pointers!("ORDER BY p.environment, p.catalog")).fetch_all(&self.reader).await?;
        rows.into_iter().map(EnvironmentPointer::try_from).collect()
    }

    async fn pointer(
        &self,
        environment: &EnvironmentName,
        catalog: &CatalogName,
    ) -> Result<Option<EnvironmentPointer>> {
        let mut db = self.reader.acquire().await?;
        pointer(&mut db, environment, catalog).await
    }

    async fn moves(
        &self,
        environment: &EnvironmentName,
        catalog: Option<&CatalogName>,
        behind: Option<(DateTime<Utc>, &CatalogName, i64)>,
        count: usize,
    ) -> Result<Vec<Move>> {
        // `at <= $2` says nothing new; it is what an index can begin at. Two statements, so that each has an index to read
        // in its order.
        let statement = match catalog {
            None => {
                moves!(
                    "WHERE environment = $1 AND at <= $2
                     AND (at < $2 OR catalog > $3 OR (catalog = $3 AND generation < $4))
                 ORDER BY at DESC, catalog, generation DESC LIMIT $5"
                )
            }
            Some(_) => {
                moves!(
                    "WHERE environment = $1 AND catalog = $6 AND at <= $2
                     AND (at < $2 OR catalog > $3 OR (catalog = $3 AND generation < $4))
                 ORDER BY at DESC, generation DESC LIMIT $5"
                )
            }
        };
        // Behind every time that is written in digits, and so are all.
        let (at, behind, generation) = match behind {
            Some((at, catalog, generation)) => (time(at), catalog.as_str(), generation),
            None => ("~".to_owned(), "", 0),
        };
        let mut query = sqlx::query_as(statement)
            .bind(environment.as_str())
            .bind(at)
            .bind(behind)
            .bind(generation)
            .bind(limit(count));
        if let Some(catalog) = catalog {
            query = query.bind(catalog.as_str());
        }
        let rows: Vec<MoveRow> = query.fetch_all(&self.reader).await?;
        rows.into_iter().map(Move::try_from).collect()
    }

    async fn was_live(
        &self,
        environment: &EnvironmentName,
        catalog: &CatalogName,
        version: CatalogVersion,
    ) -> Result<bool> {
        let found: Option<i64> = sqlx::query_scalar(
            "SELECT generation FROM moves WHERE catalog = $1 AND to_version = $2 AND environment = $3 LIMIT 1",
        )
        .bind(catalog.as_str())
        .bind(version.to_string())
        .bind(environment.as_str())
        .fetch_optional(&self.reader)
        .await?;
        Ok(found.is_some())
    }

    async fn ever_live(
        &self,
        catalog: &CatalogName,
        environment: Option<&EnvironmentName>,
    ) -> Result<Vec<CatalogVersion>> {
        let versions: Vec<String> = sqlx::query_scalar(
            "SELECT v.version FROM versions v WHERE v.catalog = $1 AND EXISTS (
                 SELECT 1 FROM moves m WHERE m.catalog = v.catalog AND m.to_version = v.version
                     AND m.environment = coalesce($2, m.environment)
             ) ORDER BY v.ordinal",
        )
        .bind(catalog.as_str())
        .bind(environment.map(EnvironmentName::as_str))
        .fetch_all(&self.reader)
        .await?;
        versions.iter().map(|v| parsed("catalogVersion", v)).collect()
    }

    async fn answered(&self, key: &str) -> Result<Option<(Digest, Move)>> {
        let mut db = self.reader.acquire().await?;
        answered(&mut db, key).await
    }

    async fn move_pointer(&self, new: NewMove, event: NewEvent) -> Result<Move> {
        let NewMove { basis, order, key } = new;
        let mut tx = self.write().await?;
        if let Some(key) = &key
            && let Some((request, answer)) = answered(&mut tx, &key.key).await?
        {
            return if request == key.request { Ok(answer) } else { Err(StoreError::KeyReused) };
        }
        // First, for a pointer that has moved is told better than that something has changed.
        let current = pointer(&mut tx, &order.environment, &order.catalog).await?;
        if current.as_ref().map_or(0, |p| p.generation) != order.generation - 1 {
            return Err(StoreError::Moved(current.map(Box::new)));
        }
        events::stands(&mut tx, &basis).await?;
        if !set_pointer(&mut tx, &order).await? {
            let current = pointer(&mut tx, &order.environment, &order.catalog).await?;
            return Err(StoreError::Moved(current.map(Box::new)));
        }
        sqlx::query(
            "INSERT INTO moves
                 (environment, catalog, generation, kind, from_version, to_version, reason, actor, at, grounds)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        )
        .bind(order.environment.as_str())
        .bind(order.catalog.as_str())
        .bind(order.generation)
        .bind(order.kind.as_str())
        .bind(order.from.map(|v| v.to_string()))
        .bind(order.to.to_string())
        .bind(&order.reason)
        .bind(&order.actor)
        .bind(time(order.at))
        .bind(to_json("grounds of a move", &order.grounds)?)
        .execute(&mut *tx)
        .await?;
        if let (MoveKind::Rollback, Some(left)) = (order.kind, order.from) {
            sqlx::query(
                "INSERT INTO holds (environment, catalog, version, generation) VALUES ($1, $2, $3, $4)",
            )
            .bind(order.environment.as_str())
            .bind(order.catalog.as_str())
            .bind(left.to_string())
            .bind(order.generation)
            .execute(&mut *tx)
            .await?;
        }
        if let Some(key) = &key {
            put_key(&mut tx, key, &order.environment, &order.catalog, order.generation).await?;
        }
        events::append(&mut tx, event).await?;
        notify(&mut tx, &order).await?;
        tx.commit().await?;
        self.moved(&order);
        Ok(order)
    }

    async fn changes(&self) -> Result<PointerChanges> {
        self.listen().await
    }

    async fn holds(
        &self,
        environment: &EnvironmentName,
        catalog: &CatalogName,
    ) -> Result<Vec<CatalogVersion>> {
        let held: Vec<String> = sqlx::query_scalar(
            "SELECT version FROM holds WHERE environment = $1 AND catalog = $2 ORDER BY generation DESC",
        )
        .bind(environment.as_str())
        .bind(catalog.as_str())
        .fetch_all(&self.reader)
        .await?;
        held.iter().map(|v| parsed("catalogVersion", v)).collect()
    }

    async fn release_hold(&self, new: NewRelease, event: NewEvent) -> Result<()> {
        let NewRelease { environment, catalog, generation, held, key } = new;
        let mut tx = self.write().await?;
        if let Some(key) = &key
            && let Some((request, _)) = answered(&mut tx, &key.key).await?
        {
            return if request == key.request { Ok(()) } else { Err(StoreError::KeyReused) };
        }
        let done = sqlx::query(
            "DELETE FROM holds WHERE environment = $1 AND catalog = $2 AND version = $3 AND EXISTS (
                 SELECT 1 FROM pointers p
                 WHERE p.environment = $1 AND p.catalog = $2 AND p.generation = $4
             )",
        )
        .bind(environment.as_str())
        .bind(catalog.as_str())
        .bind(held.to_string())
        .bind(generation)
        .execute(&mut *tx)
        .await?;
        if done.rows_affected() == 0 {
            let current = pointer(&mut tx, &environment, &catalog).await?;
            return Err(StoreError::Moved(current.map(Box::new)));
        }
        if let Some(key) = &key {
            put_key(&mut tx, key, &environment, &catalog, generation).await?;
        }
        events::append(&mut tx, event).await?;
        Ok(tx.commit().await?)
    }
}

#[derive(FromRow)]
struct FreezeRow {
    environment: String,
    catalog: String,
    reason: String,
    actor: String,
    at: String,
}

impl TryFrom<FreezeRow> for Freeze {
    type Error = StoreError;
    fn try_from(row: FreezeRow) -> Result<Self> {
        let catalog = Some(row.catalog.as_str()).filter(|name| !name.is_empty());
        Ok(Self {
            environment: parsed("environment name", &row.environment)?,
            catalog: parsed_opt("catalog name", catalog)?,
            reason: row.reason,
            actor: row.actor,
            at: parsed("freeze time", &row.at)?,
        })
    }
}

#[async_trait]
impl Freezes for Database {
    async fn freezes(&self) -> Result<Vec<Freeze>> {
        let rows: Vec<FreezeRow> = sqlx::query_as(
            "SELECT environment, catalog, reason, actor, at FROM freezes ORDER BY environment, catalog",
        )
        .fetch_all(&self.reader)
        .await?;
        rows.into_iter().map(Freeze::try_from).collect()
    }

    async fn freeze(&self, freeze: &Freeze, event: NewEvent) -> Result<bool> {
        let mut tx = self.write().await?;
        let done = sqlx::query(
            "INSERT INTO freezes (environment, catalog, reason, actor, at) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (environment, catalog) DO NOTHING",
        )
        .bind(freeze.environment.as_str())
        .bind(freeze.catalog.as_ref().map_or("", CatalogName::as_str))
        .bind(&freeze.reason)
        .bind(&freeze.actor)
        .bind(time(freeze.at))
        .execute(&mut *tx)
        .await?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
        events::append(&mut tx, event).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn unfreeze(
        &self,
        environment: &EnvironmentName,
        catalog: Option<&CatalogName>,
        event: NewEvent,
    ) -> Result<bool> {
        let mut tx = self.write().await?;
        let done = sqlx::query("DELETE FROM freezes WHERE environment = $1 AND catalog = $2")
            .bind(environment.as_str())
            .bind(catalog.map_or("", CatalogName::as_str))
            .execute(&mut *tx)
            .await?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
        events::append(&mut tx, event).await?;
        tx.commit().await?;
        Ok(true)
    }
}

/// The compare-and-set: whether the pointer stood at the generation before `order`, and stands at `order` now.
async fn set_pointer(db: &mut Connection, order: &Move) -> Result<bool> {
    let statement = if order.generation == 1 {
        "INSERT INTO pointers (environment, catalog, version, generation, moved_by, moved_at)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (environment, catalog) DO NOTHING"
    } else {
        "UPDATE pointers SET version = $3, generation = $4, moved_by = $5, moved_at = $6
         WHERE environment = $1 AND catalog = $2 AND generation = $4 - 1"
    };
    let done = sqlx::query(statement)
        .bind(order.environment.as_str())
        .bind(order.catalog.as_str())
        .bind(order.to.to_string())
        .bind(order.generation)
        .bind(&order.actor)
        .bind(time(order.at))
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}

async fn pointer(
    db: &mut Connection,
    environment: &EnvironmentName,
    catalog: &CatalogName,
) -> Result<Option<EnvironmentPointer>> {
    let row: Option<PointerRow> = sqlx::query_as(pointers!("WHERE p.environment = $1 AND p.catalog = $2"))
        .bind(environment.as_str())
        .bind(catalog.as_str())
        .fetch_optional(db)
        .await?;
    row.map(EnvironmentPointer::try_from).transpose()
}

/// Keeps a key with a move that is there.
async fn put_key(
    db: &mut Connection,
    key: &Idempotency,
    environment: &EnvironmentName,
    catalog: &CatalogName,
    generation: i64,
) -> Result<()> {
    sqlx::query(
        "INSERT INTO idempotency_keys (key, request, environment, catalog, generation)
         VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(&key.key)
    .bind(key.request.as_str())
    .bind(environment.as_str())
    .bind(catalog.as_str())
    .bind(generation)
    .execute(db)
    .await?;
    Ok(())
}

async fn answered(db: &mut Connection, key: &str) -> Result<Option<(Digest, Move)>> {
    let request: Option<String> = sqlx::query_scalar("SELECT request FROM idempotency_keys WHERE key = $1")
        .bind(key)
        .fetch_optional(&mut *db)
        .await?;
    let Some(request) = request else { return Ok(None) };
    let row: MoveRow = sqlx::query_as(moves!(
        "JOIN idempotency_keys k
             ON k.environment = m.environment AND k.catalog = m.catalog AND k.generation = m.generation
         WHERE k.key = $1"
    ))
    .bind(key)
    .fetch_one(db)
    .await?;
    Ok(Some((parsed("request digest", &request)?, row.try_into()?)))
}
