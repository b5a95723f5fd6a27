//! What was answered under an `Idempotency-Key`, so that a request that is sent twice is done once, whichever process it
//! reaches.
//!
//! The answer is kept after the work, not with it: where the process ends in between, the same request is done again once
//! its first try is given up. Pointer moves and releases of holds are not: they keep their own answer inside their
//! transaction as well, and for ever.

use chrono::TimeDelta;

pub use crate::store::{Begun, KeptAnswer};

use super::{App, AppError};
use crate::json::Digest;

/// How long an answer is kept.
const KEPT: TimeDelta = TimeDelta::hours(24);
/// After this, whoever worked on a request without an answer is taken to be gone: longer than a request may take that asks
/// many servers one after the other.
const GIVEN_UP: TimeDelta = TimeDelta::minutes(15);

impl App {
    /// Takes a key for a request, known by the digest of all that makes it this request.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn begin_answer(&self, key: &str, request: &Digest) -> Result<Begun, AppError> {
        let now = self.now();
        Ok(self.store.begin_answer(key, request, now, now - KEPT, now - GIVEN_UP).await?)
    }

    /// Keeps the answer to a request that was begun; nowhere, where the key belongs to another one by now.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn finish_answer(
        &self,
        key: &str,
        request: &Digest,
        answer: KeptAnswer,
    ) -> Result<(), AppError> {
        Ok(self.store.finish_answer(key, request, answer).await?)
    }

    /// Gives the key of a request back: nothing was done under it that a second try must not do.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn forget_answer(&self, key: &str, request: &Digest) -> Result<(), AppError> {
        Ok(self.store.forget_answer(key, request).await?)
    }
}
