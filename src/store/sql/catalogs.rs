//! Catalogs, versions and drafts.

use async_trait::async_trait;
use sqlx::FromRow;

use super::{
    super::sql::{from_json, from_word, limit, parsed, parsed_opt, time, to_json},
    Connection, Database, events,
    snapshots::{self, put_content},
};
use crate::{
    catalog::{Catalog, CatalogVersion, Draft, DraftStatus, Version, event::NewEvent},
    name::CatalogName,
    store::{
        CatalogRow, Catalogs, Closing, DraftRow, Ending, NewDraft, NewSettings, Result, StoreError,
        VersionRow,
    },
};

/// Catalogs, by their columns.
macro_rules! catalogs {
    ($where:literal) => {
        concat!("SELECT name, policy, environments, servers FROM catalogs ", $where)
    };
}

#[derive(FromRow)]
struct Settings {
    name: String,
    policy: String,
    environments: String,
    servers: String,
}

impl TryFrom<Settings> for Catalog {
    type Error = StoreError;
    fn try_from(row: Settings) -> Result<Self> {
        Ok(Self {
            name: parsed("catalog name", &row.name)?,
            policy: from_json("policy", &row.policy)?,
            environments: from_json("environments of a catalog", &row.environments)?,
            servers: from_json("servers of a catalog", &row.servers)?,
        })
    }
}

#[derive(FromRow)]
struct Glance {
    #[sqlx(flatten)]
    settings: Settings,
    latest: Option<String>,
    pending: Option<i64>,
    verdict: Option<String>,
}

impl TryFrom<Glance> for CatalogRow {
    type Error = StoreError;
    fn try_from(row: Glance) -> Result<Self> {
        let verdict = row.verdict.map(|word| from_word("verdict", &word)).transpose()?;
        Ok(Self {
            catalog: row.settings.try_into()?,
            latest: parsed_opt("catalogVersion", row.latest.as_deref())?,
            pending: row.pending.zip(verdict),
        })
    }
}

#[derive(FromRow)]
struct VersionGlance {
    version: String,
    digest: String,
    tools: i64,
    approved_by: String,
    reason: String,
    approved_at: String,
}

impl TryFrom<VersionGlance> for VersionRow {
    type Error = StoreError;
    fn try_from(row: VersionGlance) -> Result<Self> {
        Ok(Self {
            version: parsed("catalogVersion", &row.version)?,
            digest: parsed("version digest", &row.digest)?,
            tools: usize::try_from(row.tools).unwrap_or(0),
            approved_by: row.approved_by,
            reason: row.reason,
            approved_at: parsed("approval time", &row.approved_at)?,
        })
    }
}

#[derive(FromRow)]
struct DraftGlance {
    id: i64,
    catalog: String,
    base: Option<String>,
    digest: String,
    status: String,
    verdict: String,
    created_by: String,
    created_at: String,
    decided_by: Option<String>,
    version: Option<String>,
}

impl TryFrom<DraftGlance> for DraftRow {
    type Error = StoreError;
    fn try_from(row: DraftGlance) -> Result<Self> {
        Ok(Self {
            id: row.id,
            catalog: parsed("catalog name", &row.catalog)?,
            base: parsed_opt("catalogVersion", row.base.as_deref())?,
            digest: parsed("draft digest", &row.digest)?,
            status: from_word("draft status", &row.status)?,
            verdict: from_word("verdict", &row.verdict)?,
            created_by: row.created_by,
            created_at: parsed("draft time", &row.created_at)?,
            decided_by: row.decided_by,
            version: parsed_opt("catalogVersion", row.version.as_deref())?,
        })
    }
}

/// Versions with what they hold, by their columns.
macro_rules! versions {
    ($where:literal) => {
        concat!(
            "SELECT v.catalog, v.version, v.digest, c.body, v.draft, v.approved_by, v.reason, v.approved_at
             FROM versions v JOIN content c ON c.digest = v.content ",
            $where
        )
    };
}

#[derive(FromRow)]
struct WholeVersion {
    catalog: String,
    version: String,
    digest: String,
    body: String,
    draft: Option<i64>,
    approved_by: String,
    reason: String,
    approved_at: String,
}

impl TryFrom<WholeVersion> for Version {
    type Error = StoreError;
    fn try_from(row: WholeVersion) -> Result<Self> {
        Ok(Self {
            catalog: parsed("catalog name", &row.catalog)?,
            version: parsed("catalogVersion", &row.version)?,
            digest: parsed("version digest", &row.digest)?,
            content: from_json("version content", &row.body)?,
            draft: row.draft,
            approved_by: row.approved_by,
            reason: row.reason,
            approved_at: parsed("approval time", &row.approved_at)?,
        })
    }
}

