//! The store on SQLite, inside the binary.
//!
//! One writer (`BEGIN IMMEDIATE`, so that what a transaction read cannot change under it) and several readers over a
//! write-ahead log. A pointer move that was answered has reached the disk: `synchronous=FULL`.
#![allow(clippy::duplicate_mod, reason = "one text of statements, compiled once for each database")]

#[path = "sql/access.rs"]
mod access;
#[path = "sql/answers.rs"]
mod answers;
#[path = "sql/catalogs.rs"]
mod catalogs;
#[path = "sql/checks.rs"]
mod checks;
#[path = "sql/environments.rs"]
mod environments;
#[path = "sql/events.rs"]
mod events;
#[path = "sql/polls.rs"]
mod polls;
#[path = "sql/retention.rs"]
mod retention;
#[path = "sql/reviews.rs"]
mod reviews;
#[path = "sql/servers.rs"]
mod servers;
#[path = "sql/snapshots.rs"]
mod snapshots;
#[path = "sql/trail.rs"]
mod trail;
mod upkeep;
mod watch;
#[path = "sql/webhooks.rs"]
mod webhooks;

use std::{borrow::Cow, path::Path, sync::Arc, time::Duration};

use sqlx::{
    Sqlite, SqliteConnection as Connection, SqlitePool, Transaction,
    migrate::{Migrate as _, Migrator},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use tokio::{sync::OnceCell, task::JoinSet};

use super::{
    Claim, Moved, PointerChange, PointerChanges, Result, StoreError,
    changes::Teller,
    sql::{self, MIGRATED, foreign, not_migrated},
};

use crate::catalog::Move;

/// What the statements of `sql/` are written for here.
type Database = SqliteStore;

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

/// How long a write waits for another process's write before it fails.
const BUSY: Duration = Duration::from_secs(10);
/// Readers never wait for each other; more than the cores of a small machine bring nothing.
const READERS: u32 = 4;

/// A database.
#[derive(Clone)]
pub struct SqliteStore {
    writer: SqlitePool,
    reader: SqlitePool,
    teller: Teller,
    /// How a file is opened; a database in memory has no other processes.
    file: Option<SqliteConnectOptions>,
    /// Watches the file from when somebody listens.
    watching: Arc<OnceCell<JoinSet<()>>>,
    /// Under which all is written, where there is one.
    claim: Option<Claim>,
}

impl SqliteStore {
    /// Opens the file, creates it where it is absent, and brings its tables up to date.
    ///
    /// # Errors
    /// Where the file cannot be opened or is no database of ours.
    pub async fn open(path: &Path) -> Result<Self> {
        let options = options(path);
        let (writer, _) = writer(options.clone()).await?;
        let reader = SqlitePoolOptions::new().max_connections(READERS).connect_lazy_with(options.clone());
        Ok(Self::over(writer, reader, Some(options)))
    }

    /// The same; answers how many migrations ran.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn migrate(path: &Path) -> Result<usize> {
        let (pool, ran) = writer(options(path)).await?;
        pool.close().await;
        Ok(ran)
    }

    /// A database that lives as long as this value.
    ///
    /// # Errors
    /// Where SQLite itself fails.
    pub async fn in_memory() -> Result<Self> {
        // Its one connection is the database, so it is never closed for being old or idle.
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_with(checked(SqliteConnectOptions::new().in_memory(true)))
            .await?;
        migrate(&pool).await?;
        Ok(Self::over(pool.clone(), pool, None))
    }

    fn over(writer: SqlitePool, reader: SqlitePool, file: Option<SqliteConnectOptions>) -> Self {
        Self { writer, reader, teller: Teller::default(), file, watching: Arc::default(), claim: None }
    }

    /// A transaction that holds the write lock from the start.
    async fn write(&self) -> Result<Transaction<'static, Sqlite>> {
        let mut tx = self.writer.begin_with("BEGIN IMMEDIATE").await?;
        if let Some(claim) = &self.claim {
            polls::stands(&mut tx, claim).await?;
        }
        Ok(tx)
    }

    /// Tells those in this process at once; those in others watch the file.
    fn moved(&self, order: &Move) {
        self.teller.tell(PointerChange::Moved(Moved {
            environment: order.environment.clone(),
            catalog: order.catalog.clone(),
            generation: order.generation,
        }));
    }

    async fn listen(&self) -> Result<PointerChanges> {
        let changes = self.teller.listen();
        if let Some(file) = &self.file {
            self.watching.get_or_try_init(|| watch::watch(file, self.teller.clone())).await?;
        }
        Ok(changes)
    }
}

