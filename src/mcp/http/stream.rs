//! One event stream as it arrives: events in order, bounded in size and time, and what breaks it.

use std::collections::VecDeque;

use futures_util::FutureExt as _;
use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use crate::mcp::{
    room::Share,
    sse::{self, Event},
};

/// Why a stream gives no event.
#[derive(Debug)]
pub(super) enum Broken {
    /// The server ended it.
    Ended,
    /// The time is up.
    Late,
    /// The connection broke.
    Lost(reqwest::Error),
    /// An event has more bytes than the limit.
    TooLong,
}

/// A stream and what was read of it.
#[derive(Debug)]
pub(super) struct Stream {
    response: Response,
    reader: sse::Reader,
    ready: VecDeque<Event>,
    /// What came and was not read, for want of room.
    chunk: Option<Vec<u8>>,
}

impl Stream {
    /// A stream whose events have at most `limit` bytes.
    pub(super) fn new(response: Response, limit: usize) -> Self {
        Self { response, reader: sse::Reader::new(limit), ready: VecDeque::new(), chunk: None }
    }

    /// Goes on with the rest of the stream, which comes as another answer.
    pub(super) fn resumed(self, response: Response) -> Self {
        Self { response, reader: self.reader.resumed(), ready: self.ready, chunk: None }
    }

    pub(super) fn reader(&self) -> &sse::Reader {
        &self.reader
    }

    /// The next event. Safe to cancel: what was read stays. The time is that of the share.
    pub(super) async fn next(&mut self, share: &Share, until: Instant) -> Result<Event, Broken> {
        self.next_beside(0, share, until).await
    }

    /// The same, where so many bytes of it are held already.
    pub(super) async fn next_beside(
        &mut self,
        held: usize,
        share: &Share,
        until: Instant,
    ) -> Result<Event, Broken> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            if let Some(chunk) = &self.chunk {
                share.hold(held + self.reader.held() + chunk.len()).await;
                self.ready.extend(self.reader.push(chunk).map_err(|sse::TooLong| Broken::TooLong)?);
                self.chunk = None;
                continue;
            }
            // Asked here as well: bytes that are always there would never let the timer have its turn.
            if share.now() >= until {
                return Err(Broken::Late);
            }
            match timeout_at(share.until(until), self.response.chunk()).await {
                Err(_) => return Err(Broken::Late),
                Ok(Err(error)) => return Err(Broken::Lost(error)),
                Ok(Ok(None)) => return Err(Broken::Ended),
                Ok(Ok(Some(chunk))) if !share.has(held + self.reader.held() + chunk.len()) => {
                    self.chunk = Some(chunk.to_vec());
                }
                Ok(Ok(Some(chunk))) => {
                    self.ready.extend(self.reader.push(&chunk).map_err(|sse::TooLong| Broken::TooLong)?);
                }
            }
        }
    }

    /// The next event, where it is there already.
    pub(super) fn ready(&mut self, share: &Share, until: Instant) -> Option<Event> {
        self.next(share, until).now_or_never()?.ok()
    }
}
