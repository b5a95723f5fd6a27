//! Reading, checking and handing on the log of events.

use std::io::BufRead;

use super::{App, AppError, Kind, view::ChainCheck};
use crate::{
    catalog::{
        Event,
        chain::{Checkpoint, Fault, Walk},
        sign::{Envelope, PublicKey},
    },
    store::Unreadable,
};

/// Events that are read at a time, so that a long log needs no more memory than a short one.
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
        self.verify_events_past(Vec::new()).await
    }

    /// The same past checkpoints, which show an end that is gone and a chain that was made anew.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn verify_events_past(&self, checkpoints: Vec<Checkpoint>) -> Result<ChainCheck, AppError> {
        let mut walk = Walk::new(checkpoints);
        let fault = self.walk(&mut walk).await?.err();
        Ok(checked(walk, fault))
    }

    /// Where the chain stands now.
    ///
    /// # Errors
    /// Where it is broken: nobody is to vouch for that. Where there are no events yet.
    pub async fn checkpoint(&self) -> Result<Checkpoint, AppError> {
        let mut walk = Walk::new(Vec::new());
        if let Err(fault) = self.walk(&mut walk).await? {
            return Err(AppError::new(Kind::Blocked, "chain-broken", fault.to_string())
                .help("find out who wrote to the database, and go back to a backup; `toolpact audit verify` checks it"));
        }
        let Some((seq, digest)) = walk.last() else {
            let message = "the log has no events, so there is nothing to vouch for";
            return Err(AppError::new(Kind::Conflict, "no-events", message));
        };
        Ok(Checkpoint { seq, digest: digest.clone(), count: seq, at: self.now() })
    }

    /// Hands on events in order, from the one with this number, each as a line.
    ///
    /// # Errors
    /// Where the store fails, or whoever they are handed to.
    pub async fn export_events(
        &self,
        from: i64,
        mut take: impl FnMut(&str) -> Result<(), AppError>,
    ) -> Result<usize, AppError> {
        let (mut last, mut count) = (from.saturating_sub(1), 0);
        loop {
            let events = self.store.events_after(last, BATCH).await?;
            if events.is_empty() {
                return Ok(count);
            }
            for event in events {
                take(&line(&event)?)?;
                (last, count) = (event.seq, count + 1);
            }
        }
    }

    /// Along all rows that there are.
    async fn walk(&self, walk: &mut Walk) -> Result<Result<(), Fault>, AppError> {
        loop {
            let behind = walk.last().map(|(seq, _)| seq);
            let rows = self.store.stored_events(behind, BATCH).await?;
            if rows.is_empty() {
                break;
            }
            for row in rows {
                let stepped = match row {
                    Ok(event) => walk.step(&event),
                    Err(Unreadable { seq, cause }) => {
                        Err(Fault { seq: seq.unwrap_or(behind.unwrap_or(0) + 1), cause })
                    }
                };
                if let Err(fault) = stepped {
                    return Ok(Err(fault));
                }
            }
        }
        let Some((seq, _)) = walk.last() else { return Ok(Ok(())) };
        // Numbers between two others, which no walk in steps comes upon.
        let (rows, walked) = (self.store.count_events(seq).await?, walk.events());
        if usize::try_from(rows) == Ok(walked) {
            return Ok(Ok(()));
        }
        let cause = format!("{walked} events lead up to it, and there are {rows} rows");
        Ok(Err(Fault { seq, cause }))
    }
}

/// Recomputes the chain of an export, wherever it is read. One that begins later than with the first event is taken from
/// there on, but for a checkpoint of just before.
///
/// # Errors
/// Where it cannot be read. A broken chain is an answer.
pub fn verify_export(
    label: &str,
    export: impl BufRead,
    checkpoints: Vec<Checkpoint>,
) -> Result<ChainCheck, AppError> {
    let mut walk: Option<Walk> = None;
    for text in export.split(b'\n') {
        let text = text.map_err(|e| {
            AppError::new(Kind::Invalid, "unreadable-file", format!("`{label}` cannot be read: {e}"))
        })?;
        let expected = walk.as_ref().and_then(Walk::last).map_or(1, |(seq, _)| seq + 1);
        let stepped = match (event_of(&text), &mut walk) {
            (Err(cause), _) => Err(Fault { seq: expected, cause }),
            (Ok(event), Some(walk)) => walk.step(&event),
            (Ok(event), None) => {
                Walk::from(&event, checkpoints.clone()).and_then(|begun| walk.insert(begun).step(&event))
            }
        };
        if let Err(fault) = stepped {
            return Ok(checked(walk.unwrap_or_else(|| Walk::new(Vec::new())), Some(fault)));
        }
    }
    Ok(checked(walk.unwrap_or_else(|| Walk::new(checkpoints)), None))
}

/// The checkpoints that these envelopes hold, each signed by one of the keys.
///
/// # Errors
/// Where one of them is not.
pub fn checkpoints(
    envelopes: &[(String, Envelope)],
    keys: &[PublicKey],
) -> Result<Vec<Checkpoint>, AppError> {
    let opened = |(label, envelope): &(String, Envelope)| {
        let (checkpoint, _) = envelope.statement::<Checkpoint>(keys).map_err(|e| {
            AppError::new(Kind::Blocked, "checkpoint-unproved", format!("checkpoint `{label}`: {e}"))
                .help("give the public half of the key that signed it; after a rotation, that of the old key as well")
        })?;
        Ok(checkpoint)
    };
    envelopes.iter().map(opened).collect()
}

/// An event as a line of an export.
pub(super) fn line(event: &Event) -> Result<String, AppError> {
    serde_json::to_string(event).map_err(|e| {
        AppError::new(Kind::Internal, "internal", format!("event {} is no JSON: {e}", event.seq))
    })
}

/// The event of a line that is written as [`line()`] does.
fn event_of(text: &[u8]) -> Result<Event, String> {
    let event: Event = serde_json::from_slice(text).map_err(|e| format!("its line is no event: {e}"))?;
    let written = serde_json::to_vec(&event).map_err(|e| e.to_string())?;
    if written == text { Ok(event) } else { Err("it is not written as it was".to_owned()) }
}

fn checked(walk: Walk, fault: Option<Fault>) -> ChainCheck {
    let events = walk.events();
    match fault.map_or_else(|| walk.end(), Err) {
        Ok(walked) => {
            ChainCheck { events, broken: None, checkpoints: walked.checkpoints, vouched: walked.vouched }
        }
        Err(Fault { seq, cause }) => {
            ChainCheck { events, broken: Some((seq, cause)), checkpoints: 0, vouched: None }
        }
    }
}