fn options(path: &Path) -> SqliteConnectOptions {
    checked(SqliteConnectOptions::new().filename(path).create_if_missing(true))
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
}

fn checked(options: SqliteConnectOptions) -> SqliteConnectOptions {
    options.foreign_keys(true).busy_timeout(BUSY)
}

/// The connection that writes, to tables that are up to date; and how many migrations that took.
async fn writer(options: SqliteConnectOptions) -> Result<(SqlitePool, usize)> {
    unless_busy(|| async {
        let writer = SqlitePoolOptions::new().max_connections(1).connect_with(options.clone()).await?;
        let ran = migrate(&writer).await?;
        Ok((writer, ran))
    })
    .await
}

/// Tries again where SQLite says "busy" without having waited: while others turn a new file to a write-ahead log, or
/// close the last connection to one, it does not wait as it does for a lock (`sqlite3_busy_handler`: the handler is not
/// called where waiting could be a deadlock).
async fn unless_busy<T, F: Future<Output = Result<T>>>(attempt: impl Fn() -> F) -> Result<T> {
    const PAUSE: Duration = Duration::from_millis(20);
    /// `SQLITE_BUSY`.
    const IS_BUSY: u32 = 5;
    let mut left = BUSY;
    loop {
        match attempt().await {
            Err(StoreError::Database(cause)) if has_code(cause.as_ref(), IS_BUSY) && left > PAUSE => {
                left -= PAUSE;
                tokio::time::sleep(PAUSE).await;
            }
            answer => return answer,
        }
    }
}

/// Whether SQLite gave this code, in its plain or an extended form, anywhere among the causes.
fn has_code(error: &(dyn std::error::Error + 'static), code: u32) -> bool {
    let mut causes = std::iter::successors(Some(error), |e| e.source());
    causes.any(|e| {
        let said = e.downcast_ref::<sqlx::Error>().and_then(|e| e.as_database_error()?.code());
        said.is_some_and(|c| c.parse::<u32>().is_ok_and(|c| c & 0xff == code))
    })
}

/// Brings the tables up to date and says how many migrations ran; refuses a database that another program made. Under the write lock: of two processes
/// that open a new file at once, one makes the tables and the other finds them.
async fn migrate(pool: &SqlitePool) -> Result<usize> {
    let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
    let pending = pending(&mut tx).await?;
    MIGRATIONS.run_direct(None, &mut *tx, false).await.map_err(not_migrated)?;
    tx.commit().await?;
    Ok(pending)
}

/// How many migrations have not run yet. Refuses what another program or a newer toolpact made.
async fn pending(db: &mut Connection) -> Result<usize> {
    let (tables, ours): (i64, i64) = sqlx::query_as(
        "SELECT count(*), count(*) FILTER (WHERE name = '_sqlx_migrations')
         FROM sqlite_master WHERE type = 'table'",
    )
    .fetch_one(&mut *db)
    .await?;
    let ran = match (tables, ours) {
        (0, _) => Vec::new(),
        (_, 0) => return Err(foreign()),
        _ => db.list_applied_migrations(MIGRATED).await.map_err(not_migrated)?,
    };
    sql::pending(&MIGRATIONS, &ran)
}

/// There is nobody to tell before a move is committed.
async fn notify(_: &mut Connection, _: &Move) -> Result<()> {
    Ok(())
}

/// A text as a column holds it: as it is.
fn stored(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

/// What [`stored`] was given.
fn unstored(text: String) -> String {
    text
}
