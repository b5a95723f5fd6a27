//! The store on PostgreSQL, for several processes on several machines.
//!
//! Like on SQLite there is one writer at a time: every write takes an advisory lock before it looks. The events are one
//! chain, so that writers would wait for each other at the end of it anyway; this way they wait before they have read
//! anything, what a write read cannot change under it, numbers are given in the order of commits, and there is nothing
//! to retry. Reads wait for nobody. An answered move has reached the disk: `synchronous_commit` is never off.
#![allow(clippy::duplicate_mod, reason = "one text of statements, compiled once for each database")]

#[path = "sql/access.rs"]
mod access;
#[path = "sql/answers.rs"]
mod answers;
mod bounded;
#[path = "sql/catalogs.rs"]
mod catalogs;
#[path = "sql/checks.rs"]
mod checks;
#[path = "sql/environments.rs"]
mod environments;
#[path = "sql/events.rs"]
mod events;
mod listen;
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
#[path = "sql/webhooks.rs"]
mod webhooks;

use std::{borrow::Cow, fmt, str::FromStr, sync::Arc, time::Duration};

use bounded::{Reader, Session as Connection, Write};
use chrono::DateTime;
use listen::{Ear, notify};
use sqlx::{
    Connection as _, Executor as _, PgConnection, PgPool,
    migrate::{Migrate as _, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
};

use tokio::sync::OnceCell;

use super::{
    Claim, InvalidPlace, PointerChanges, Result, StoreError,
    sql::{self, MIGRATED, foreign, not_migrated},
    upkeep::Condition,
};

use crate::catalog::Move;

/// What the statements of `sql/` are written for here.
type Database = PostgresStore;

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/postgres");

/// How long anything waits for a connection.
const BUSY: Duration = Duration::from_secs(10);
/// Of writers only one works at a time; a second is at hand when it is done. Readers have connections of their own, so
/// that waiting writers never hold them all.
const WRITERS: u32 = 2;
const READERS: u32 = 8;

/// For every connection. A write that was answered is on the disk (what the administrator asks beyond that stays), a
/// statement or a wait for the lock ends (sooner, where the administrator says so), and a process that stopped in the middle
/// of a write gives the lock back.
const SESSION: &str = "
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
    SELECT set_config(bound.name, bound.most::text, false)
        FROM (VALUES ('statement_timeout', 20000), ('lock_timeout', 10000), ('idle_in_transaction_session_timeout', 15000))
            AS bound (name, most)
        JOIN pg_settings USING (name)
        WHERE pg_settings.setting::bigint NOT BETWEEN 1 AND bound.most;
";

/// `READ COMMITTED`, whatever the default: each statement sees all that was committed before it began, and so all that was
/// written before this lock was taken.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// The key of the lock: `toolpact` in ASCII. A lock counts within one database.
const WRITE_LOCK: i64 = 0x746f_6f6c_7061_6374;

/// A database.
#[derive(Clone)]
pub struct PostgresStore {
    writer: PgPool,
    reader: Reader,
    address: Address,
    /// Open from when somebody listens.
    ear: Arc<OnceCell<Ear>>,
    /// Under which all is written, where there is one.
    claim: Option<Claim>,
}

impl PostgresStore {
    /// Opens a database whose tables are up to date.
    ///
    /// # Errors
    /// Where nobody answers, or its tables are missing, older or newer.
    pub async fn open(address: &Address) -> Result<Self> {
        let mut db = address.connect().await?;
        match pending(&mut db).await? {
            0 => db.close().await?,
            n => return Err(StoreError::Outdated(n)),
        }
        let pool = |connections| {
            PgPoolOptions::new()
                .max_connections(connections)
                .acquire_timeout(BUSY)
                .after_connect(|db, _| Box::pin(async move { db.execute(SESSION).await.map(|_| ()) }))
                .test_before_acquire(false)
                .before_acquire(|db, _| Box::pin(async move { Ok(bounded::answers(db).await) }))
                .after_release(|db, _| Box::pin(async move { Ok(bounded::answers(db).await) }))
                .connect_lazy_with(address.0.as_ref().clone())
        };
        let (writer, reader) = (pool(WRITERS), Reader(pool(READERS)));
        Ok(Self { writer, reader, address: address.clone(), ear: Arc::default(), claim: None })
    }

    /// Brings the tables up to date; answers how many migrations it ran. Of many that do so at once one works, and the
    /// others find it done.
    ///
    /// # Errors
    /// Where nobody answers, or the database is another program's or made by a newer toolpact.
    pub async fn migrate(address: &Address) -> Result<usize> {
        let mut db = address.connect().await?;
        let before = pending(&mut db).await?;
        if before > 0 {
            MIGRATIONS.run_direct(None, &mut db, false).await.map_err(not_migrated)?;
        }
        db.close().await?;
        Ok(before)
    }

    /// How the database is.
    pub(super) async fn examine(address: &Address) -> Result<Condition> {
        let mut db = address.connect().await?;
        let version: String = sqlx::query_scalar("SHOW server_version").fetch_one(&mut db).await?;
        let pending = Some(pending(&mut db).await?);
        let fsync: String = sqlx::query_scalar("SHOW fsync").fetch_one(&mut db).await?;
        let (faults, durable) = (Vec::new(), Some(fsync == "on"));
        let micros: i64 =
            sqlx::query_scalar("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)")
                .fetch_one(&mut db)
                .await?;
        let clock = DateTime::from_timestamp_micros(micros);
        db.close().await?;
        Ok(Condition { engine: format!("PostgreSQL {version}"), pending, faults, durable, clock, room: None })
    }

    /// A transaction that holds the write lock from the start.
    async fn write(&self) -> Result<Write> {
        let mut tx = Write::begin(&self.writer, BEGIN).await?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(WRITE_LOCK).execute(&mut *tx).await?;
        if let Some(claim) = &self.claim {
            polls::stands(&mut tx, claim).await?;
        }
        Ok(tx)
    }

    /// Nothing is left to say here: the server tells everybody, this process included.
    fn moved(&self, _: &Move) {}

    async fn listen(&self) -> Result<PointerChanges> {
        Ok(self.ear.get_or_try_init(|| Ear::open(&self.address)).await?.changes())
    }
}

/// A database of a PostgreSQL server. Shown without its password.
#[derive(Clone)]
pub struct Address(Box<PgConnectOptions>);

impl Address {
    /// A connection of its own, without the bounds of a session.
    async fn connect(&self) -> Result<PgConnection> {
        let connecting = PgConnection::connect_with(&self.0);
        let late = |_| StoreError::Database(format!("no answer within {} s", BUSY.as_secs()).into());
        Ok(tokio::time::timeout(BUSY, connecting).await.map_err(late)??)
    }
}

impl FromStr for Address {
    type Err = InvalidPlace;
    /// A URL; what it leaves open is taken from `PGHOST`, `PGPASSWORD` and their like.
    fn from_str(url: &str) -> std::result::Result<Self, InvalidPlace> {
        let options: PgConnectOptions = url.parse().map_err(|e| match e {
            sqlx::Error::Configuration(cause) => InvalidPlace::Url(cause.to_string()),
            _ => {
                InvalidPlace::Url("it is not written postgres://USER:PASSWORD@HOST:PORT/DATABASE".to_owned())
            }
        })?;
        Ok(Self(Box::new(options.application_name("toolpact"))))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, port) = (self.0.get_username(), self.0.get_port());
        let host = self.0.get_socket().map_or(self.0.get_host().into(), |socket| socket.to_string_lossy());
        write!(f, "postgres://{user}@{host}:{port}/{}", self.0.get_database().unwrap_or(user))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How many migrations have not run yet. Refuses what another program or a newer toolpact made.
async fn pending(db: &mut PgConnection) -> Result<usize> {
    let encoding: String = sqlx::query_scalar("SHOW server_encoding").fetch_one(&mut *db).await?;
    if encoding != "UTF8" {
        let why = format!("its encoding is {encoding}; create it with ENCODING 'UTF8' TEMPLATE template0");
        return Err(StoreError::Database(why.into()));
    }
    let (tables, ours): (i64, i64) = sqlx::query_as(
        "SELECT count(*), count(*) FILTER (WHERE tablename = '_sqlx_migrations')
         FROM pg_tables WHERE schemaname = current_schema()",
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

/// A text that a server chose, as a column holds it: PostgreSQL has no U+0000 in texts.
fn stored(text: &str) -> Cow<'_, str> {
    if text.contains(['\0', '\\']) {
        text.replace('\\', "\\\\").replace('\0', "\\0").into()
    } else {
        text.into()
    }
}

/// What [`stored`] was given.
fn unstored(text: String) -> String {
    if !text.contains('\\') {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut escaped = false;
    for c in text.chars() {
        match (escaped, c) {
            (false, '\\') => escaped = true,
            (true, '0') => {
                out.push('\0');
                escaped = false;
            }
            _ => {
                out.push(c);
                escaped = false;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection as _, Executor as _, PgConnection};

    use super::{SESSION, stored, unstored};

    #[tokio::test]
    async fn a_session_is_bounded_and_tighter_bounds_stay() {
        let Some(url) = std::env::var("TEST_POSTGRES_URL").ok().filter(|url| !url.is_empty()) else { return };
        let mut db = PgConnection::connect(&url).await.expect("it answers");
        for (asked, statement, lock) in [("", "20s", "10s"), ("1s", "1s", "1s"), ("1h", "20s", "10s")] {
            if !asked.is_empty() {
                let sql = format!("SET statement_timeout = '{asked}'; SET lock_timeout = '{asked}'");
                db.execute(sqlx::AssertSqlSafe(sql)).await.expect("set");
            }
            db.execute(SESSION).await.expect("bounded");
            for (name, bound) in [
                ("statement_timeout", statement),
                ("lock_timeout", lock),
                ("idle_in_transaction_session_timeout", "15s"),
            ] {
                let is: String = sqlx::query_scalar("SELECT current_setting($1)")
                    .bind(name)
                    .fetch_one(&mut db)
                    .await
                    .expect("set");
                assert_eq!(is, bound, "{name} where {asked:?} was asked for");
            }
        }
    }

    #[test]
    fn a_text_comes_back_as_it_was_stored() {
        for text in ["", "plain", "\0", "a\0b", "\\0", "\\", "\\\\0\0\\", "\0\\0", "é\0高"] {
            let kept = stored(text);
            assert!(!kept.contains('\0'), "{text:?}");
            assert_eq!(unstored(kept.into_owned()), text, "{text:?}");
        }
    }
}
