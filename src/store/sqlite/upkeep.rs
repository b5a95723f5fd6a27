//! How a file is, and copies of it. Opened for reading alone: a file that is looked at stays as it is.

use std::path::Path;

use sqlx::{ConnectOptions as _, SqliteConnection, sqlite::SqlitePoolOptions};

use super::{SqliteConnectOptions, SqliteStore, checked, has_code, pending};
use crate::store::{Result, StoreError, upkeep::Condition};

/// `SQLITE_CORRUPT`.
const CORRUPT: u32 = 11;
/// Faults that are told of one file.
const FAULTS: u32 = 10;

impl SqliteStore {
    /// The same as [`Self::open`] for reading alone; nothing is made and no migration runs.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub async fn read(path: &Path) -> Result<Self> {
        let pool = SqlitePoolOptions::new().max_connections(1).connect_with(read_only(path)).await?;
        Ok(Self::over(pool.clone(), pool, None))
    }

    /// How the file is.
    pub(in crate::store) async fn examine(path: &Path) -> Result<Condition> {
        let (pending, faults) = match look(path).await {
            // Too damaged to be looked over to its end.
            Err(error) if has_code(&error, CORRUPT) => (None, vec!["the file is damaged".to_owned()]),
            looked => looked.map(|(pending, faults)| (Some(pending), faults))?,
        };
        let failed = |e: std::io::Error| StoreError::Database(e.into());
        let used = std::fs::metadata(path).map_err(failed)?.len();
        let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let disk = rustix::fs::statvfs(folder).map_err(|e| failed(e.into()))?;
        let room = Some((used, disk.f_bavail.saturating_mul(disk.f_frsize)));
        Ok(Condition { engine: "SQLite".to_owned(), pending, faults, durable: None, clock: None, room })
    }

    /// Copies the file.
    pub(in crate::store) async fn copy(path: &Path, to: &Path) -> Result<()> {
        let Some(to) = to.to_str() else {
            return Err(StoreError::Database("the name of the copy is no Unicode".into()));
        };
        let mut db = read_only(path).connect().await?;
        sqlx::query("VACUUM INTO $1").bind(to).execute(&mut db).await?;
        Ok(())
    }
}

fn read_only(path: &Path) -> SqliteConnectOptions {
    checked(SqliteConnectOptions::new().filename(path).read_only(true))
}

/// How many migrations have not run, and what is wrong.
async fn look(path: &Path) -> Result<(usize, Vec<String>)> {
    let mut db = read_only(path).connect().await?;
    let faults = faults(&mut db).await?;
    Ok((pending(&mut db).await?, faults))
}

/// What is wrong with pages, indexes and references.
async fn faults(db: &mut SqliteConnection) -> sqlx::Result<Vec<String>> {
    let check = sqlx::AssertSqlSafe(format!("PRAGMA integrity_check({FAULTS})"));
    let mut faults: Vec<String> = sqlx::query_scalar(check).fetch_all(&mut *db).await?;
    faults.retain(|said| said != "ok");
    let dangling: Vec<(String, Option<i64>, String, i64)> =
        sqlx::query_as("PRAGMA foreign_key_check").fetch_all(db).await?;
    let dangling = dangling.into_iter().take(FAULTS as usize);
    faults.extend(
        dangling.map(|(table, _, other, _)| format!("a row of `{table}` refers to none of `{other}`")),
    );
    Ok(faults)
}
