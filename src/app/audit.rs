//! Reading and checking the log of events.

use super::{App, AppError, view::ChainCheck};
use crate::{catalog::Event, json::Digest};

/// Events that are checked at a time, so that a long log needs no more memory than a short one.
const BATCH: usize = 1_000;

impl App {
    /// The newest events first, at most `limit`.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn events(&self, limit: usize) -> Result<Vec<Event>, AppError> {
        Ok(self.store.events(limit).await?)
    }

    /// Recomputes the chain of events, up to the first that does not fit.
    ///
    /// # Errors
    /// Where the store fails. A broken chain is an answer.
    pub async fn verify_events(&self) -> Result<ChainCheck, AppError> {
        let mut last: Option<(i64, Digest)> = None;
        let mut events = 0;
        loop {
            let batch = self.store.events_after(last.as_ref().map_or(0, |(seq, _)| *seq), BATCH).await?;
            if batch.is_empty() {
                return Ok(ChainCheck { events, broken: None });
            }
            for event in batch {
                events += 1;
                if let Some(fault) = event.fault(last.as_ref().map(|(seq, digest)| (*seq, digest))) {
                    return Ok(ChainCheck { events, broken: Some((event.seq, fault)) });
                }
                last = Some((event.seq, event.digest));
            }
        }
    }
}
