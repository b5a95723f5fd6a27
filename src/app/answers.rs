//! What was answered under an `Idempotency-Key`, so that a request that is sent twice is done once, whichever process it
//! reaches and whatever ended in between.
//!
//! A pointer move keeps its own answer inside its transaction as well, and for ever.

use chrono::TimeDelta;

pub use crate::store::{Begun, KeptAnswer};

use super::{App, AppError};
use crate::json::Digest;

/// How long an answer is kept.
const KEPT: TimeDelta = TimeDelta::hours(24);
/// After this, whoever worked on a request without an answer is taken to be gone: no request takes as long.
const GIVEN_UP: TimeDelta = TimeDelta::minutes(5);

impl App {
    /// Takes a key for a request, known by the digest of all that makes it this request.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn begin_answer(&self, key: &str, request: &Digest) -> Result<Begun, AppError> {
        let now = self.now();
        Ok(self.store.begin_answer(key, request, now, now - KEPT, now - GIVEN_UP).await?)
    }

    /// Keeps the answer to a request that was begun.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn finish_answer(&self, key: &str, answer: KeptAnswer) -> Result<(), AppError> {
        Ok(self.store.finish_answer(key, answer).await?)
    }

    /// Gives a key back: nothing was done under it that a second try must not do.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn forget_answer(&self, key: &str) -> Result<(), AppError> {
        Ok(self.store.forget_answer(key).await?)
    }
}
