//! A walk along the chain of events, past checkpoints.
//!
//! The chain alone shows every event that was changed, dropped, inserted or moved between others. What it cannot show is an
//! end that is gone and a chain that was made anew as a whole: for that a [`Checkpoint`] is signed and kept where whoever
//! writes to the database does not reach it.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

use super::{Event, sign::Statement};
use crate::json::Digest;

/// Where the chain stood at some time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Checkpoint {
    /// The number of the newest event.
    pub seq: i64,
    /// Its digest, and so that of all before it.
    pub digest: Digest,
    /// How many events there were.
    pub count: i64,
    /// When it was taken.
    pub at: DateTime<Utc>,
}

impl Statement for Checkpoint {
    const PAYLOAD_TYPE: &'static str = "application/vnd.toolpact.checkpoint+json";
}

/// The first place at which events are not what they were.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} does not fit the chain: {cause}")]
pub struct Fault {
    /// The event that does not fit, or that is missing at the end.
    pub seq: i64,
    /// Why.
    pub cause: String,
}

/// What was walked along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walked {
    /// How many events.
    pub events: usize,
    /// The last of them, with its digest.
    pub last: Option<(i64, Digest)>,
    /// How many of the checkpoints were passed.
    pub checkpoints: usize,
    /// The last event that one of them vouches for.
    pub vouched: Option<i64>,
}

/// A walk that has come so far.
#[derive(Debug)]
pub struct Walk {
    /// By number.
    checkpoints: Vec<Checkpoint>,
    /// How many of them were passed, or stand before the first event.
    passed: usize,
    skipped: usize,
    events: usize,
    last: Option<(i64, Digest)>,
    vouched: Option<i64>,
}

impl Walk {
    /// From the first event that there ever was.
    #[must_use]
    pub fn new(mut checkpoints: Vec<Checkpoint>) -> Self {
        checkpoints.sort_by_key(|checkpoint| checkpoint.seq);
        Self { checkpoints, passed: 0, skipped: 0, events: 0, last: None, vouched: None }
    }

    /// From this event on, for whoever has only a part: what was before it is taken as the event says, but for what a
    /// checkpoint says of the very event before.
    ///
    /// # Errors
    /// Where a checkpoint says otherwise.
    pub fn from(event: &Event, checkpoints: Vec<Checkpoint>) -> Result<Self, Fault> {
        let mut walk = Self::new(checkpoints);
        if event.seq > 1 {
            walk.last = Some((event.seq - 1, event.previous.clone()));
            walk.skipped = walk.checkpoints.partition_point(|checkpoint| checkpoint.seq < event.seq - 1);
            walk.passed = walk.skipped;
            walk.pass()?;
        }
        Ok(walk)
    }

    /// The last event that fitted.
    #[must_use]
    pub fn last(&self) -> Option<(i64, &Digest)> {
        self.last.as_ref().map(|(seq, digest)| (*seq, digest))
    }

    /// How many events fitted.
    #[must_use]
    pub fn events(&self) -> usize {
        self.events
    }

    /// On to the next event.
    ///
    /// # Errors
    /// Where it does not fit.
    pub fn step(&mut self, event: &Event) -> Result<(), Fault> {
        if let Some(cause) = event.fault(self.last()) {
            return Err(Fault { seq: event.seq, cause });
        }
        self.last = Some((event.seq, event.digest.clone()));
        self.events += 1;
        self.pass()
    }

    /// There are no more.
    ///
    /// # Errors
    /// Where a checkpoint saw more.
    pub fn end(self) -> Result<Walked, Fault> {
        let seq = self.last.as_ref().map_or(0, |(seq, _)| *seq) + 1;
        if let Some(beyond) = self.checkpoints.last().filter(|checkpoint| checkpoint.seq >= seq) {
            let cause = match beyond.seq {
                only if only == seq => format!("it is missing: {}", told(beyond)),
                last => format!("it is missing, and all to event {last}: {}", told(beyond)),
            };
            return Err(Fault { seq, cause });
        }
        let Self { events, last, passed, skipped, vouched, .. } = self;
        Ok(Walked { events, last, checkpoints: passed - skipped, vouched })
    }

    /// Holds the last event against the checkpoints that were taken there.
    fn pass(&mut self) -> Result<(), Fault> {
        let Some((seq, digest)) = &self.last else { return Ok(()) };
        while let Some(checkpoint) = self.checkpoints.get(self.passed).filter(|c| c.seq <= *seq) {
            if checkpoint.seq != *seq || checkpoint.count != checkpoint.seq {
                let cause =
                    format!("{} of {} events, which no chain has", told(checkpoint), checkpoint.count);
                return Err(Fault { seq: *seq, cause });
            }
            if checkpoint.digest != *digest {
                let first = self.vouched.map_or(1, |seq| seq + 1);
                let cause = format!(
                    "events {first} to {seq} are not those that were there: {} with another digest",
                    told(checkpoint)
                );
                return Err(Fault { seq: first, cause });
            }
            self.vouched = Some(*seq);
            self.passed += 1;
        }
        Ok(())
    }
}

fn told(checkpoint: &Checkpoint) -> String {
    let at = checkpoint.at.to_rfc3339_opts(SecondsFormat::Secs, true);
    format!("the checkpoint of {at} saw event {}", checkpoint.seq)
}
