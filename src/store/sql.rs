//! What both databases share beside their statements: how values are written into columns and read back.
//!
//! The statements are the files of `sql/`, one text for both. `sqlite.rs` and `postgres.rs` each compile them with a
//! `Database` and a `Connection` of their own, so that none is generic over the database and none is written twice.

use std::str::FromStr;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Serialize, de::DeserializeOwned};
use sqlx::migrate::{AppliedMigration, MigrateError, Migrator};

use super::{Result, StoreError};

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(Box::new(error))
    }
}

/// The table in which sqlx notes what ran.
pub(super) const MIGRATED: &str = "_sqlx_migrations";

/// How many of the migrations have not run, of those that did. Refuses what a newer toolpact made.
pub(super) fn pending(all: &Migrator, ran: &[AppliedMigration]) -> Result<usize> {
    match ran.iter().find(|m| !all.version_exists(m.version)) {
        Some(newer) => Err(not_migrated(MigrateError::VersionMissing(newer.version))),
        None => Ok(all.iter().count().saturating_sub(ran.len())),
    }
}

/// The database has tables, and none of ours.
pub(super) fn foreign() -> StoreError {
    StoreError::Database("it is a database of another program".into())
}

/// Why the tables could not be brought up to date.
pub(super) fn not_migrated(error: MigrateError) -> StoreError {
    match error {
        MigrateError::VersionMissing(version) => StoreError::Database(
            format!("a newer toolpact made it: it has migration {version}, which this one does not know")
                .into(),
        ),
        error => StoreError::Database(Box::new(error)),
    }
}

/// A time as stored: RFC 3339 in UTC, microseconds always written, so that text sorts as time does.
pub(super) fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// Reads a stored text back.
pub(super) fn parsed<T: FromStr<Err: std::fmt::Display>>(what: &'static str, text: &str) -> Result<T> {
    text.parse().map_err(|e: T::Err| StoreError::Corrupt { what, cause: e.to_string() })
}

/// Reads a stored text back, where there is one.
pub(super) fn parsed_opt<T: FromStr<Err: std::fmt::Display>>(
    what: &'static str,
    text: Option<&str>,
) -> Result<Option<T>> {
    text.map(|t| parsed(what, t)).transpose()
}

/// Reads a stored JSON text back.
pub(super) fn from_json<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| StoreError::Corrupt { what, cause: e.to_string() })
}

/// Reads a stored word back by the name that serde gives it.
pub(super) fn from_word<T: DeserializeOwned>(what: &'static str, word: &str) -> Result<T> {
    serde_json::from_value(word.into()).map_err(|e| StoreError::Corrupt { what, cause: e.to_string() })
}

/// A value as JSON text.
pub(super) fn to_json(what: &'static str, value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| StoreError::Corrupt { what, cause: e.to_string() })
}

/// `LIMIT` takes a signed number.
pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
