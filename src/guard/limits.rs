//! How often a caller may call, and an address may show what is no credential. Counted per process.

use std::{
    net::IpAddr,
    num::NonZeroU32,
    sync::atomic::{AtomicU64, Ordering},
};

use axum::http::request::Parts;
use governor::{
    Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
    state::keyed::DashMapStateStore,
};
use ipnet::IpNet;

use super::address;
use crate::access::{Auth, Caller};

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
}

impl Default for Rates {
    fn default() -> Self {
        const CALLS: NonZeroU32 = NonZeroU32::new(1_000).expect("not zero");
        const FAILURES: NonZeroU32 = NonZeroU32::new(20).expect("not zero");
        Self { calls: CALLS, failures: FAILURES }
    }
}

/// What was counted.
pub struct Limits {
    calls: Keyed<String>,
    failures: Keyed<IpAddr>,
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
        if self.counted.fetch_add(1, Ordering::Relaxed).is_multiple_of(TIDIED) {
            tidied(&self.calls);
        }
        taken
    }

    /// Counts a wrong credential of an address; where there were too many, says after how many seconds the next is looked at
    /// with patience again. Right ones are never refused for it: many people may share an address.
    pub fn failed(&self, address: Option<IpAddr>) -> Result<(), u64> {
        let Some(address) = address else { return Ok(()) };
        let counted = self.failures.check_key(&address::counted(address)).map_err(|no| self.after(&no));
        tidied(&self.failures);
        counted
    }

    fn after(&self, no: &governor::NotUntil<governor::clock::QuantaInstant>) -> u64 {
        no.wait_time_from(self.clock.now()).as_secs() + 1
    }
}

/// Forgets keys at rest where there are many.
fn tidied<K: std::hash::Hash + Eq + Clone>(limiter: &Keyed<K>) {
    if limiter.len() > MOST_KEYS {
        limiter.retain_recent();
    }
}
