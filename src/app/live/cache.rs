//! What is live as ready bytes: hosts ask all day, and it changes a few times a week.
//!
//! An answer is kept with the pointer that it was made from. It is given without a look into the store only where nothing
//! can have moved since that pointer was read: where moves are heard ([`PointerChanges`]), none was told, and none was made
//! here. Any change makes every pointer be read once more; the bytes are made again only where the pointer stands elsewhere.
//! While moves are not heard, each request reads its pointer. Where a connection is cut without a word, that is noticed by
//! the store within ten seconds (`store/postgres/listen.rs`).
//!
//! So one process never goes back. Of several, one may hear of a move some milliseconds after another: a host that says
//! what it has (`If-None-Match`) is never given something older, for what it has is not what is kept here then, and the
//! pointer is read.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::task::JoinSet;

use super::super::{App, AppError};
use crate::{
    catalog::{EnvironmentPointer, Version},
    name::{CatalogName, EnvironmentName, ServerName},
    store::{PointerChange, PointerChanges, Store},
};

/// What all kept answers may take. The largest lists of real servers are some megabytes.
const MOST_BYTES: usize = 64 << 20;

/// What an answer takes beside its bytes: its key, its tag and its place in the table. Rounded up.
const BESIDE: usize = 1 << 10;

/// Before another try to listen.
const PAUSE: Duration = Duration::from_secs(1);

/// Which answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// What is live here.
    pub environment: EnvironmentName,
    /// Of this catalog; may be left out where one was ever live there.
    pub catalog: Option<CatalogName>,
    /// In this form, whose bytes are made of the version alone.
    pub form: &'static str,
    /// Only of this server.
    pub server: Option<ServerName>,
}

/// An answer as it is sent.
#[derive(Debug)]
pub struct Ready {
    /// What it was made from.
    pub pointer: EnvironmentPointer,
    /// Its ETag: the digest of what is live and all that tells two answers apart.
    pub tag: Bytes,
    /// Its body.
    pub body: Bytes,
}

impl Ready {
    fn size(&self) -> usize {
        BESIDE + self.tag.len() + self.body.len()
    }

    /// Whether it is the answer where this pointer stands. Versions never change, so another generation with the same
    /// version has the same bytes.
    fn is_of(&self, pointer: &EnvironmentPointer) -> bool {
        let kept = &self.pointer;
        (&kept.catalog, kept.version, &kept.digest) == (&pointer.catalog, pointer.version, &pointer.digest)
    }
}

/// The answers that are kept.
#[derive(Debug, Default)]
pub(in crate::app) struct Cache {
    shared: Arc<Shared>,
    /// Hears of moves from the first request on; ends with this value.
    listening: OnceLock<JoinSet<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Whether moves are heard.
    hears: AtomicBool,
    /// Grows with every change that pointers may have gone through.
    changes: AtomicU64,
    table: RwLock<Table>,
}

#[derive(Debug, Default)]
struct Table {
    kept: HashMap<Wanted, Kept>,
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    ready: Arc<Ready>,
    /// How many changes there were before its pointer was read last.
    changes: u64,
}

impl Cache {
    /// Something may have moved. Said before a move that was made here is answered.
    pub(in crate::app) fn changed(&self) {
        self.shared.changed();
    }

    /// Listens from now on, where nobody did yet. Not waited for: until moves are heard nothing is trusted.
    fn listen(&self, store: &Arc<dyn Store>) {
        self.listening.get_or_init(|| {
            let mut task = JoinSet::new();
            task.spawn(listen(store.clone(), self.shared.clone()));
            task
        });
    }
}

impl Shared {
    fn changed(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// The kept answer, and whether its pointer still stands for certain.
    fn get(&self, wanted: &Wanted) -> Option<(Arc<Ready>, bool)> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let kept = table.kept.get(wanted)?;
        let certain =
            self.hears.load(Ordering::SeqCst) && kept.changes == self.changes.load(Ordering::SeqCst);
        Some((kept.ready.clone(), certain))
    }

