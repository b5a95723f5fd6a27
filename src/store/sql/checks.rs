//! Checks of builds.

use async_trait::async_trait;
use sqlx::FromRow;

use super::{
    super::sql::{from_json, from_word, limit, parsed, time, to_json},
    Database, events,
};
use crate::{
    catalog::{
        check::{BuildContext, Check},
        event::NewEvent,
    },
    name::CatalogName,
    store::{CheckQuery, CheckRow, Checks, Result, StoreError},
};

/// Checks with their reports, by their columns.
macro_rules! checks {
    ($where:literal) => {
        concat!(
            "SELECT id, digest, catalog, environment, version, servers, repository, revision, branch, pull_request,
                 report, earlier, created_by, created_at
             FROM checks ",
            $where
        )
    };
}

/// Checks at a glance, by their columns, newest first; also of a branch and with a verdict, where that is asked.
macro_rules! glances {
    ($where:literal) => {
        concat!(
            "SELECT id, catalog, environment, version, repository, revision, branch, pull_request, verdict, created_by,
                 created_at
             FROM checks WHERE ",
            $where,
            " AND ($5 IS NULL OR branch = $5) AND ($6 IS NULL OR verdict = $6) ORDER BY id DESC LIMIT $7"
        )
    };
}

/// Where the build came from.
#[derive(FromRow)]
struct Context {
    repository: Option<String>,
    revision: Option<String>,
    branch: Option<String>,
    pull_request: Option<String>,
}

impl From<Context> for BuildContext {
    fn from(row: Context) -> Self {
        let Context { repository, revision, branch, pull_request } = row;
        Self { repository, commit: revision, branch, pull_request }
    }
}

#[derive(FromRow)]
struct Whole {
    id: i64,
    digest: String,
    catalog: String,
    environment: String,
    version: String,
    servers: String,
    #[sqlx(flatten)]
    context: Context,
    report: String,
    earlier: String,
    created_by: String,
    created_at: String,
}

impl TryFrom<Whole> for Check {
    type Error = StoreError;
    fn try_from(row: Whole) -> Result<Self> {
        Ok(Self {
            id: row.id,
            digest: parsed("digest of a check", &row.digest)?,
            catalog: parsed("catalog name", &row.catalog)?,
            environment: parsed("environment name", &row.environment)?,
            version: parsed("catalog version", &row.version)?,
            servers: from_json("servers of a check", &row.servers)?,
            context: row.context.into(),
            report: from_json("report", &row.report)?,
            earlier: from_json("earlier reports", &row.earlier)?,
            created_by: row.created_by,
            created_at: parsed("time of a check", &row.created_at)?,
        })
    }
}

#[derive(FromRow)]
struct Glance {
    id: i64,
    catalog: String,
    environment: String,
    version: String,
    #[sqlx(flatten)]
    context: Context,
    verdict: String,
    created_by: String,
    created_at: String,
}

impl TryFrom<Glance> for CheckRow {
    type Error = StoreError;
    fn try_from(row: Glance) -> Result<Self> {
        Ok(Self {
            id: row.id,
            catalog: parsed("catalog name", &row.catalog)?,
            environment: parsed("environment name", &row.environment)?,
            version: parsed("catalog version", &row.version)?,
            context: row.context.into(),
            verdict: from_word("verdict", &row.verdict)?,
            created_by: row.created_by,
            created_at: parsed("time of a check", &row.created_at)?,
        })
    }
}

#[async_trait]
impl Checks for Database {
    async fn put_check(&self, check: Check, event: NewEvent) -> Result<Check> {
        let mut tx = self.write().await?;
        let known: Option<Whole> = sqlx::query_as(checks!("WHERE digest = $1"))
            .bind(check.digest.as_str())
            .fetch_optional(&mut *tx)
            .await?;
        if let Some(known) = known {
            return known.try_into();
        }
        let id: i64 = sqlx::query_scalar(
            "INSERT INTO checks (digest, catalog, environment, version, servers, repository, revision, branch,
                 pull_request, verdict, report, earlier, created_by, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING id",
        )
        .bind(check.digest.as_str())
        .bind(check.catalog.as_str())
        .bind(check.environment.as_str())
        .bind(check.version.to_string())
        .bind(to_json("servers of a check", &check.servers)?)
        .bind(&check.context.repository)
        .bind(&check.context.commit)
        .bind(&check.context.branch)
        .bind(&check.context.pull_request)
        .bind(check.report.verdict.as_str())
        .bind(to_json("report", &check.report)?)
        .bind(to_json("earlier reports", &check.earlier)?)
        .bind(&check.created_by)
        .bind(time(check.created_at))
        .fetch_one(&mut *tx)
        .await?;
        events::append(&mut tx, NewEvent { subject: format!("check/{id}"), ..event }).await?;
        tx.commit().await?;
        Ok(Check { id, ..check })
    }

    async fn check(&self, id: i64) -> Result<Option<Check>> {
        let row: Option<Whole> =
            sqlx::query_as(checks!("WHERE id = $1")).bind(id).fetch_optional(&self.reader).await?;
        row.map(Check::try_from).transpose()
    }

    async fn check_rows(
        &self,
        query: &CheckQuery,
        before: Option<i64>,
        count: usize,
    ) -> Result<Vec<CheckRow>> {
        // What is looked for most narrowly comes first in the statement, so that its index is read in order.
        let statement = match query {
            CheckQuery { repository: Some(_), .. } => {
                glances!(
                    "repository = $4 AND id < $1 AND ($2 IS NULL OR catalog = $2)
                     AND ($3 IS NULL OR environment = $3)"
                )
            }
            CheckQuery { catalog: Some(_), .. } => {
                glances!(
                    "catalog = $2 AND id < $1 AND ($3 IS NULL OR environment = $3)
                     AND ($4 IS NULL OR repository = $4)"
                )
            }
            CheckQuery { environment: Some(_), .. } => {
                glances!(
                    "environment = $3 AND id < $1 AND ($2 IS NULL OR catalog = $2)
                     AND ($4 IS NULL OR repository = $4)"
                )
            }
            _ => {
                glances!(
                    "id < $1 AND ($2 IS NULL OR catalog = $2) AND ($3 IS NULL OR environment = $3)
                     AND ($4 IS NULL OR repository = $4)"
                )
            }
        };
        let rows: Vec<Glance> = sqlx::query_as(statement)
            .bind(before.unwrap_or(i64::MAX))
            .bind(query.catalog.as_ref().map(|name| name.as_str().to_owned()))
            .bind(query.environment.as_ref().map(|name| name.as_str().to_owned()))
            .bind(&query.repository)
            .bind(&query.branch)
            .bind(query.verdict.map(|verdict| verdict.as_str()))
            .bind(limit(count))
            .fetch_all(&self.reader)
            .await?;
        rows.into_iter().map(CheckRow::try_from).collect()
    }

    async fn checks_holding(&self, catalog: &CatalogName, hex: &str) -> Result<Vec<i64>> {
        let first = format!("sha256:{hex}");
        let ids = sqlx::query_scalar(
            "SELECT max(check_id) FROM check_changes WHERE catalog = $1 AND fingerprint >= $2 AND fingerprint < $3
             GROUP BY fingerprint ORDER BY fingerprint LIMIT 2",
        )
        .bind(catalog.as_str())
        .bind(&first)
        // Behind every hex digit.
        .bind(format!("{first}g"))
        .fetch_all(&self.reader)
        .await?;
        Ok(ids)
    }
}
