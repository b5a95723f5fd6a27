//! Checks of builds, as a store keeps them.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use serde::Serialize;

use super::Result;
use crate::{
    catalog::{
        CatalogVersion,
        check::{BuildContext, Check},
        event::NewEvent,
    },
    diff::Verdict,
    name::{CatalogName, EnvironmentName},
};

/// A check without its reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckRow {
    /// Its number.
    pub id: i64,
    /// In which catalog.
    pub catalog: CatalogName,
    /// Against what is live where.
    pub environment: EnvironmentName,
    /// What was live there.
    pub version: CatalogVersion,
    /// Where the build came from.
    pub context: BuildContext,
    /// The judgement in a word.
    pub verdict: Verdict,
    /// Who registered it.
    pub created_by: String,
    /// When.
    pub created_at: DateTime<Utc>,
}

/// Which checks are looked for; all that is given has to fit, exactly.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckQuery {
    /// The catalog.
    pub catalog: Option<CatalogName>,
    /// The environment.
    pub environment: Option<EnvironmentName>,
    /// The repository.
    pub repository: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// The judgement in a word.
    pub verdict: Option<Verdict>,
}

/// Checks of builds. None is ever edited; old ones are forgotten ([`Retention`](super::Retention)).
#[async_trait]
pub trait Checks: Send + Sync {
    /// Keeps a check and gives it its number; where one with its digest is there already, that one is answered, and neither it nor
    /// an event is written. The event is about `check/ID`.
    async fn put_check(&self, check: Check, event: NewEvent) -> Result<Check>;
    /// One check.
    async fn check(&self, id: i64) -> Result<Option<Check>>;
    /// Checks at a glance, newest first, from the one before this.
    async fn check_rows(
        &self,
        query: &CheckQuery,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<CheckRow>>;
    /// Of the changes of a catalog whose fingerprints begin with these hex digits, the number of the newest check that holds each;
    /// of two changes at most, for more digits are needed anyway to tell them apart.
    async fn checks_holding(&self, catalog: &CatalogName, hex: &str) -> Result<Vec<i64>>;
}