    /// Keeps an answer whose pointer was read after so many changes, unless a later one is kept already.
    fn keep(&self, wanted: Wanted, ready: Arc<Ready>, changes: u64) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let later = |kept: &Kept| kept.ready.pointer.generation > ready.pointer.generation;
        if ready.size() > MOST_BYTES || table.kept.get(&wanted).is_some_and(later) {
            return;
        }
        table.remove(&wanted);
        while table.bytes + ready.size() > MOST_BYTES {
            // Any one: what is asked for comes back.
            let Some(other) = table.kept.keys().next().cloned() else { break };
            table.remove(&other);
        }
        table.bytes += ready.size();
        table.kept.insert(wanted, Kept { ready, changes });
    }
}

impl Table {
    fn remove(&mut self, wanted: &Wanted) {
        if let Some(kept) = self.kept.remove(wanted) {
            self.bytes -= kept.ready.size();
        }
    }
}

/// Hears of moves until the store is gone.
async fn listen(store: Arc<dyn Store>, shared: Arc<Shared>) {
    let mut told = false;
    loop {
        match store.changes().await {
            Ok(changes) => return hear(changes, &shared).await,
            // Once is enough: every request says in its own way that the database is gone.
            Err(error) if !told => {
                tracing::warn!("moves of pointers are not heard, so each is looked up: {error}");
                told = true;
            }
            Err(error) => tracing::debug!("moves of pointers are not heard yet: {error}"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn hear(mut changes: PointerChanges, shared: &Shared) {
    // What was read before may have moved while nobody listened.
    shared.changed();
    shared.hears.store(true, Ordering::SeqCst);
    while let Some(change) = changes.next().await {
        match change {
            PointerChange::Moved(_) => shared.changed(),
            PointerChange::Lost => shared.hears.store(false, Ordering::SeqCst),
            PointerChange::Regained => {
                shared.changed();
                shared.hears.store(true, Ordering::SeqCst);
            }
        }
    }
    shared.hears.store(false, Ordering::SeqCst);
}

impl App {
    /// What is live where that is certain without a look into the store. `has` says whether the caller has what a tag stands
    /// for: whoever has something else may have it from a process that heard of a move before this one.
    #[must_use]
    pub fn live_kept(&self, wanted: &Wanted, has: impl Fn(&str) -> bool) -> Option<Arc<Ready>> {
        let (ready, certain) = self.cache.shared.get(wanted)?;
        self.permit_reading(&ready.pointer).ok()?;
        (certain && std::str::from_utf8(&ready.tag).is_ok_and(has)).then_some(ready)
    }

    /// What is live, as ready bytes. `has` says whether the caller has what a tag stands for; `made` makes the tag and the
    /// body.
    ///
    /// # Errors
    /// As [`App::live`], and where `made` fails.
    pub async fn live_bytes<E: From<AppError>>(
        &self,
        wanted: Wanted,
        has: impl Fn(&str) -> bool,
        made: impl AsyncFnOnce(&EnvironmentPointer, Version) -> Result<(String, Vec<u8>), E>,
    ) -> Result<Arc<Ready>, E> {
        let mut wanted = wanted;
        if wanted.catalog.is_none() && self.caller().is_some_and(|caller| caller.scope.catalogs.is_some()) {
            // The only one within a scope is not the only one for everybody.
            wanted.catalog = Some(self.chosen_catalog(None).await?);
        }
        let shared = &self.cache.shared;
        self.cache.listen(&self.store);
        if let Some(ready) = self.live_kept(&wanted, has) {
            return Ok(ready);
        }
        let kept = shared.get(&wanted);
        let changes = shared.changes.load(Ordering::SeqCst);
        let pointer = self.live(&wanted.environment, wanted.catalog.as_ref()).await?;
        let ready = match kept {
            Some((ready, _)) if ready.pointer.generation == pointer.generation && ready.is_of(&pointer) => {
                ready
            }
            Some((ready, _)) if ready.is_of(&pointer) => {
                Arc::new(Ready { pointer, tag: ready.tag.clone(), body: ready.body.clone() })
            }
            _ => {
                let version = self.version(&pointer.catalog, pointer.version).await?;
                let (tag, body) = made(&pointer, version).await?;
                Arc::new(Ready { pointer, tag: tag.into(), body: body.into() })
            }
        };
        shared.keep(wanted, ready.clone(), changes);
        Ok(ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Digest;

    fn wanted(server: Option<&str>) -> Wanted {
        Wanted {
            environment: "production".parse().expect("a name"),
            catalog: None,
            form: "mcp",
            server: server.map(|s| s.parse().expect("a name")),
        }
    }

    fn ready(generation: i64, bytes: usize) -> Arc<Ready> {
        let pointer = EnvironmentPointer {
            environment: "production".parse().expect("a name"),
            catalog: "orders".parse().expect("a name"),
            version: "2026.11.30".parse().expect("a version"),
            digest: Digest::of_bytes(b"x"),
            generation,
            hold: None,
            moved_by: "ann".to_owned(),
            moved_at: chrono::DateTime::UNIX_EPOCH,
        };
        Arc::new(Ready { pointer, tag: Bytes::from_static(b"\"x\""), body: vec![b'x'; bytes].into() })
    }

    fn certain(shared: &Shared) -> Option<(i64, bool)> {
        shared.get(&wanted(None)).map(|(ready, certain)| (ready.pointer.generation, certain))
    }

    #[test]
    fn an_answer_stands_only_while_moves_are_heard_and_none_was() {
        let shared = Shared::default();
        shared.keep(wanted(None), ready(1, 1), 0);
        assert_eq!(certain(&shared), Some((1, false)), "nobody listens yet");
        shared.changed();
        shared.hears.store(true, Ordering::SeqCst);
        assert_eq!(certain(&shared), Some((1, false)), "it may have moved before anybody listened");
        shared.keep(wanted(None), ready(1, 1), 1);
        assert_eq!(certain(&shared), Some((1, true)));
        shared.changed();
        assert_eq!(certain(&shared), Some((1, false)), "something moved");
        // A pointer that was read before that.
        shared.keep(wanted(None), ready(1, 1), 1);
        assert_eq!(certain(&shared), Some((1, false)));
        shared.keep(wanted(None), ready(2, 1), 2);
        assert_eq!(certain(&shared), Some((2, true)));
        shared.keep(wanted(None), ready(1, 1), 2);
        assert_eq!(certain(&shared), Some((2, true)), "a slow reader takes nothing back");
        shared.hears.store(false, Ordering::SeqCst);
        assert_eq!(certain(&shared), Some((2, false)), "nothing is heard any more");
    }

    #[tokio::test]
    async fn what_is_heard_decides_what_stands() {
        let store: Arc<dyn Store> =
            Arc::new(crate::store::sqlite::SqliteStore::in_memory().await.expect("SQLite in memory"));
        let shared = Shared::default();
        // The store is gone, so nothing is heard.
        let changes = store.changes().await.expect("heard");
        drop(store);
        hear(changes, &shared).await;
        assert!(!shared.hears.load(Ordering::SeqCst));
        assert_eq!(shared.changes.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn what_is_kept_has_an_end() {
        let shared = Shared::default();
        for n in 0..40 {
            shared.keep(wanted(Some(&format!("s{n}"))), ready(1, MOST_BYTES / 8), 0);
            shared.keep(wanted(Some("same")), ready(1, 10 * n), 0);
        }
        shared.keep(wanted(Some("huge")), ready(1, MOST_BYTES), 0);
        let table = shared.table.read().expect("whole");
        let sum: usize = table.kept.values().map(|kept| kept.ready.size()).sum();
        assert_eq!(table.bytes, sum);
        assert!(sum <= MOST_BYTES && table.kept.len() >= 7, "{} in {sum}", table.kept.len());
        assert!(!table.kept.contains_key(&wanted(Some("huge"))));
    }
}
