//! How a conversation over HTTP begins and ends: the era, the session.

use reqwest::header::ACCEPT;
use tokio::time::{Duration, timeout_at};

use crate::{
    mcp::{
        era::{self, Dialect, Discovery, Over},
        message,
        record::{Failure, Try},
        sse,
    },
    snapshot::Outcome,
};

use super::{COURTESY, Connection, SESSION, content_type};

/// Read of a stream that may be another transport's: its first event is short.
const PEEK_BYTES: usize = 64 << 10;

impl Connection<'_> {
    /// Asks the modern way first. A server that knows it not refuses with some 4xx or some error; one that says nothing
    /// for a while is asked the legacy way, and, where it refuses that, the modern way again with all the time there is.
    pub(super) async fn begin(&mut self) -> Try<()> {
        match self.discover(self.limits.probe).await {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(failure) if failure.outcome == Outcome::Timeout => {
                let Err(refusal) = self.initialize().await else { return Ok(()) };
                if !matches!(refusal.outcome, Outcome::Error | Outcome::Unavailable | Outcome::Malformed) {
                    return Err(refusal);
                }
                return if self.discover(self.limits.start).await? { Ok(()) } else { Err(refusal) };
            }
            Err(failure) => return Err(failure),
        }
        let Err(failure) = self.initialize().await else { return Ok(()) };
        if matches!(failure.http_status, Some(400 | 404 | 405)) && self.speaks_http_sse().await {
            let message = format!("{} speaks the HTTP+SSE transport of 2024-11-05", self.record.name());
            return Err(Failure::new(Outcome::Unavailable, message)
                .help("give the server's Streamable HTTP URL, often `/mcp` in place of `/sse`"));
        }
        Err(failure)
    }

    /// Whether the server is modern; it is described then.
    async fn discover(&mut self, budget: Duration) -> Try<bool> {
        let mut asked = era::MODERN.to_owned();
        loop {
            self.dialect = Dialect::Modern(asked.clone());
            let params = self.dialect.params(None);
            let reply = match self.request("server/discover", &params, self.until(budget)).await {
                Ok(reply) => reply,
                Err(failure) if failure.outcome == Outcome::AuthRequired => return Err(failure),
                Err(failure) if failure.outcome == Outcome::Malformed => return Ok(false),
                Err(failure) => match (failure.http_status, failure.rpc_error.clone()) {
                    // Not reached, or not now: the other way to begin would fare no better.
                    (None | Some(429 | 502 | 503 | 504), _) => return Err(failure),
                    (Some(_), Some(error)) => Err(error),
                    (Some(_), None) => return Ok(false),
                },
            };
            match era::discovery(&reply, &asked, Over::Http) {
                Discovery::Modern { version, about } => {
                    self.dialect = era::note_discovery(self.record, &version, &about);
                    return Ok(true);
                }
                Discovery::AskAgain(version) => asked = version,
                Discovery::Refused(error) => return Err(era::refused(self.record, error)),
                Discovery::Legacy => return Ok(false),
            }
        }
    }

    pub(super) async fn initialize(&mut self) -> Try<()> {
        // Unknown until the answer: no version header yet.
        self.dialect = Dialect::Legacy(String::new());
        self.session = None;
        let until = self.until(self.limits.start);
        let reply = self.request("initialize", &era::initialize_params(), until).await?;
        self.dialect = era::note_initialize(self.record, reply)?;
        let until = self.until(self.limits.request);
        let body = message::notification("notifications/initialized");
        // Its answer has no content; a server that refuses it will say so again.
        let _ = self.post("notifications/initialized", body, until).await;
        Ok(())
    }

    /// Whether a GET opens the stream of the transport before Streamable HTTP.
    async fn speaks_http_sse(&mut self) -> bool {
        let until = self.until(self.limits.request);
        let request = self
            .client
            .get(self.endpoint.url.clone())
            .headers(self.endpoint.headers.clone())
            .header(ACCEPT, "text/event-stream");
        let Ok(Ok(mut response)) = timeout_at(until, request.send()).await else { return false };
        if !response.status().is_success() || content_type(&response) != "text/event-stream" {
            return false;
        }
        let mut reader = sse::Reader::new(PEEK_BYTES);
        while let Ok(Ok(Some(chunk))) = timeout_at(until, response.chunk()).await {
            match reader.push(&chunk) {
                Ok(events) if events.is_empty() => {}
                Ok(events) => return events[0].name == "endpoint",
                Err(sse::TooLong) => return false,
            }
        }
        false
    }

    /// Legacy sessions want a goodbye.
    pub(super) async fn end_session(&mut self) {
        let Some(session) = self.session.take() else { return };
        let request = self
            .client
            .delete(self.endpoint.url.clone())
            .headers(self.endpoint.headers.clone())
            .headers(self.version_header())
            .header(SESSION, session);
        let _ = timeout_at(self.until(COURTESY), request.send()).await;
    }
}
