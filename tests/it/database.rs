//! A database of a test's own: a SQLite file, or with `TEST_POSTGRES_URL` set one on that server, made for the test and
//! dropped after it. `tests/run` runs the tests that keep something on both.

use std::{
    cell::RefCell,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, PgConnection, SqliteConnection,
    sqlite::SqliteConnectOptions,
};
use tempfile::TempDir;
use toolpact::{
    app::{App, Clock, Place},
    store::{Store, sqlite::SqliteStore},
};

/// A database without tables.
pub(crate) enum Own {
    File(TempDir),
    Server { server: String, name: String },
}

impl Own {
    pub(crate) async fn new() -> Self {
        let Some(server) = server() else {
            return Self::File(tempfile::tempdir().expect("a folder"));
        };
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!("test_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let create = format!("CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0");
        on_server(&server, &create).await;
        Self::Server { server, name }
    }

    /// What names it on a command line.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::File(folder) => folder.path().join("toolpact.db").to_string_lossy().into_owned(),
            Self::Server { server, name } => at(server, name),
        }
    }

    pub(crate) fn place(&self) -> Place {
        self.url().parse().expect("a place")
    }

    /// The use cases over it.
    pub(crate) async fn open(&self, clock: Arc<dyn Clock>) -> App {
        App::migrate(&self.place()).await.unwrap_or_else(|e| panic!("{e}"));
        App::open(&self.place(), clock).await.unwrap_or_else(|e| panic!("{e}"))
    }

    /// A connection behind the back of the use cases.
    pub(crate) async fn behind(&self) -> Behind {
        match self {
            Self::File(_) => Behind::Sqlite(
                SqliteConnectOptions::new()
                    .filename(self.url())
                    .create_if_missing(true)
                    .connect()
                    .await
                    .expect("a second connection"),
            ),
            Self::Server { .. } => Behind::on_server(&self.url()).await,
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let Self::Server { server, name } = self else { return };
        let (server, drop) = (server.clone(), format!("DROP DATABASE {name} WITH (FORCE)"));
        // The test's own runtime may be gone by now.
        let dropped = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(on_server(&server, &drop));
        });
        _ = dropped.join();
    }
}

/// The server to test with, where there is one.
pub(crate) fn server() -> Option<String> {
    std::env::var("TEST_POSTGRES_URL").ok().filter(|url| !url.is_empty())
}

/// The URL of another database on the same server.
fn at(server: &str, name: &str) -> String {
    let (before, parameters) =
        server.split_once('?').map_or((server, String::new()), |(b, p)| (b, format!("?{p}")));
    let end = before.find("://").map_or(0, |at| at + 3);
    let host = before[end..].split('/').next().unwrap_or_default();
    format!("{}{host}/{name}{parameters}", &before[..end])
}

async fn on_server(server: &str, sql: &str) {
    let mut db = PgConnection::connect(server).await.expect("TEST_POSTGRES_URL names a server that answers");
    db.execute(AssertSqlSafe(sql.to_owned())).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    _ = db.close().await;
}

/// A store of the test's own, with its tables, that lasts as long as the test.
pub(crate) async fn store() -> Arc<dyn Store> {
    thread_local! {
        // Dropped when the test's thread ends.
        static OWN: RefCell<Vec<Own>> = const { RefCell::new(Vec::new()) };
    }
    if server().is_none() {
        return Arc::new(SqliteStore::in_memory().await.expect("SQLite in memory"));
    }
    let own = Own::new().await;
    own.place().migrate().await.unwrap_or_else(|e| panic!("{e}"));
    let store = own.place().open().await.unwrap_or_else(|e| panic!("{e}"));
    OWN.with_borrow_mut(|all| all.push(own));
    store
}

/// A connection that knows no rules but those of the database.
pub(crate) enum Behind {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Behind {
    pub(crate) async fn on_server(url: &str) -> Self {
        Self::Postgres(PgConnection::connect(url).await.expect("a second connection"))
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// How many rows it changed, or what was refused.
    pub(crate) async fn run(&mut self, sql: &str) -> Result<u64, String> {
        let sql = AssertSqlSafe(sql.to_owned());
        match self {
            Self::Sqlite(db) => sqlx::raw_sql(sql).execute(db).await.map(|d| d.rows_affected()),
            Self::Postgres(db) => sqlx::raw_sql(sql).execute(db).await.map(|d| d.rows_affected()),
        }
        .map_err(|e| e.to_string())
    }

    /// The number that a query answers.
    pub(crate) async fn number(&mut self, sql: &str) -> i64 {
        let query = AssertSqlSafe(sql.to_owned());
        match self {
            Self::Sqlite(db) => sqlx::query_scalar(query).fetch_one(db).await,
            Self::Postgres(db) => sqlx::query_scalar(query).fetch_one(db).await,
        }
        .unwrap_or_else(|e| panic!("{sql}: {e}"))
    }

    /// The texts that a query answers.
    pub(crate) async fn texts(&mut self, sql: &str) -> Vec<String> {
        let query = AssertSqlSafe(sql.to_owned());
        match self {
            Self::Sqlite(db) => sqlx::query_scalar(query).fetch_all(db).await,
            Self::Postgres(db) => sqlx::query_scalar(query).fetch_all(db).await,
        }
        .unwrap_or_else(|e| panic!("{sql}: {e}"))
    }

    pub(crate) async fn count(&mut self, table: &str) -> i64 {
        self.number(&format!("SELECT count(*) FROM {table}")).await
    }
}

/// A place that is a file.
pub(crate) fn file(path: &Path) -> Place {
    Place::from(path)
}
