//! What may be forgotten, and forgetting it.
//!
//! First everything is read without holding anybody up, then deleted in batches, each a transaction of its own that looks
//! once more whether what it deletes is held by nothing.

use std::collections::{BTreeMap, HashSet};

use async_trait::async_trait;
use futures_util::TryStreamExt as _;

use super::{
    super::sql::{from_json, limit, parsed, time},
    Connection, Database, events,
};
use crate::{
    catalog::{Content, event::NewEvent},
    json::Digest,
    name::ServerName,
    snapshot::SurfaceKind,
    store::{Forgettable, Keep, PruneBatch, Pruned, Result, Retention, StoreError, SurfaceRow},
};

#[async_trait]
impl Retention for Database {
    async fn forgettable(&self, keep: &Keep) -> Result<Forgettable> {
        let mut db = self.reader.acquire().await?;
        let (pins, raws) = pinned(&mut db).await?;
        let mut found = Forgettable::default();
        for name in listed_servers(&mut db).await? {
            let server: ServerName = parsed("server name", &name)?;
            let listings = old_listings(&mut db, &name, keep, pins.get(&server)).await?;
            if !listings.is_empty() {
                let doomed: HashSet<i64> = listings.iter().copied().collect();
                found.snapshots.extend(
                    old_snapshots(&mut db, &name, &doomed).await?.into_iter().map(|s| (server.clone(), s)),
                );
                found.surfaces.extend(
                    old_surfaces(&mut db, &name, &doomed)
                        .await?
                        .into_iter()
                        .map(|(kind, digest)| (server.clone(), kind, digest)),
                );
                found.listings.push((server, listings));
            }
        }
        found.texts = old_texts(&mut db, &found, &raws).await?;
        found.checks = old_checks(&mut db, keep).await?;
        Ok(found)
    }

    async fn prune(&self, batch: &PruneBatch, since: i64, event: NewEvent) -> Result<Pruned> {
        let mut tx = self.write().await?;
        // Whatever happened since may hold what nothing held, but for listings, which are looked at again, and checks, which hold
        // nothing but what they say themselves.
        let other: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM events
             WHERE seq > $1 AND kind NOT IN ('snapshot.recorded', 'store.pruned', 'check.registered')",
        )
        .bind(since)
        .fetch_one(&mut *tx)
        .await?;
        if other > 0 {
            return Err(StoreError::Shifted);
        }
        let mut done = Pruned::default();
        for id in &batch.listings {
            done.listings += run(&mut tx, "DELETE FROM listings WHERE id = $1", *id).await?;
        }
        for (server, digest) in &batch.snapshots {
            done.snapshots += delete_snapshot(&mut tx, server, digest).await?;
        }
        for (server, kind, digest) in &batch.surfaces {
            done.surfaces += delete_surface(&mut tx, server, *kind, digest).await?;
        }
        for digest in &batch.texts {
            done.texts += delete_text(&mut tx, digest).await?;
        }
        for id in &batch.checks {
            run(&mut tx, "DELETE FROM check_changes WHERE check_id = $1", *id).await?;
            done.checks += run(&mut tx, "DELETE FROM checks WHERE id = $1", *id).await?;
        }
        let event = event
            .with("listings", done.listings)
            .with("snapshots", done.snapshots)
            .with("surfaces", done.surfaces)
            .with("texts", done.texts)
            .with("checks", done.checks);
        if done != Pruned::default() {
            events::append(&mut tx, event).await?;
        }
        tx.commit().await?;
        Ok(done)
    }
}