/// Drafts with what they hold, by their columns.
macro_rules! drafts {
    ($where:literal) => {
        concat!(
            "SELECT d.id, d.catalog, d.base, d.digest, c.body, d.report, d.earlier, d.status, d.created_by, d.created_at,
                 d.edited_by, d.decided_by, d.decided_at, d.reason, d.version
             FROM drafts d JOIN content c ON c.digest = d.content ",
            $where
        )
    };
}

#[derive(FromRow)]
struct WholeDraft {
    id: i64,
    catalog: String,
    base: Option<String>,
    digest: String,
    body: String,
    report: String,
    earlier: String,
    status: String,
    created_by: String,
    created_at: String,
    edited_by: String,
    decided_by: Option<String>,
    decided_at: Option<String>,
    reason: String,
    version: Option<String>,
}

impl TryFrom<WholeDraft> for Draft {
    type Error = StoreError;
    fn try_from(row: WholeDraft) -> Result<Self> {
        Ok(Self {
            id: row.id,
            catalog: parsed("catalog name", &row.catalog)?,
            base: parsed_opt("catalogVersion", row.base.as_deref())?,
            content: from_json("draft content", &row.body)?,
            digest: parsed("draft digest", &row.digest)?,
            report: from_json("report", &row.report)?,
            earlier: from_json("earlier reports", &row.earlier)?,
            status: from_word("draft status", &row.status)?,
            created_by: row.created_by,
            created_at: parsed("draft time", &row.created_at)?,
            edited_by: from_json("editors", &row.edited_by)?,
            decided_by: row.decided_by,
            decided_at: parsed_opt("decision time", row.decided_at.as_deref())?,
            reason: row.reason,
            version: parsed_opt("catalogVersion", row.version.as_deref())?,
        })
    }
}

#[async_trait]
impl Catalogs for Database {
    async fn catalogs(&self) -> Result<Vec<Catalog>> {
        let rows: Vec<Settings> = sqlx::query_as(catalogs!("ORDER BY name")).fetch_all(&self.reader).await?;
        rows.into_iter().map(Catalog::try_from).collect()
    }

