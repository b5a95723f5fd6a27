//! What servers were found to speak, so that they are not asked anew each time (specification 2026-07-28,
//! basic/versioning: the era is a property of a server, to be kept and asked for again where it proves wrong).
//!
//! Kept in memory, for as long as the process lives.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{catalog::server::HttpTransport, json::Digest};

/// Servers that are remembered: more than anybody registers. Beyond, all are asked anew.
const MOST: usize = 10_000;

/// What a server was found to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spoken {
    /// No handshake.
    Modern,
    /// `initialize` first.
    Legacy,
    /// The same, over HTTP+SSE.
    HttpSse,
}

/// What a server is remembered by: how it is started or where it is. A digest, for either may hold secrets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key(Digest);

impl Key {
    pub(super) fn of_command(program: &str, args: &[String]) -> Self {
        Self(Digest::of(&std::iter::once(program).chain(args.iter().map(String::as_str)).collect()))
    }

    pub(super) fn of_url(url: &str, transport: HttpTransport) -> Self {
        Self(Digest::of_bytes(format!("{} {url}", transport.as_str()).as_bytes()))
    }
}

/// What servers were found to speak. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Eras(Arc<Mutex<HashMap<Key, Spoken>>>);

impl Eras {
    pub(super) fn get(&self, key: &Key) -> Option<Spoken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    pub(super) fn put(&self, key: Key, spoken: Spoken) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, spoken);
    }

    pub(super) fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}