/// The snapshots that versions and drafts pin, by server, and the raw digests of the tools that they hold.
async fn pinned(db: &mut Connection) -> Result<(BTreeMap<ServerName, HashSet<Digest>>, HashSet<Digest>)> {
    let (mut pins, mut raws) = (BTreeMap::<ServerName, HashSet<Digest>>::new(), HashSet::new());
    let mut bodies = sqlx::query_scalar(
        "SELECT c.body FROM content c WHERE c.digest IN (SELECT content FROM versions UNION SELECT content FROM drafts)",
    )
    .fetch(db);
    while let Some(body) = bodies.try_next().await? {
        let body: String = body;
        let content: Content = from_json("content of a version or draft", &body)?;
        for pin in content.servers {
            pins.entry(pin.server).or_default().insert(pin.snapshot);
        }
        raws.extend(content.members.into_iter().filter_map(|member| Some(member.digests?.raw)));
    }
    Ok((pins, raws))
}

/// Every server with a listing, by name.
async fn listed_servers(db: &mut Connection) -> Result<Vec<String>> {
    let servers = sqlx::query_scalar("SELECT DISTINCT server FROM heads ORDER BY server");
    Ok(servers.fetch_all(db).await?)
}

/// The listings of a server that no rule keeps, oldest first.
async fn old_listings(
    db: &mut Connection,
    server: &str,
    keep: &Keep,
    pins: Option<&HashSet<Digest>>,
) -> Result<Vec<i64>> {
    let heads: Vec<(String, i64, Option<i64>, Option<i64>)> =
        sqlx::query_as("SELECT context, last, last_ok, last_relied FROM heads WHERE server = $1")
            .bind(server)
            .fetch_all(&mut *db)
            .await?;
    let mut kept: HashSet<i64> =
        heads.iter().flat_map(|(_, last, ok, relied)| [Some(*last), *ok, *relied]).flatten().collect();
    // A pinned snapshot is told with what its newest listing says of the server.
    for digest in pins.into_iter().flatten() {
        let newest: Option<i64> =
            sqlx::query_scalar("SELECT max(id) FROM listings WHERE server = $1 AND snapshot = $2")
                .bind(server)
                .bind(digest.as_str())
                .fetch_one(&mut *db)
                .await?;
        kept.extend(newest);
    }
    let mut old = Vec::new();
    for (context, ..) in &heads {
        // The oldest of those that are kept for their number; where there are fewer, all are kept.
        let floor: Option<i64> = sqlx::query_scalar(
            "SELECT id FROM listings WHERE server = $1 AND context = $2 ORDER BY id DESC LIMIT 1 OFFSET $3",
        )
        .bind(server)
        .bind(context)
        .bind(limit(keep.newest.saturating_sub(1)))
        .fetch_optional(&mut *db)
        .await?;
        let Some(floor) = floor else { continue };
        let ids: Vec<i64> = sqlx::query_scalar(
            "SELECT id FROM listings WHERE server = $1 AND context = $2 AND id < $3 AND at < $4 ORDER BY id",
        )
        .bind(server)
        .bind(context)
        // Where none is kept for its number, the newest goes as well, unless it is kept as such.
        .bind(if keep.newest == 0 { i64::MAX } else { floor })
        .bind(time(keep.since))
        .fetch_all(&mut *db)
        .await?;
        old.extend(ids.into_iter().filter(|id| !kept.contains(id)));
    }
    old.sort_unstable();
    Ok(old)
}

/// The snapshots of a server that are in no listing when these are gone.
async fn old_snapshots(db: &mut Connection, server: &str, gone: &HashSet<i64>) -> Result<Vec<Digest>> {
    let (mut left, mut old) = (HashSet::new(), HashSet::new());
    let mut rows =
        sqlx::query_as("SELECT id, snapshot FROM listings WHERE server = $1 AND snapshot IS NOT NULL")
            .bind(server)
            .fetch(db);
    while let Some(row) = rows.try_next().await? {
        let (id, snapshot): (i64, String) = row;
        if gone.contains(&id) {
            old.insert(snapshot)
        } else {
            left.insert(snapshot)
        };
    }
    let mut old: Vec<Digest> =
        old.difference(&left).map(|digest| parsed("snapshot digest", digest)).collect::<Result<_>>()?;
    old.sort_unstable();
    Ok(old)
}