    async fn catalog_rows(&self, after: Option<&CatalogName>, count: usize) -> Result<Vec<CatalogRow>> {
        let rows: Vec<Glance> = sqlx::query_as(
            "SELECT c.name, c.policy, c.environments, c.servers, d.id AS pending, d.verdict, (
                 SELECT v.version FROM versions v WHERE v.catalog = c.name ORDER BY v.ordinal DESC LIMIT 1
             ) AS latest
             FROM catalogs c LEFT JOIN drafts d ON d.catalog = c.name AND d.status = 'pending'
             WHERE c.name > $1 ORDER BY c.name LIMIT $2",
        )
        // No name is empty.
        .bind(after.map_or("", CatalogName::as_str))
        .bind(limit(count))
        .fetch_all(&self.reader)
        .await?;
        rows.into_iter().map(CatalogRow::try_from).collect()
    }

    async fn catalog(&self, name: &CatalogName) -> Result<Option<Catalog>> {
        let row: Option<Settings> = sqlx::query_as(catalogs!("WHERE name = $1"))
            .bind(name.as_str())
            .fetch_optional(&self.reader)
            .await?;
        row.map(Catalog::try_from).transpose()
    }

    async fn applied(&self, name: &CatalogName) -> Result<Option<Catalog>> {
        let text: Option<Option<String>> = sqlx::query_scalar("SELECT applied FROM catalogs WHERE name = $1")
            .bind(name.as_str())
            .fetch_optional(&self.reader)
            .await?;
        text.flatten().map(|text| from_json("applied settings", &text)).transpose()
    }

    async fn apply(&self, new: NewSettings<'_>, events: Vec<NewEvent>) -> Result<()> {
        let NewSettings { catalog, applied, version, basis } = new;
        let mut tx = self.write().await?;
        events::stands(&mut tx, &basis).await?;
        let (keeps, applied) = (applied.is_none(), to_json("applied settings", applied.unwrap_or(catalog))?);
        sqlx::query(
            "INSERT INTO catalogs (name, policy, environments, servers, applied) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (name) DO UPDATE SET policy = excluded.policy,
                 environments = excluded.environments, servers = excluded.servers,
                 applied = CASE WHEN $6 = 0 THEN excluded.applied ELSE catalogs.applied END",
        )
        .bind(catalog.name.as_str())
        .bind(to_json("policy", &catalog.policy)?)
        .bind(to_json("environments of a catalog", &catalog.environments)?)
        .bind(to_json("servers of a catalog", &catalog.servers)?)
        .bind(applied)
        .bind(i64::from(keeps))
        .execute(&mut *tx)
        .await?;
        if let Some(version) = version {
            put_version(&mut tx, version).await?;
        }
        for event in events {
            events::append(&mut tx, event).await?;
        }
        Ok(tx.commit().await?)
    }

    async fn versions(&self, catalog: &CatalogName) -> Result<Vec<Version>> {
        let rows: Vec<WholeVersion> =
            sqlx::query_as(versions!("WHERE v.catalog = $1 ORDER BY v.ordinal DESC"))
                .bind(catalog.as_str())
                .fetch_all(&self.reader)
                .await?;
        rows.into_iter().map(Version::try_from).collect()
    }

    async fn version_rows(
        &self,
        catalog: &CatalogName,
        before: Option<CatalogVersion>,
        count: usize,
    ) -> Result<Vec<VersionRow>> {
        let rows: Vec<VersionGlance> = sqlx::query_as(
            "SELECT version, digest, tools, approved_by, reason, approved_at FROM versions
             WHERE catalog = $1 AND ordinal < $2 ORDER BY ordinal DESC LIMIT $3",
        )
        .bind(catalog.as_str())
        .bind(before.map_or(i64::MAX, CatalogVersion::ordinal))
        .bind(limit(count))
        .fetch_all(&self.reader)
        .await?;
        rows.into_iter().map(VersionRow::try_from).collect()
    }

    async fn version_numbers(&self, catalog: &CatalogName) -> Result<Vec<CatalogVersion>> {
        let rows: Vec<String> =
            sqlx::query_scalar("SELECT version FROM versions WHERE catalog = $1 ORDER BY ordinal DESC")
                .bind(catalog.as_str())
                .fetch_all(&self.reader)
                .await?;
        rows.iter().map(|v| parsed("catalogVersion", v)).collect()
    }

    async fn version(&self, catalog: &CatalogName, version: CatalogVersion) -> Result<Option<Version>> {
        let row: Option<WholeVersion> = sqlx::query_as(versions!("WHERE v.catalog = $1 AND v.version = $2"))
            .bind(catalog.as_str())
            .bind(version.to_string())
            .fetch_optional(&self.reader)
            .await?;
        row.map(Version::try_from).transpose()
    }

    async fn latest_version(&self, catalog: &CatalogName) -> Result<Option<Version>> {
        let row: Option<WholeVersion> =
            sqlx::query_as(versions!("WHERE v.catalog = $1 ORDER BY v.ordinal DESC LIMIT 1"))
                .bind(catalog.as_str())
                .fetch_optional(&self.reader)
                .await?;
        row.map(Version::try_from).transpose()
    }

    async fn draft_rows(
        &self,
        catalog: &CatalogName,
        status: Option<DraftStatus>,
        before: Option<i64>,
        count: usize,
    ) -> Result<Vec<DraftRow>> {
        // Two statements, so that each is read in the order of an index.
        let statement = match status {
            None => {
                "SELECT id, catalog, base, digest, status, verdict, created_by, created_at, decided_by, version
                 FROM drafts WHERE catalog = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
            }
            Some(_) => {
                "SELECT id, catalog, base, digest, status, verdict, created_by, created_at, decided_by, version
                 FROM drafts WHERE catalog = $1 AND id < $2 AND status = $4 ORDER BY id DESC LIMIT $3"
            }
        };
        let mut query = sqlx::query_as(statement)
            .bind(catalog.as_str())
            .bind(before.unwrap_or(i64::MAX))
            .bind(limit(count));
        if let Some(status) = status {
            query = query.bind(status.as_str());
        }
        let rows: Vec<DraftGlance> = query.fetch_all(&self.reader).await?;
        rows.into_iter().map(DraftRow::try_from).collect()
    }

    async fn draft(&self, catalog: &CatalogName, id: i64) -> Result<Option<Draft>> {
        let row: Option<WholeDraft> = sqlx::query_as(drafts!("WHERE d.catalog = $1 AND d.id = $2"))
            .bind(catalog.as_str())
            .bind(id)
            .fetch_optional(&self.reader)
            .await?;
        row.map(Draft::try_from).transpose()
    }

    async fn latest_draft(&self, catalog: &CatalogName) -> Result<Option<Draft>> {
        let row: Option<WholeDraft> =
            sqlx::query_as(drafts!("WHERE d.catalog = $1 ORDER BY d.id DESC LIMIT 1"))
                .bind(catalog.as_str())
                .fetch_optional(&self.reader)
                .await?;
        row.map(Draft::try_from).transpose()
    }

    async fn open_draft(&self, draft: NewDraft, event: NewEvent) -> Result<Draft> {
        let NewDraft { catalog, base, content, report, earlier, basis, created_by, created_at } = draft;
        let digest = content.digest();
        let mut tx = self.write().await?;
        events::stands(&mut tx, &basis).await?;
        if newest(&mut tx, &catalog).await? != base {
            return Err(StoreError::DraftChanged);
        }
        for pin in &content.servers {
            if snapshots::newest(&mut tx, &pin.server).await?.as_ref() != Some(&pin.snapshot) {
                return Err(StoreError::DraftChanged);
            }
        }
        let superseded: Option<i64> = sqlx::query_scalar(
            "UPDATE drafts SET status = 'superseded', decided_by = $1, decided_at = $2
             WHERE catalog = $3 AND status = 'pending' RETURNING id",
        )
        .bind(&created_by)
        .bind(time(created_at))
        .bind(catalog.as_str())
        .fetch_optional(&mut *tx)
        .await?;
        let body = put_content(&mut tx, &to_json("draft content", &content)?).await?;
        let id: i64 = sqlx::query_scalar(
            "INSERT INTO drafts
                 (catalog, base, digest, content, report, status, created_by, created_at, earlier, verdict)
             VALUES ($1, $2, $3, $4, $5, 'pending', $6, $7, $8, $9) RETURNING id",
        )
        .bind(catalog.as_str())
        .bind(base.map(|v| v.to_string()))
        .bind(digest.as_str())
        .bind(body.as_str())
        .bind(to_json("report", &report)?)
        .bind(&created_by)
        .bind(time(created_at))
        .bind(to_json("earlier reports", &earlier)?)
        .bind(report.verdict.as_str())
        .fetch_one(&mut *tx)
        .await?;
        events::append(&mut tx, event.with("draft", id).with("supersedes", superseded)).await?;
        tx.commit().await?;
        Ok(Draft {
            id,
            catalog,
            base,
            content,
            digest,
            report,
            earlier,
            status: DraftStatus::Pending,
            created_by,
            created_at,
            edited_by: Vec::new(),
            decided_by: None,
            decided_at: None,
            reason: String::new(),
            version: None,
        })
    }

    async fn close_draft(&self, closing: Closing, event: NewEvent) -> Result<()> {
        let Closing { draft, status, seen, ending, basis } = closing;
        let mut tx = self.write().await?;
        events::stands(&mut tx, &basis).await?;
        let holds: i64 = sqlx::query_scalar("SELECT count(*) FROM drafts WHERE id = $1 AND digest = $2")
            .bind(draft)
            .bind(seen.as_str())
            .fetch_one(&mut *tx)
            .await?;
        if holds == 0 {
            return Err(StoreError::DraftChanged);
        }
        end_draft(&mut tx, draft, status, None, &ending).await?;
        events::append(&mut tx, event).await?;
        Ok(tx.commit().await?)
    }
}

