//! Moves that other processes make in the same file: SQLite tells nobody, but counts commits.

use std::{collections::BTreeMap, time::Duration};

use sqlx::{ConnectOptions as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::{task::JoinSet, time};

use super::Result;
use crate::store::{
    PointerChange,
    changes::{Moved, Teller},
    sql::parsed,
};

/// Between two looks at the count. A look reads one number in shared memory.
const PAUSE: Duration = Duration::from_millis(20);

/// Where each pointer stands.
type Pointers = BTreeMap<(String, String), i64>;

/// Tells the moves of other processes for as long as what it answers lives.
pub(super) async fn watch(options: &SqliteConnectOptions, teller: Teller) -> Result<JoinSet<()>> {
    let mut db = options.connect().await?;
    let mut seen = (version(&mut db).await?, pointers(&mut db).await?);
    let mut watching = JoinSet::new();
    watching.spawn(async move {
        let mut heard = true;
        loop {
            time::sleep(PAUSE).await;
            let now = look(&mut db, &mut seen, &teller).await;
            if let (Err(error), true) = (&now, heard) {
                tracing::warn!("moves of pointers are not heard: {error}");
                teller.tell(PointerChange::Lost);
            } else if now.is_ok() && !heard {
                teller.tell(PointerChange::Regained);
            }
            heard = now.is_ok();
        }
    });
    Ok(watching)
}

/// Tells what moved since `seen`.
async fn look(db: &mut SqliteConnection, seen: &mut (i64, Pointers), teller: &Teller) -> Result<()> {
    let version = version(db).await?;
    if version == seen.0 {
        return Ok(());
    }
    let now = pointers(db).await?;
    for ((environment, catalog), generation) in &now {
        if seen.1.get(&(environment.clone(), catalog.clone())) != Some(generation) {
            teller.tell(PointerChange::Moved(Moved {
                environment: parsed("environment name", environment)?,
                catalog: parsed("catalog name", catalog)?,
                generation: *generation,
            }));
        }
    }
    *seen = (version, now);
    Ok(())
}

/// A number that is another whenever another connection committed.
async fn version(db: &mut SqliteConnection) -> Result<i64> {
    Ok(sqlx::query_scalar("PRAGMA data_version").fetch_one(db).await?)
}

async fn pointers(db: &mut SqliteConnection) -> Result<Pointers> {
    let rows: Vec<(String, String, i64)> =
        sqlx::query_as("SELECT environment, catalog, generation FROM pointers").fetch_all(db).await?;
    Ok(rows
        .into_iter()
        .map(|(environment, catalog, generation)| ((environment, catalog), generation))
        .collect())
}