/// The surfaces of a server that are in no listing when these are gone.
async fn old_surfaces(
    db: &mut Connection,
    server: &str,
    gone: &HashSet<i64>,
) -> Result<Vec<(SurfaceKind, Digest)>> {
    let (mut left, mut old) = (HashSet::new(), HashSet::new());
    let mut rows = sqlx::query_as("SELECT id, surfaces FROM listings WHERE server = $1 AND surfaces <> '[]'")
        .bind(server)
        .fetch(db);
    while let Some(row) = rows.try_next().await? {
        let (id, surfaces): (i64, String) = row;
        if gone.contains(&id) {
            old.insert(surfaces)
        } else {
            left.insert(surfaces)
        };
    }
    let named = |texts: HashSet<String>| -> Result<HashSet<(&'static str, Digest, SurfaceKind)>> {
        let mut named = HashSet::new();
        for text in texts {
            let rows: Vec<SurfaceRow> = from_json("surfaces", &text)?;
            named.extend(rows.into_iter().filter_map(|row| Some((row.kind.as_str(), row.digest?, row.kind))));
        }
        Ok(named)
    };
    let (old, left) = (named(old)?, named(left)?);
    let mut old: Vec<_> =
        old.difference(&left).map(|(word, digest, kind)| (*word, digest.clone(), *kind)).collect();
    old.sort_unstable_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    Ok(old.into_iter().map(|(_, digest, kind)| (kind, digest)).collect())
}

/// The texts that nothing holds when these snapshots and surfaces are gone.
async fn old_texts(db: &mut Connection, gone: &Forgettable, raws: &HashSet<Digest>) -> Result<Vec<Digest>> {
    let snapshots: HashSet<(&str, &str)> =
        gone.snapshots.iter().map(|(server, digest)| (server.as_str(), digest.as_str())).collect();
    let surfaces: HashSet<(&str, &str, &str)> = gone
        .surfaces
        .iter()
        .map(|(server, kind, digest)| (server.as_str(), kind.as_str(), digest.as_str()))
        .collect();
    let mut held: HashSet<String> = HashSet::new();
    {
        let mut rows = sqlx::query_as("SELECT server, snapshot, content FROM snapshot_tools").fetch(&mut *db);
        while let Some(row) = rows.try_next().await? {
            let (server, snapshot, content): (String, String, String) = row;
            if !snapshots.contains(&(server.as_str(), snapshot.as_str())) {
                held.insert(content);
            }
        }
    }
    {
        let mut rows =
            sqlx::query_as("SELECT server, kind, surface, content FROM surface_items").fetch(&mut *db);
        while let Some(row) = rows.try_next().await? {
            let (server, kind, surface, content): (String, String, String, String) = row;
            if !surfaces.contains(&(server.as_str(), kind.as_str(), surface.as_str())) {
                held.insert(content);
            }
        }
    }
    {
        // What a document names by its digest alone is held as well.
        let mut rows = sqlx::query_as("SELECT content, raw FROM contracts").fetch(&mut *db);
        while let Some(row) = rows.try_next().await? {
            let (content, raw): (String, String) = row;
            if !held.contains(&content) && raws.contains(&parsed::<Digest>("digest of a tool", &raw)?) {
                held.insert(content);
            }
        }
    }
    let used: Vec<String> =
        sqlx::query_scalar("SELECT content FROM versions UNION SELECT content FROM drafts")
            .fetch_all(&mut *db)
            .await?;
    held.extend(used);
    let mut old = Vec::new();
    let mut rows = sqlx::query_scalar("SELECT digest FROM content ORDER BY digest").fetch(db);
    while let Some(digest) = rows.try_next().await? {
        let digest: String = digest;
        if !held.contains(&digest) {
            old.push(parsed("content digest", &digest)?);
        }
    }
    Ok(old)
}

