//! What was answered under an `Idempotency-Key`, so that a request that is sent twice is done once.
//!
//! A pointer move keeps its own answer inside its transaction; everything else is kept by [`Answers`]. The one here lives
//! as long as the process.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};

use super::{AppError, Kind};
use crate::json::Digest;

/// How long an answer is kept.
const KEPT: TimeDelta = TimeDelta::hours(24);

/// How many are kept; the oldest go first.
const MOST: usize = 2_000;

/// An answer as it is sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    /// The status.
    pub status: u16,
    /// The headers that belong to the answer and not to its delivery, by name.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

/// What is known of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// Nothing: it is this request's now, until it is finished or forgotten.
    Fresh,
    /// The same request is being worked on.
    InFlight,
    /// The same request was answered.
    Answered(KeptAnswer),
    /// It belongs to another request.
    Reused,
}

/// Answers by key.
#[async_trait]
pub trait Answers: Send + Sync {
    /// Takes a key for a request, known by the digest of all that makes it this request.
    ///
    /// # Errors
    /// Where what is kept cannot be reached.
    async fn begin(&self, key: &str, request: &Digest, now: DateTime<Utc>) -> Result<Begun, AppError>;
    /// Keeps the answer to a request that was begun.
    ///
    /// # Errors
    /// Where it cannot be kept.
    async fn finish(&self, key: &str, answer: KeptAnswer) -> Result<(), AppError>;
    /// Gives a key back: nothing was done under it that a second try must not do.
    ///
    /// # Errors
    /// Where what is kept cannot be reached.
    async fn forget(&self, key: &str) -> Result<(), AppError>;
}

/// Answers that are gone with the process.
#[derive(Debug, Default)]
pub struct InMemory(Mutex<BTreeMap<String, Entry>>);

#[derive(Debug)]
struct Entry {
    request: Digest,
    since: DateTime<Utc>,
    answer: Option<KeptAnswer>,
}

impl InMemory {
    fn entries(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Entry>> {
        // Every change of the map is one call, so a panic elsewhere leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Answers for InMemory {
    async fn begin(&self, key: &str, request: &Digest, now: DateTime<Utc>) -> Result<Begun, AppError> {
        let mut entries = self.entries();
        entries.retain(|_, entry| entry.answer.is_none() || now - entry.since < KEPT);
        if let Some(entry) = entries.get(key) {
            return Ok(match &entry.answer {
                _ if entry.request != *request => Begun::Reused,
                None => Begun::InFlight,
                Some(answer) => Begun::Answered(answer.clone()),
            });
        }
        if entries.len() >= MOST {
            let finished = entries.iter().filter(|(_, entry)| entry.answer.is_some());
            let oldest = finished.min_by_key(|(_, entry)| entry.since).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else {
                let message = format!("{MOST} requests with a key are being worked on");
                return Err(AppError::new(Kind::Unavailable, "too-many-in-flight", message)
                    .help("try again when some of them are done"));
            };
            entries.remove(&oldest);
        }
        entries.insert(key.to_owned(), Entry { request: request.clone(), since: now, answer: None });
        Ok(Begun::Fresh)
    }

    async fn finish(&self, key: &str, answer: KeptAnswer) -> Result<(), AppError> {
        if let Some(entry) = self.entries().get_mut(key) {
            entry.answer = Some(answer);
        }
        Ok(())
    }

    async fn forget(&self, key: &str) -> Result<(), AppError> {
        self.entries().remove(key);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> KeptAnswer {
        KeptAnswer { status: 201, headers: Vec::new(), body: b"{}".to_vec() }
    }

    #[tokio::test]
    async fn a_key_belongs_to_its_request_until_it_is_forgotten_or_old() {
        let answers = InMemory::default();
        let (one, other) = (Digest::of_bytes(b"one"), Digest::of_bytes(b"other"));
        let now: DateTime<Utc> = "2026-11-30T12:00:00Z".parse().expect("a time");
        let begun = async |request: &Digest, now| answers.begin("k", request, now).await.expect("it answers");
        assert_eq!(begun(&one, now).await, Begun::Fresh);
        assert_eq!(begun(&one, now).await, Begun::InFlight);
        assert_eq!(begun(&other, now).await, Begun::Reused);
        answers.forget("k").await.expect("it answers");
        assert_eq!(begun(&other, now).await, Begun::Fresh);
        answers.finish("k", answer()).await.expect("it answers");
        assert_eq!(begun(&other, now + TimeDelta::hours(23)).await, Begun::Answered(answer()));
        assert_eq!(begun(&one, now).await, Begun::Reused);
        assert_eq!(begun(&one, now + TimeDelta::hours(25)).await, Begun::Fresh);
    }

    #[tokio::test]
    async fn the_oldest_answer_goes_where_there_are_too_many() {
        let answers = InMemory::default();
        let start: DateTime<Utc> = "2026-11-30T12:00:00Z".parse().expect("a time");
        let request = Digest::of_bytes(b"one");
        let begin = async |n: usize| {
            let now = start + TimeDelta::milliseconds(i64::try_from(n).expect("small"));
            answers.begin(&format!("k-{n}"), &request, now).await
        };
        for n in 0..MOST {
            assert_eq!(begin(n).await.expect("it answers"), Begun::Fresh);
        }
        assert_eq!(begin(MOST).await.expect_err("all are in flight").code, "too-many-in-flight");
        for n in [7, 3] {
            answers.finish(&format!("k-{n}"), answer()).await.expect("it answers");
        }
        assert_eq!(begin(MOST).await.expect("it answers"), Begun::Fresh);
        assert_eq!(begin(7).await.expect("it answers"), Begun::Answered(answer()));
        assert_eq!(begin(3).await.expect("it answers"), Begun::Fresh, "the oldest went");
    }
}
