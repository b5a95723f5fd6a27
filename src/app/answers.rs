//! What was answered under an `Idempotency-Key`, so that a request that is sent twice is done once, whichever process it
//! reaches.
//!
//! The answer is kept after the work, not with it, so that a process that ends in between leaves a request of which nobody
//! knows whether it was done; see [`Lost`]. Pointer moves and releases of holds keep their own answer inside their
//! transaction as well, and for ever.

use chrono::TimeDelta;

pub use crate::store::{Begun, KeptAnswer};

use super::{App, AppError};
use crate::json::Digest;

/// How long an answer is kept.
const KEPT: TimeDelta = TimeDelta::hours(24);
/// After this, whoever worked on a request without an answer is taken to be gone. Where it only was slow, its work is done
/// twice at once, of which the state that both are made from lets one through.
const GIVEN_UP: TimeDelta = TimeDelta::minutes(1);

/// What becomes of a request whose worker is gone without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// It is done again: a second time is refused, or is no second one.
    DoneAgain,
    /// It is not: whoever sends it looks what became of it, and uses a new key.
    LeftAlone,
}

impl App {
    /// Takes a key for a request, known by the digest of all that makes it this request.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn begin_answer(&self, key: &str, request: &Digest, lost: Lost) -> Result<Begun, AppError> {
        let now = self.now();
        let given_up = match lost {
            Lost::DoneAgain => GIVEN_UP,
            Lost::LeftAlone => KEPT,
        };
        Ok(self.store.begin_answer(key, request, now, now - KEPT, now - given_up).await?)
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
