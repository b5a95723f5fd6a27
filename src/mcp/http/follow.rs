//! Following a server over HTTP: the stream on which it says what changed.
//!
//! A legacy server has one that a GET opens and that may be resumed; a modern one has it as the answer to
//! `subscriptions/listen`; in HTTP+SSE it is the stream that there is anyway.

use reqwest::{
    Response,
    header::{ACCEPT, HeaderValue},
};
use tokio::{
    sync::mpsc::Sender,
    time::{Duration, Instant, sleep, timeout_at},
};

use crate::{
    mcp::{
        Limits,
        changes::{self, Followed, Stop},
        era::Dialect,
        message::{self, Reply},
        record::{Failure, Record, Try},
    },
    snapshot::{Listing, Outcome, Transport},
};

use super::{
    Connection, LAST_EVENT_ID, SESSION, To, content_type,
    refusal::refusal,
    stream::{Broken, Stream},
};

/// Before a stream is opened again, where the server says nothing else (as browsers do; HTML, 9.2).
const RECONNECT: Duration = Duration::from_secs(1);
/// The shortest pause before that, whatever the server says.
const MIN_RECONNECT: Duration = Duration::from_millis(10);
/// Times in a row that a stream without a single event is opened again.
const MAX_EMPTY: usize = 5;

/// Connects to the server and follows it.
pub(in crate::mcp) async fn follow(
    to: &To<'_>,
    limits: &Limits,
    record: &mut Record,
    listings: &Sender<Listing>,
) -> Stop {
    let mut connection = match Connection::to(to, limits, record) {
        Ok(connection) => connection,
        Err(failure) => return Stop::Failed(failure),
    };
    let stop = match connection.begin().await {
        Ok(()) => match changes::follow(&mut connection, listings).await {
            Ok(never) => match never {},
            Err(stop) => stop,
        },
        Err(failure) => Stop::Failed(failure),
    };
    connection.end_session().await;
    stop
}

