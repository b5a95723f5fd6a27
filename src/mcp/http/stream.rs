//! One event stream as it arrives: events in order, bounded in size and time, and what breaks it.

use std::collections::VecDeque;

use futures_util::FutureExt as _;
use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use crate::mcp::sse::{self, Event};

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
}

impl Stream {
    /// A stream whose events have at most `limit` bytes.
    pub(super) fn new(response: Response, limit: usize) -> Self {
        Self { response, reader: sse::Reader::new(limit), ready: VecDeque::new() }
    }

    /// Goes on with the rest of the stream, which comes as another answer.
    pub(super) fn resumed(self, response: Response) -> Self {
        Self { response, reader: self.reader.resumed(), ready: self.ready }
    }

    pub(super) fn reader(&self) -> &sse::Reader {
        &self.reader
    }

    /// The next event. Safe to cancel: what was read stays.
    pub(super) async fn next(&mut self, until: Instant) -> Result<Event, Broken> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            // Asked here as well: bytes that are always there would never let the timer have its turn.
            if Instant::now() >= until {
                return Err(Broken::Late);
            }
            match timeout_at(until, self.response.chunk()).await {
                Err(_) => return Err(Broken::Late),
                Ok(Err(error)) => return Err(Broken::Lost(error)),
                Ok(Ok(None)) => return Err(Broken::Ended),
                Ok(Ok(Some(chunk))) => {
                    self.ready.extend(self.reader.push(&chunk).map_err(|sse::TooLong| Broken::TooLong)?);
                }
            }
        }
    }

    /// The next event, where it is there already.
    pub(super) fn ready(&mut self, until: Instant) -> Option<Event> {
        self.next(until).now_or_never()?.ok()
    }
}
