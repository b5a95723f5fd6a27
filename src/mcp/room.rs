//! Room for long lists: what all listings of a process may hold of its memory at once.
//!
//! Most lists have some kilobytes and wait for nobody. One that turns out longer takes one of a few places, one that is
//! longer than those the only one of its kind, and keeps it until nobody has the listing any more. Places are taken in the
//! order of their sizes, so somebody can always go on: who has the largest waits for nothing. To wait is no part of the
//! server's time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Mutex, OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// Bytes that every listing may hold without a place: 64 listings at once make 32 MiB. Few real lists have more, the
/// longest seen 1 MB.
const FREE: usize = 512 << 10;
/// Bytes of a place, and how many there are of it: 32 MiB together, and one for whatever the limits of a listing allow.
const PLACES: [(usize, usize); 2] = [(4 << 20, 8), (usize::MAX, 1)];

/// The places of one process, or of all that is asked together. Clones share them.
#[derive(Debug, Clone)]
pub struct Room {
    places: Arc<[Arc<Semaphore>]>,
    /// Whose listings share what they take.
    together: Option<Arc<Taken>>,
}

impl Default for Room {
    fn default() -> Self {
        let places = PLACES.iter().map(|(_, places)| Arc::new(Semaphore::new(*places))).collect();
        Self { places, together: None }
    }
}

impl Room {
    /// The same room, where all listings share the places that they take: those of one server under its contexts, which
    /// are held until the last has ended and would wait for one another.
    #[must_use]
    pub fn together(&self) -> Self {
        Self { places: Arc::clone(&self.places), together: Some(Arc::new(self.taken())) }
    }

    fn taken(&self) -> Taken {
        let places = Arc::clone(&self.places);
        Taken { places, held: Mutex::default(), count: AtomicUsize::new(0), bytes: AtomicUsize::new(0) }
    }

    /// What a listing that begins now takes: nothing yet.
    pub(super) fn share(&self) -> Share {
        let taken = self.together.clone().unwrap_or_else(|| Arc::new(self.taken()));
        let others = taken.bytes.load(Ordering::Relaxed);
        Share(Arc::new(Inner { taken, others, read: AtomicUsize::new(0), waited: AtomicU64::new(0) }))
    }
}

/// What was taken of a room; given back when this is gone.
#[derive(Debug)]
struct Taken {
    places: Arc<[Arc<Semaphore>]>,
    held: Mutex<Vec<OwnedSemaphorePermit>>,
    /// How many are held.
    count: AtomicUsize,
    /// Bytes of the listings that ended.
    bytes: AtomicUsize,
}

impl Taken {
    /// Bytes that may be held with what was taken.
    fn room(&self) -> usize {
        match self.count.load(Ordering::Relaxed) {
            0 => FREE,
            taken => PLACES.get(taken - 1).map_or(usize::MAX, |(bytes, _)| *bytes),
        }
    }

    /// Takes places until so much may be held. Safe to cancel: what was taken stays.
    async fn take(&self, bytes: usize) {
        let mut held = self.held.lock().await;
        while self.room() < bytes
            && let Some(places) = self.places.get(held.len())
        {
            // Never closed.
            let Ok(place) = Arc::clone(places).acquire_owned().await else { return };
            held.push(place);
            self.count.store(held.len(), Ordering::Relaxed);
        }
    }
}

/// What one listing takes of a room. Clones are the same share.
#[derive(Debug, Clone)]
pub(super) struct Share(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    taken: Arc<Taken>,
    /// Bytes of the listings before it that share its places.
    others: usize,
    /// Bytes of what this one has read to its end.
    read: AtomicUsize,
    /// Microseconds that it waited for places.
    waited: AtomicU64,
}

impl Share {
    /// Bytes that others hold which share its places.
    pub(super) fn others(&self) -> usize {
        self.0.others
    }

    /// What was read to its end has so many bytes.
    pub(super) fn note(&self, bytes: usize) {
        self.0.read.store(bytes, Ordering::Relaxed);
    }

