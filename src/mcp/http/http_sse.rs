//! The transport before Streamable HTTP, HTTP+SSE (specification 2024-11-05, basic/transports): one stream from the
//! server for as long as the session lasts, a POST for every message to it.
//!
//! The stream's first event names the URL for the messages. The session's id stands in that URL, so it is as secret as a
//! header: it is never kept and never printed.

use std::{collections::VecDeque, pin::pin};

use reqwest::{Url, header::ACCEPT};
use tokio::time::{Instant, timeout_at};

use crate::{
    mcp::{
        message::{self, Id, Message, Reply},
        record::{Failure, Try, printable},
        sse::Event,
    },
    snapshot::{Outcome, Transport},
};

use super::{
    COURTESY, Connection, MAX_REDIRECTS, content_type,
    refusal::{redirect, refusal},
    stream::Stream,
};

/// Read of a stream until its first event, which is a URL.
const ENDPOINT_BYTES: usize = 64 << 10;

impl Connection<'_> {
    /// The same where its user says that it speaks this transport: nothing else is tried.
    pub(super) async fn begin_only_http_sse(&mut self) -> Try<()> {
        if self.begin_http_sse().await? {
            return Ok(());
        }
        let message = format!("{} gives no event stream that names a URL for messages", self.record.name());
        Err(Failure::new(Outcome::Unavailable, message)
            .help("it is registered as one of HTTP+SSE; check that it runs, or correct its `transport`"))
    }

    /// Opens the stream, learns where messages go and begins the session. `false` where the URL gives no such stream:
    /// the server speaks another transport, or none.
    pub(super) async fn begin_http_sse(&mut self) -> Try<bool> {
        let until = self.until(self.limits.request);
        let opened = match self.get_stream(until).await {
            // It refused to be POSTed to before it looked at who asks.
            Err(failure) if self.may_authorize(&failure) => {
                self.authorize(failure).await?;
                self.get_stream(self.until(self.limits.request)).await?
            }
            ended => ended?,
        };
        let until = self.until(self.limits.request);
        let Some(mut stream) = opened else { return Ok(false) };
        let first = match stream.next(&self.record.share, until).await {
            Ok(event) if event.name == "endpoint" && event.data.len() <= ENDPOINT_BYTES => event,
            Ok(_) | Err(_) => return Ok(false),
        };
        self.endpoint.url = self.message_url(&first)?;
        self.record.provenance.transport = Transport::Sse;
        self.stream = Some(stream);
        self.initialize().await?;
        Ok(true)
    }

    /// GETs the URL for an event stream.
    async fn get_stream(&mut self, until: Instant) -> Try<Option<Stream>> {
        for _ in 0..=MAX_REDIRECTS {
            let request = self
                .client
                .get(self.endpoint.url.clone())
                .headers(self.endpoint.headers.clone())
                .header(ACCEPT, "text/event-stream");
            let Ok(Ok(response)) = timeout_at(self.clock(until), request.send()).await else {
                return Ok(None);
            };
            let status = response.status();
            if status.is_redirection() {
                self.endpoint.url = redirect(&self.record.name(), &self.endpoint.url, &response)?;
                continue;
            }
            if !status.is_success() {
                let failure = refusal(&self.record.name(), "GET", response, self.clock(until)).await;
                // Whoever may not POST here is told so first where that is the cause.
                return if failure.outcome == Outcome::AuthRequired { Err(failure) } else { Ok(None) };
            }
            let events = content_type(&response) == "text/event-stream";
            return Ok(events.then(|| Stream::new(response, self.limits.message_bytes)));
        }
        Ok(None)
    }

    /// The URL for messages: relative to the stream's, and of the same origin, because headers are sent there.
    fn message_url(&self, event: &Event) -> Try<Url> {
        let base = &self.endpoint.url;
        let reference = String::from_utf8_lossy(&event.data);
        let refuse = |how: String| {
            let message = format!("{} names {how} as the URL for messages", self.record.name());
            Failure::new(Outcome::Malformed, message).help(
                "the `endpoint` event has to name a URL of the server's own origin; report it to its author",
            )
        };
        let Ok(mut url) = base.join(reference.trim()) else {
            return Err(refuse("what is no URL".to_owned()));
        };
        if url.origin() != base.origin() {
            let origin = printable(&url.origin().ascii_serialization(), 120);
            return Err(refuse(format!("another origin, `{origin}`,")));
        }
        // The caller's, whatever the server wrote. Neither fails on a URL with a host, which one of this origin has.
        let _ = url.set_username(base.username());
        let _ = url.set_password(base.password());
        Ok(url)
    }

    /// POSTs a request and reads its answer off the stream. Both at once: a server may answer first, and one that waits
    /// for its stream to be read would wait for ever.
    pub(super) async fn ask_http_sse(
        &mut self,
        stream: &mut Stream,
        id: u64,
        method: &str,
        until: Instant,
        body: String,
    ) -> Try<Reply> {
        let (limit, share) = (self.limits.message_bytes, self.record.share.clone());
        let (mut waiting, mut bytes, mut broken) = (VecDeque::new(), 0, None);
        {
            let mut post = pin!(self.post(method, body, until));
            let mut patience = until;
            loop {
                tokio::select! {
                    sent = &mut post => {
                        sent?;
                        break;
                    }
                    event = stream.next_beside(bytes, &share, patience), if bytes <= limit => match event {
                        Ok(event) => {
                            if answers(&event, id) {
                                // The POST may still end; nothing depends on it.
                                patience = until.min(share.now() + COURTESY);
                            }
                            bytes += event.data.len();
                            waiting.push_back(event);
                        }
                        Err(reason) => {
                            broken = Some(reason);
                            break;
                        }
                    },
                }
            }
        }
        while let Some(event) = waiting.pop_front() {
            if let Some(reply) = self.hear(id, event).await {
                return Ok(reply);
            }
        }
        if let Some(reason) = broken {
            return Err(self.broken(method, &reason));
        }
        loop {
            let event = stream.next(&share, until).await.map_err(|reason| self.broken(method, &reason))?;
            if let Some(reply) = self.hear(id, event).await {
                return Ok(reply);
            }
        }
    }
}

/// Whether the event holds the answer to this request.
fn answers(event: &Event, id: u64) -> bool {
    message::read(&event.data).is_some_and(|read| {
        read.messages.iter().any(|m| matches!(m, Message::Reply { id: Id::Number(of), .. } if *of == id))
    })
}
