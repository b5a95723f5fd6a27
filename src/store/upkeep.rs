//! How a database is, and copies of it.

use std::path::Path;

use chrono::{DateTime, Utc};

use super::{Place, Result, StoreError, postgres::PostgresStore, sqlite::SqliteStore};

/// How a database is, by what it says of itself. Nothing is changed by asking.
#[derive(Debug, Clone)]
pub struct Condition {
    /// What it is; of a server, with its version.
    pub engine: String,
    /// How many migrations have not run; unknown where it is too damaged to say so.
    pub pending: Option<usize>,
    /// What is wrong with it, in its own words.
    pub faults: Vec<String>,
    /// Whether what is answered is on the disk; where that is set elsewhere.
    pub durable: Option<bool>,
    /// The time by its clock, where it has one of its own.
    pub clock: Option<DateTime<Utc>>,
    /// How many bytes a file takes, and how many are free where it stands.
    pub room: Option<(u64, u64)>,
}

impl Place {
    /// How the database is.
    ///
    /// # Errors
    /// Where it does not answer, or is another program's or made by a newer toolpact.
    pub async fn examine(&self) -> Result<Condition> {
        match self {
            Self::File(path) => SqliteStore::examine(path).await,
            Self::Server(address) => PostgresStore::examine(address).await,
        }
    }

    /// Copies the file as it stands at one moment, whoever writes to it meanwhile, into one that is empty or not there.
    ///
    /// # Errors
    /// Where either cannot be opened or written. A server is copied by its own programs.
    pub async fn copy(&self, to: &Path) -> Result<()> {
        match self {
            Self::File(path) => SqliteStore::copy(path, to).await,
            Self::Server(_) => Err(StoreError::Database("a server is copied by its own programs".into())),
        }
    }
}