    /// Whether so many bytes more may be held already.
    pub(super) fn has(&self, more: usize) -> bool {
        self.wanted(more) <= self.0.taken.room()
    }

    /// Waits until so many bytes more may be held. Safe to cancel.
    pub(super) async fn hold(&self, more: usize) {
        if self.has(more) {
            return;
        }
        let began = Instant::now();
        self.0.taken.take(self.wanted(more)).await;
        let waited = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.0.waited.fetch_add(waited, Ordering::Relaxed);
    }

    fn wanted(&self, more: usize) -> usize {
        self.0.others + self.0.read.load(Ordering::Relaxed) + more
    }

    /// How long it waited.
    pub(super) fn waited(&self) -> Duration {
        Duration::from_micros(self.0.waited.load(Ordering::Relaxed))
    }

    /// The time without what was waited. All ends of budgets are in this time.
    pub(super) fn now(&self) -> Instant {
        let now = Instant::now();
        now.checked_sub(self.waited()).unwrap_or(now)
    }

    /// The end of a budget on the clock.
    pub(super) fn until(&self, end: Instant) -> Instant {
        end + self.waited()
    }

    /// What keeps the places taken; the listing is read.
    pub(super) fn ended(self) -> Arc<dyn std::any::Any + Send + Sync> {
        self.0.taken.bytes.fetch_add(self.0.read.load(Ordering::Relaxed), Ordering::Relaxed);
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    const MIB: usize = 1 << 20;

    /// Whether all of it may be held at once.
    fn gets(share: &Share, bytes: usize) -> bool {
        share.hold(bytes).now_or_never().is_some()
    }

    #[test]
    fn short_lists_never_wait_and_long_ones_are_read_one_after_the_other() {
        let room = Room::default();
        let (first, second) = (room.share(), room.share());
        assert!(gets(&first, 64 * MIB) && gets(&first, 64 * MIB), "the first");
        assert!(!gets(&second, 64 * MIB), "the second");
        assert!(gets(&second, 4 * MIB), "as much as it has a place for");
        let short: Vec<Share> = (0..1_000).map(|_| room.share()).collect();
        assert!(short.iter().all(|share| gets(share, FREE)), "short ones");
        drop(first);
        assert!(gets(&second, 64 * MIB), "the second, after the first");
    }

    #[test]
    fn places_of_each_size_are_few() {
        let room = Room::default();
        let shares: Vec<Share> = (0..9).map(|_| room.share()).collect();
        let got = shares.iter().filter(|share| gets(share, 4 * MIB)).count();
        assert_eq!(got, 8);
        // Who has one goes on to the largest, whoever waits for the smaller.
        assert!(gets(&shares[0], 5 * MIB));
    }

    #[test]
    fn what_was_read_counts_and_listings_of_one_server_share_their_places() {
        let room = Room::default();
        let together = room.together();
        let first = together.share();
        first.note(4 * MIB);
        assert!(gets(&first, 1));
        let kept = first.ended();
        let second = together.share();
        assert_eq!(second.others(), 4 * MIB);
        assert!(gets(&second, 60 * MIB), "it has the place already");
        assert!(!gets(&room.share(), 5 * MIB), "another server");
        drop((kept, second, together));
        assert!(gets(&room.share(), 5 * MIB), "another server, afterwards");
    }

    #[tokio::test]
    async fn to_wait_is_no_part_of_the_time() {
        let room = Room::default();
        let (first, second) = (room.share(), room.share());
        first.hold(5 * MIB).await;
        let end = second.now() + Duration::from_secs(1);
        assert_eq!(second.until(end), end);
        let wait = async {
            tokio::task::yield_now().await;
            drop(first);
        };
        tokio::join!(second.hold(5 * MIB), wait);
        let waited = second.waited();
        assert!(waited > Duration::ZERO);
        assert_eq!(second.until(end), end + waited);
        assert!(second.now() + waited <= Instant::now());
    }
}
