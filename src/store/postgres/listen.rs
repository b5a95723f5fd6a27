//! Moves as the server tells them: `NOTIFY` is part of a move's transaction, and reaches every process that listens when it
//! is committed.

use std::time::Duration;

use sqlx::{
    Executor as _,
    postgres::{PgListener, PgPoolOptions},
};
use tokio::{task::JoinSet, time};

use super::{Address, BUSY, Connection, Result};
use crate::{
    catalog::Move,
    store::{
        PointerChange, PointerChanges, StoreError,
        changes::{Moved, Teller},
        sql::to_json,
    },
};

/// The channel; it counts within one database.
const CHANNEL: &str = "toolpact";
/// How long nothing may be heard before the server is asked whether it is there, and how long it may take to say so: a cut
/// cable tells nobody.
const BEAT: Duration = Duration::from_secs(5);
/// Before another try to connect.
const PAUSE: Duration = Duration::from_millis(500);

/// Says, when the transaction is committed, that a pointer moved.
pub(super) async fn notify(db: &mut Connection, order: &Move) -> Result<()> {
    let moved = Moved {
        environment: order.environment.clone(),
        catalog: order.catalog.clone(),
        generation: order.generation,
    };
    let text = to_json("move", &moved)?;
    sqlx::query("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(text).execute(db).await?;
    Ok(())
}

/// A connection that listens, and what it hears.
pub(super) struct Ear {
    teller: Teller,
    /// Ends with this value.
    _listening: JoinSet<()>,
}

impl Ear {
    /// Listens from now on, for as long as this value lives.
    pub(super) async fn open(address: &Address) -> Result<Self> {
        let (teller, mut listening) = (Teller::default(), JoinSet::new());
        let first = connected(address).await?;
        listening.spawn(listen(first, address.clone(), teller.clone()));
        Ok(Self { teller, _listening: listening })
    }

    pub(super) fn changes(&self) -> PointerChanges {
        self.teller.listen()
    }
}

async fn connected(address: &Address) -> Result<PgListener> {
    // Not of the pools of others: it is held for ever, and one that is dead must not be waited for.
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .max_lifetime(None)
        .idle_timeout(None)
        .acquire_timeout(BUSY)
        .connect_lazy_with(address.0.as_ref().clone());
    let connecting = async {
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.eager_reconnect(false);
        listener.listen(CHANNEL).await?;
        Ok::<_, sqlx::Error>(listener)
    };
    let late = |_| StoreError::Database(format!("no answer within {} s", BUSY.as_secs()).into());
    Ok(time::timeout(BUSY, connecting).await.map_err(late)??)
}

async fn listen(mut listener: PgListener, address: Address, teller: Teller) {
    loop {
        let why = until_lost(&mut listener, &teller).await;
        tracing::warn!("moves of pointers are not heard: {why}");
        teller.tell(PointerChange::Lost);
        listener = loop {
            match connected(&address).await {
                Ok(listener) => break listener,
                Err(error) => tracing::debug!("moves of pointers are not heard yet: {error:?}"),
            }
            time::sleep(PAUSE).await;
        };
        tracing::warn!("moves of pointers are heard again");
        teller.tell(PointerChange::Regained);
    }
}

/// Tells what is heard until nothing is heard any more; answers why.
async fn until_lost(listener: &mut PgListener, teller: &Teller) -> String {
    loop {
        match time::timeout(BEAT, listener.try_recv()).await {
            Ok(Ok(Some(heard))) => teller.tell(match serde_json::from_str(heard.payload()) {
                Ok(moved) => PointerChange::Moved(moved),
                // Somebody else's word on our channel, or a newer toolpact's: something happened.
                Err(_) => PointerChange::Regained,
            }),
            Ok(Ok(None)) => return "the connection was closed".to_owned(),
            Ok(Err(error)) => return error.to_string(),
            Err(_) => match time::timeout(BEAT, listener.execute("SELECT 1")).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return error.to_string(),
                Err(_) => return format!("no answer within {} s", BEAT.as_secs()),
            },
        }
    }
}
