//! How often a caller may call, and an address may show what is no credential. Counted per process.

use std::{
    collections::HashMap,
    net::IpAddr,
    num::NonZeroU32,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::http::request::Parts;
use governor::{
    Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
    state::keyed::DashMapStateStore,
};
use ipnet::IpNet;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::address;
use crate::{
    access::{Auth, Caller},
    json::Digest,
};

type Keyed<K> = RateLimiter<K, DashMapStateStore<K>, DefaultClock>;

/// Keys that are counted for before those at rest are forgotten.
const MOST_KEYS: usize = 10_000;

/// After so many calls it is looked whether there are.
const TIDIED: u64 = 256;

/// How often is too often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Requests per second of one caller; a burst may be ten times that.
    pub calls: NonZeroU32,
    /// Wrong credentials per minute of one address, of which a burst may be all.
    pub failures: NonZeroU32,
    /// Ways to the issuer and back per minute of one address.
    pub arrivals: NonZeroU32,
    /// Sessions that one token begins per minute: each is an event that is kept for ever.
    pub sessions: NonZeroU32,
}

impl Default for Rates {
    fn default() -> Self {
        const CALLS: NonZeroU32 = NonZeroU32::new(1_000).expect("not zero");
        const FAILURES: NonZeroU32 = NonZeroU32::new(20).expect("not zero");
        const ARRIVALS: NonZeroU32 = NonZeroU32::new(120).expect("not zero");
        const SESSIONS: NonZeroU32 = NonZeroU32::new(10).expect("not zero");
        Self { calls: CALLS, failures: FAILURES, arrivals: ARRIVALS, sessions: SESSIONS }
    }
}

/// Long bodies of one caller that are read and judged at once.
const BODIES: usize = 4;

/// How many long bodies each caller may send still.
#[derive(Debug, Default)]
struct Bodies(Mutex<HashMap<String, Arc<Semaphore>>>);

impl Bodies {
    fn of(&self, name: &str) -> Arc<Semaphore> {
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever sends nothing is forgotten: nobody but the map holds what is theirs.
        if rooms.len() > MOST_KEYS {
            rooms.retain(|_, room| Arc::strong_count(room) > 1);
        }
        Arc::clone(rooms.entry(name.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(BODIES))))
    }
}

/// What was counted.
pub struct Limits {
    calls: Keyed<String>,
    failures: Keyed<IpAddr>,
    arrivals: Keyed<IpAddr>,
    sessions: Keyed<Digest>,
    bodies: Bodies,
    clock: DefaultClock,
    /// Calls.
    counted: AtomicU64,
    /// What they say of whom they were asked by is believed.
    proxies: Vec<IpNet>,
}

impl Limits {
    /// Nothing so far.
    #[must_use]
    pub fn new(rates: Rates) -> Self {
        let burst = rates.calls.saturating_mul(NonZeroU32::new(10).unwrap_or(NonZeroU32::MIN));
        Self {
            calls: RateLimiter::keyed(Quota::per_second(rates.calls).allow_burst(burst)),
            failures: RateLimiter::keyed(Quota::per_minute(rates.failures)),
            arrivals: RateLimiter::keyed(Quota::per_minute(rates.arrivals)),
            sessions: RateLimiter::keyed(Quota::per_minute(rates.sessions)),
            bodies: Bodies::default(),
            clock: DefaultClock::default(),
            counted: AtomicU64::new(0),
            proxies: Vec::new(),
        }
    }

    /// The same behind proxies in these networks, whose `X-Forwarded-For` says who asks.
    #[must_use]
    pub fn behind(self, proxies: Vec<IpNet>) -> Self {
        Self { proxies, ..self }
    }

    /// The address that a request comes from; nothing where it came over no connection.
    #[must_use]
    pub fn address(&self, parts: &Parts) -> Option<IpAddr> {
        address::of(parts, &self.proxies)
    }

    /// As what the connections of an address are counted; nothing for a proxy, which brings those of many.
    #[must_use]
    pub fn counted(&self, peer: IpAddr) -> Option<IpAddr> {
        let peer = peer.to_canonical();
        let is_proxy = self.proxies.iter().any(|proxy| proxy.contains(&peer));
        (!is_proxy).then(|| address::counted(peer))
    }

    /// Whether this caller may call now; otherwise after how many seconds.
    pub fn may_call(&self, caller: &Caller) -> Result<(), u64> {
        let key = match &caller.auth {
            Auth::Token(id) | Auth::Session(id) => id,
            Auth::Oidc(_) | Auth::Link | Auth::Local => &caller.name,
        };
        let taken = self.calls.check_key(key).map_err(|no| self.after(&no));
        self.tidy(&self.calls);
        taken
    }

    /// Counts a wrong credential of an address; where there were too many, says after how many seconds the next is looked at
    /// with patience again. Right ones are never refused for it: many people may share an address.
    pub fn failed(&self, address: Option<IpAddr>) -> Result<(), u64> {
        let Some(address) = address else { return Ok(()) };
        let counted = self.failures.check_key(&address::counted(address)).map_err(|no| self.after(&no));
        self.tidy(&self.failures);
        counted
    }

    /// Counts a way to the issuer or back, whatever comes of it.
    pub fn arrives(&self, address: Option<IpAddr>) -> Result<(), u64> {
        let Some(address) = address else { return Ok(()) };
        let counted = self.arrivals.check_key(&address::counted(address)).map_err(|no| self.after(&no));
        self.tidy(&self.arrivals);
        counted
    }

    /// Whether this token may begin one more session now.
    pub fn may_begin(&self, token: &str) -> Result<(), u64> {
        let key = Digest::of_bytes(token.trim().as_bytes());
        let counted = self.sessions.check_key(&key).map_err(|no| self.after(&no));
        self.tidy(&self.sessions);
        counted
    }

    /// Waits until this caller may send one more long body, and holds the place until it is dropped: what is read stands in memory
    /// until it is judged.
    pub async fn room(&self, caller: &Caller) -> Option<OwnedSemaphorePermit> {
        let room = self.bodies.of(&caller.name);
        // Never closed.
        room.acquire_owned().await.ok()
    }

    /// Forgets keys at rest where there are many; looks now and then, for that takes a while.
    fn tidy<K: std::hash::Hash + Eq + Clone>(&self, limiter: &Keyed<K>) {
        let turn = self.counted.fetch_add(1, Ordering::Relaxed).is_multiple_of(TIDIED);
        if turn && limiter.len() > MOST_KEYS {
            limiter.retain_recent();
        }
    }

    fn after(&self, no: &governor::NotUntil<governor::clock::QuantaInstant>) -> u64 {
        no.wait_time_from(self.clock.now()).as_secs() + 1
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn long_bodies_of_one_caller_wait_for_each_other_and_for_nobody_else() {
        let limits = Limits::new(Rates::default());
        let (ann, ben) = (Caller::local("ann"), Caller::local("ben"));
        let waits = |caller: &Caller| limits.room(caller).now_or_never().is_none();
        let mut held = Vec::new();
        for _ in 0..BODIES {
            held.push(limits.room(&ann).await);
        }
        assert!(waits(&ann));
        assert!(!waits(&ben));
        held.pop();
        assert!(!waits(&ann));
    }
}