/// The checks that no rule keeps, oldest first. Branches and pull requests come without end and are done with, so that the newest
/// is kept of a repository, not of each of them.
async fn old_checks(db: &mut Connection, keep: &Keep) -> Result<Vec<i64>> {
    let old = sqlx::query_scalar(
        "SELECT id FROM checks
         WHERE created_at < $1
             AND id NOT IN (SELECT max(id) FROM checks GROUP BY catalog, environment, repository)
             AND id NOT IN (
                 SELECT max(h.check_id)
                 FROM (SELECT DISTINCT catalog, fingerprint FROM decisions) d
                 JOIN check_changes h ON h.catalog = d.catalog AND h.fingerprint = d.fingerprint
                 GROUP BY h.catalog, h.fingerprint
             )
         ORDER BY id",
    );
    Ok(old.bind(time(keep.since)).fetch_all(db).await?)
}

async fn run(db: &mut Connection, statement: &'static str, id: i64) -> Result<u64> {
    Ok(sqlx::query(statement).bind(id).execute(db).await?.rows_affected())
}

/// Deletes a snapshot that no listing brings any more.
async fn delete_snapshot(db: &mut Connection, server: &ServerName, digest: &Digest) -> Result<u64> {
    let listed: Option<i64> =
        sqlx::query_scalar("SELECT id FROM listings WHERE server = $1 AND snapshot = $2 LIMIT 1")
            .bind(server.as_str())
            .bind(digest.as_str())
            .fetch_optional(&mut *db)
            .await?;
    if listed.is_some() {
        return Ok(0);
    }
    let mut gone = 0;
    for statement in [
        "DELETE FROM snapshot_tools WHERE server = $1 AND snapshot = $2",
        "DELETE FROM snapshots WHERE server = $1 AND digest = $2",
    ] {
        let done =
            sqlx::query(statement).bind(server.as_str()).bind(digest.as_str()).execute(&mut *db).await?;
        gone = done.rows_affected();
    }
    Ok(gone)
}

/// Deletes a surface that no listing names any more.
async fn delete_surface(
    db: &mut Connection,
    server: &ServerName,
    kind: SurfaceKind,
    digest: &Digest,
) -> Result<u64> {
    // A listing that came since may have brought it again.
    let named: i64 =
        sqlx::query_scalar("SELECT count(*) FROM listings WHERE server = $1 AND surfaces LIKE $2")
            .bind(server.as_str())
            .bind(format!("%{digest}%"))
            .fetch_one(&mut *db)
            .await?;
    if named > 0 {
        return Ok(0);
    }
    let mut gone = 0;
    for statement in [
        "DELETE FROM surface_items WHERE server = $1 AND kind = $2 AND surface = $3",
        "DELETE FROM surfaces WHERE server = $1 AND kind = $2 AND digest = $3",
    ] {
        let done = sqlx::query(statement)
            .bind(server.as_str())
            .bind(kind.as_str())
            .bind(digest.as_str())
            .execute(&mut *db)
            .await?;
        gone = done.rows_affected();
    }
    Ok(gone)
}

/// Deletes a text that nothing holds any more.
async fn delete_text(db: &mut Connection, digest: &Digest) -> Result<u64> {
    let held: Option<String> = sqlx::query_scalar(
        "SELECT digest FROM content WHERE digest = $1 AND (
             EXISTS (SELECT 1 FROM snapshot_tools WHERE content = $1)
             OR EXISTS (SELECT 1 FROM surface_items WHERE content = $1)
             OR EXISTS (SELECT 1 FROM versions WHERE content = $1)
             OR EXISTS (SELECT 1 FROM drafts WHERE content = $1)
         )",
    )
    .bind(digest.as_str())
    .fetch_optional(&mut *db)
    .await?;
    if held.is_some() {
        return Ok(0);
    }
    let mut gone = 0;
    for statement in ["DELETE FROM contracts WHERE content = $1", "DELETE FROM content WHERE digest = $1"] {
        gone = sqlx::query(statement).bind(digest.as_str()).execute(&mut *db).await?.rows_affected();
    }
    Ok(gone)
}