impl Connection<'_> {
    /// GETs an event stream of a legacy session, from after an event where one is named.
    pub(super) async fn get(&self, after: Option<HeaderValue>, until: Instant) -> Try<Response> {
        let mut request = self
            .client
            .get(self.endpoint.url.clone())
            .headers(self.endpoint.headers.clone())
            .headers(self.version_header())
            .header(ACCEPT, "text/event-stream");
        if let Some(after) = after {
            request = request.header(LAST_EVENT_ID, after);
        }
        if let Some(session) = &self.session {
            request = request.header(SESSION, session.clone());
        }
        let response = match timeout_at(until, request.send()).await {
            Err(_) => return Err(self.timeout("GET")),
            Ok(Err(error)) => return Err(self.unreachable(&error)),
            Ok(Ok(response)) => response,
        };
        if !response.status().is_success() {
            return Err(refusal(&self.record.name(), "GET", response, until).await);
        }
        if content_type(&response) != "text/event-stream" {
            return Err(self.no_answer("GET", "with something that is no event stream"));
        }
        Ok(response)
    }

    async fn subscribe_modern(&mut self) -> Result<Option<String>, Stop> {
        let until = self.until(self.limits.request);
        self.last_id += 1;
        let (id, method) = (self.last_id, "subscriptions/listen");
        let body = message::request(id, method, &self.dialect.listen_params());
        let response = match self.post(method, body, until).await {
            Ok(response) => response,
            // A server that does not know it says so with an error, a gateway with a status.
            Err(failure)
                if failure.rpc_error.is_some() || matches!(failure.http_status, Some(404 | 405 | 501)) =>
            {
                return Ok(Some(changes::refused(self.record, &failure.message)));
            }
            Err(failure) => return Err(failure.into()),
        };
        if content_type(&response) != "text/event-stream" {
            let reply = self.read_json(id, method, response, until).await?;
            return Ok(Some(self.not_subscribed(reply)));
        }
        let mut stream = Stream::new(response, self.limits.message_bytes);
        while self.record.acknowledged.is_none() {
            let event = stream.next(until).await.map_err(|reason| self.broken(method, &reason))?;
            if let Some(reply) = self.hear(id, event).await {
                return Ok(Some(self.not_subscribed(reply)));
            }
        }
        if self.record.acknowledged == Some(false) {
            return Ok(Some(changes::refused(self.record, "it honours no such subscription")));
        }
        self.news = Some((id, stream));
        Ok(None)
    }

    fn not_subscribed(&self, reply: Reply) -> String {
        let how = reply.err().map_or("it ends the subscription".to_owned(), |e| message::describe(&e));
        changes::refused(self.record, &how)
    }

    async fn subscribe_legacy(&mut self) -> Result<Option<String>, Stop> {
        if let Some(why) = changes::undeclared(self.record) {
            return Ok(Some(why));
        }
        if self.stream.is_some() {
            return Ok(None);
        }
        match self.get(None, self.until(self.limits.request)).await {
            Ok(response) => {
                // The answer to no request of ours.
                self.news = Some((0, Stream::new(response, self.limits.message_bytes)));
                Ok(None)
            }
            Err(failure) if matches!(failure.http_status, Some(404 | 405 | 501)) => {
                Ok(Some(changes::refused(self.record, "it has no stream for that")))
            }
            Err(failure) => Err(failure.into()),
        }
    }

    /// Reads until something changed. Gives the stream back, or another that goes on where it broke off.
    async fn read_news(&mut self, id: u64, mut stream: Stream) -> Result<Stream, Stop> {
        let mut empty = 0;
        while self.record.heard.is_empty() {
            match stream.next(changes::never()).await {
                Ok(event) => {
                    empty = 0;
                    if self.hear(id, event).await.is_some() {
                        return Err(self.no_news("ended the subscription").into());
                    }
                }
                Err(Broken::Ended | Broken::Lost(_)) if empty < MAX_EMPTY && self.may_reopen() => {
                    empty += 1;
                    stream = self.reopened(stream).await?;
                }
                Err(Broken::Lost(error)) => return Err(self.unreachable(&error).into()),
                Err(Broken::TooLong) => return Err(self.too_large("GET").into()),
                Err(Broken::Ended | Broken::Late) => {
                    return Err(self.no_news("ended the event stream on which it says what changed").into());
                }
            }
        }
        Ok(stream)
    }

    /// Only Streamable HTTP of a legacy server has a stream that a GET brings again.
    fn may_reopen(&self) -> bool {
        matches!(self.dialect, Dialect::Legacy(_)) && self.record.provenance.transport == Transport::Http
    }

    async fn reopened(&mut self, stream: Stream) -> Result<Stream, Stop> {
        let pause = stream.reader().retry().map_or(RECONNECT, Duration::from_millis).max(MIN_RECONNECT);
        sleep(pause).await;
        let after =
            stream.reader().last_id().and_then(|id| HeaderValue::from_bytes(id).ok()).map(|mut id| {
                id.set_sensitive(true);
                id
            });
        if after.is_none() {
            // Nothing says what was told in between.
            self.record.suspect();
        }
        let response = self.get(after, Instant::now() + self.limits.request).await?;
        Ok(stream.resumed(response))
    }

    fn no_news(&self, how: &str) -> Box<Failure> {
        Failure::new(Outcome::Unavailable, format!("{} {how}", self.record.name()))
            .help("if it stays so, see the server's own log; polling needs no stream")
    }
}

impl Followed for Connection<'_> {
    async fn subscribe(&mut self) -> Result<Option<String>, Stop> {
        match self.dialect {
            Dialect::Modern(_) => self.subscribe_modern().await,
            Dialect::Legacy(_) => self.subscribe_legacy().await,
        }
    }

    async fn told(&mut self) -> Result<(), Stop> {
        if let Some((id, stream)) = self.news.take() {
            let stream = self.read_news(id, stream).await?;
            self.news = Some((id, stream));
        } else if let Some(stream) = self.stream.take() {
            let stream = self.read_news(0, stream).await?;
            self.stream = Some(stream);
        }
        Ok(())
    }

    fn deadline(&mut self) -> &mut Instant {
        &mut self.deadline
    }
}
