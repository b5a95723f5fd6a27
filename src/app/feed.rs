//! The log as it grows, for whoever follows it: on any process, whichever process writes.
//!
//! One task a process asks for the number of the newest event, as long as anybody follows; followers read for themselves.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::{sync::watch, task::JoinSet, time};

use super::{App, AppError};
use crate::{catalog::Event, store::Store};

/// Between two looks at the number. A look reads one end of one index.
const PAUSE: Duration = Duration::from_millis(250);
/// Events that are handed on at a time.
const BATCH: usize = 500;

/// What the followers of one process share.
pub(super) struct Feed {
    watched: Mutex<Weak<Watched>>,
    open: watch::Sender<bool>,
}

impl Default for Feed {
    fn default() -> Self {
        Self { watched: Mutex::default(), open: watch::Sender::new(true) }
    }
}

/// The number of the newest event, for as long as this value lives.
struct Watched {
    newest: watch::Receiver<i64>,
    /// Ends with this value.
    _watching: JoinSet<()>,
}

impl Watched {
    fn begin(store: Arc<dyn Store>, newest: i64) -> Self {
        let (tell, told) = watch::channel(newest);
        let mut watching = JoinSet::new();
        watching.spawn(async move {
            loop {
                time::sleep(PAUSE).await;
                match store.last_event().await {
                    Ok(now) => {
                        tell.send_if_modified(|newest| std::mem::replace(newest, now) != now);
                    }
                    Err(error) => tracing::debug!("the log is not followed for now: {error}"),
                }
            }
        });
        Self { newest: told, _watching: watching }
    }
}

/// The log from some event on.
pub struct Followed {
    store: Arc<dyn Store>,
    _watched: Arc<Watched>,
    newest: watch::Receiver<i64>,
    open: watch::Receiver<bool>,
    last: i64,
}

impl Followed {
    /// The next events, in order and without a gap; nothing where the service stops. May be given up at any time.
    ///
    /// # Errors
    /// Where the store fails; whoever asks again misses nothing.
    pub async fn next(&mut self) -> Result<Option<Vec<Event>>, AppError> {
        loop {
            if !*self.open.borrow() {
                return Ok(None);
            }
            // Before it is read: what comes meanwhile is a change.
            self.newest.borrow_and_update();
            let events = self.store.events_after(self.last, BATCH).await?;
            if let Some(last) = events.last() {
                self.last = last.seq;
                return Ok(Some(events));
            }
            tokio::select! {
                changed = self.newest.changed() => if changed.is_err() { return Ok(None) },
                _ = self.open.wait_for(|open| !open) => return Ok(None),
            }
        }
    }
}

impl App {
    /// Follows the log from the event after this one, or from now on.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn follow_events(&self, after: Option<i64>) -> Result<Followed, AppError> {
        let newest = self.store.last_event().await?;
        let watched = {
            let mut shared = self.feed.watched.lock().unwrap_or_else(PoisonError::into_inner);
            shared.upgrade().unwrap_or_else(|| {
                let begun = Arc::new(Watched::begin(self.store.clone(), newest));
                *shared = Arc::downgrade(&begun);
                begun
            })
        };
        Ok(Followed {
            store: self.store.clone(),
            newest: watched.newest.clone(),
            _watched: watched,
            open: self.feed.open.subscribe(),
            last: after.unwrap_or(newest),
        })
    }

    /// Ends when the service is about to stop, for whatever an answer would otherwise wait for.
    pub async fn stopping(&self) {
        let mut open = self.feed.open.subscribe();
        // One that is gone is stopped as well.
        _ = open.wait_for(|open| !open).await;
    }

    /// Ends what every follower waits for: the service is about to stop.
    pub fn stop_following(&self) {
        self.feed.open.send_replace(false);
    }
}
