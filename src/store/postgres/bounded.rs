//! Connections on which nobody waits for ever. The server ends statements that take too long, but only this side notices a
//! server that says nothing more: one that hangs, or a network that swallows what is sent.

use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

use futures_util::stream::{self, BoxStream, StreamExt as _};
use sqlx::{
    Describe, Either, Execute, Executor, PgConnection, PgPool, Postgres, SqlStr, Transaction,
    pool::PoolConnection,
    postgres::{PgQueryResult, PgRow, PgStatement, PgTypeInfo},
};
use tokio::time;

/// How long a server may say nothing while it is asked for something: longer than it lets a statement take.
const SILENCE: Duration = Duration::from_secs(25);
/// How long it may say nothing while it is asked for nothing.
const PING: Duration = Duration::from_secs(2);

type Future<'e, T> = std::pin::Pin<Box<dyn std::future::Future<Output = sqlx::Result<T>> + Send + 'e>>;

fn late() -> sqlx::Error {
    sqlx::Error::Io(std::io::Error::new(
        std::io::ErrorKind::TimedOut,
        format!("no answer within {} s", SILENCE.as_secs()),
    ))
}

async fn bounded<T>(work: impl std::future::Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    time::timeout(SILENCE, work).await.unwrap_or_else(|_| Err(late()))
}

/// Whether a connection that is taken from the pool or given back can be used. The pool's own question waits for as long as
/// a connection may be waited for, or for ever.
pub(super) async fn answers(db: &mut PgConnection) -> bool {
    matches!(time::timeout(PING, sqlx::Connection::ping(db)).await, Ok(Ok(())))
}

/// A pool to read from.
#[derive(Debug, Clone)]
pub(super) struct Reader(pub(super) PgPool);

impl Reader {
    pub(super) async fn acquire(&self) -> sqlx::Result<Session> {
        Ok(Session::Reading(self.0.acquire().await?))
    }
}

/// One connection.
#[derive(Debug)]
pub(super) enum Session {
    Reading(PoolConnection<Postgres>),
    Writing(Transaction<'static, Postgres>),
}

impl Session {
    fn connection(&mut self) -> &mut PgConnection {
        match self {
            Self::Reading(db) => db,
            Self::Writing(tx) => tx,
        }
    }
}

/// A transaction; undone where it is dropped.
pub(super) struct Write(Session);

impl Write {
    pub(super) async fn begin(pool: &PgPool, statement: &'static str) -> sqlx::Result<Self> {
        Ok(Self(Session::Writing(bounded(pool.begin_with(statement)).await?)))
    }

    /// Where that fails, nobody knows whether it was done.
    pub(super) async fn commit(self) -> sqlx::Result<()> {
        match self.0 {
            Session::Writing(tx) => bounded(tx.commit()).await,
            Session::Reading(_) => Ok(()),
        }
    }
}

impl Deref for Write {
    type Target = Session;
    fn deref(&self) -> &Session {
        &self.0
    }
}

impl DerefMut for Write {
    fn deref_mut(&mut self) -> &mut Session {
        &mut self.0
    }
}

type Rows<'e> = BoxStream<'e, sqlx::Result<Either<PgQueryResult, PgRow>>>;

/// The same rows, or an error where the next one does not come.
fn bounded_rows(rows: Rows<'_>) -> Rows<'_> {
    stream::unfold(Some(rows), |rows| async {
        let mut rows = rows?;
        match time::timeout(SILENCE, rows.next()).await {
            Ok(next) => next.map(|row| (row, Some(rows))),
            Err(_) => Some((Err(late()), None)),
        }
    })
    .boxed()
}

/// What both are asked through.
macro_rules! executor {
    ($lifetime:lifetime, $type:ty, $inner:expr) => {
        impl<$lifetime> Executor<$lifetime> for $type {
            type Database = Postgres;

            fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> Rows<'e>
            where
                $lifetime: 'e,
                E: 'q + Execute<'q, Postgres>,
            {
                bounded_rows($inner(self).fetch_many(query))
            }

            fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> Future<'e, Option<PgRow>>
            where
                $lifetime: 'e,
                E: 'q + Execute<'q, Postgres>,
            {
                Box::pin(bounded($inner(self).fetch_optional(query)))
            }

            fn prepare_with<'e>(self, sql: SqlStr, parameters: &'e [PgTypeInfo]) -> Future<'e, PgStatement>
            where
                $lifetime: 'e,
            {
                Box::pin(bounded($inner(self).prepare_with(sql, parameters)))
            }

            fn describe<'e>(self, sql: SqlStr) -> Future<'e, Describe<Postgres>>
            where
                $lifetime: 'e,
            {
                Box::pin(bounded($inner(self).describe(sql)))
            }
        }
    };
}

executor!('c, &'c Reader, |reader: &'c Reader| &reader.0);
executor!('c, &'c mut Session, Session::connection);