/// The highest version number, as this transaction sees it.
pub(super) async fn newest(db: &mut Connection, catalog: &CatalogName) -> Result<Option<CatalogVersion>> {
    let text: Option<String> =
        sqlx::query_scalar("SELECT version FROM versions WHERE catalog = $1 ORDER BY ordinal DESC LIMIT 1")
            .bind(catalog.as_str())
            .fetch_optional(db)
            .await?;
    parsed_opt("catalogVersion", text.as_deref())
}

pub(super) async fn put_version(db: &mut Connection, version: &Version) -> Result<()> {
    let body = put_content(db, &to_json("version content", &version.content)?).await?;
    let done = sqlx::query(
        "INSERT INTO versions
             (catalog, version, ordinal, digest, content, draft, approved_by, reason, approved_at, tools)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(version.catalog.as_str())
    .bind(version.version.to_string())
    .bind(version.version.ordinal())
    .bind(version.digest.as_str())
    .bind(body.as_str())
    .bind(version.draft)
    .bind(&version.approved_by)
    .bind(&version.reason)
    .bind(time(version.approved_at))
    .bind(limit(version.content.members.len()))
    .execute(db)
    .await;
    match done {
        // A trigger of SQLite's is asked before the index is.
        Err(sqlx::Error::Database(e))
            if e.is_unique_violation() || e.message() == "versions are immutable" =>
        {
            Err(StoreError::VersionExists)
        }
        done => done.map(|_| ()).map_err(StoreError::from),
    }
}

pub(super) async fn end_draft(
    db: &mut Connection,
    id: i64,
    status: DraftStatus,
    version: Option<CatalogVersion>,
    ending: &Ending,
) -> Result<()> {
    let done = sqlx::query(
        "UPDATE drafts SET status = $1, decided_by = $2, decided_at = $3, reason = $4, version = $5
         WHERE id = $6 AND status = 'pending'",
    )
    .bind(status.as_str())
    .bind(&ending.actor)
    .bind(time(ending.at))
    .bind(&ending.reason)
    .bind(version.map(|v| v.to_string()))
    .bind(id)
    .execute(db)
    .await?;
    if done.rows_affected() == 1 { Ok(()) } else { Err(StoreError::DraftChanged) }
}
