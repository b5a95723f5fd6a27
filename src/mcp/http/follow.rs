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
        pages::Peer,
        record::{Failure, Record, Try},
        sse::Event,
    },
    snapshot::{Listing, Outcome, Transport},
};

use super::{
    Connection, LAST_EVENT_ID, MAX_CATCH_UP, SESSION, To, content_type,
    refusal::refusal,
    stream::{Broken, Stream},
};

/// Before a stream is opened again, where the server says nothing else (as browsers do; HTML, 9.2).
const RECONNECT: Duration = Duration::from_secs(1);
/// The shortest pause before that, whatever the server says.
const MIN_RECONNECT: Duration = Duration::from_millis(10);
/// The longest.
const MAX_RECONNECT: Duration = Duration::from_secs(60);
/// How long a stream has to stand, to be no burden, where each new one has the lists read.
const STEADY: Duration = Duration::from_secs(30);
/// Streams in a row that brought nothing and did not stand, before the server counts as one that does not tell.
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
        let response = match timeout_at(self.clock(until), request.send()).await {
            Err(_) => return Err(self.timeout("GET")),
            Ok(Err(error)) => return Err(self.unreachable(&error)),
            Ok(Ok(response)) => response,
        };
        if !response.status().is_success() {
            return Err(refusal(&self.record.name(), "GET", response, self.clock(until)).await);
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
            let next = stream.next(&self.record.share, until).await;
            let event = next.map_err(|reason| self.broken(method, &reason))?;
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
        while self.record.heard.is_empty() {
            let asked = Instant::now();
            let next = stream.next(&self.record.share, changes::never()).await;
            self.reopening.stood += asked.elapsed();
            match next {
                Ok(event) => self.hear_news(id, event).await?,
                Err(Broken::Ended | Broken::Lost(_)) if self.may_reopen() => {
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

    async fn hear_news(&mut self, id: u64, event: Event) -> Result<(), Stop> {
        let before = std::mem::take(&mut self.record.heard);
        let ended = self.hear(id, event).await.is_some();
        self.reopening.told |= !self.record.heard.is_empty();
        self.record.heard.extend(before);
        if ended { Err(self.no_news("ended the subscription").into()) } else { Ok(()) }
    }

    /// Only Streamable HTTP of a legacy server has a stream that a GET brings again.
    fn may_reopen(&self) -> bool {
        matches!(self.dialect, Dialect::Legacy(_)) && self.record.provenance.transport == Transport::Http
    }

    async fn reopened(&mut self, stream: Stream) -> Result<Stream, Stop> {
        let after =
            stream.reader().last_id().and_then(|id| HeaderValue::from_bytes(id).ok()).map(|mut id| {
                id.set_sensitive(true);
                id
            });
        let Some(pause) = self.reopening.pause(stream.reader().retry(), after.is_some()) else {
            let how = format!("its event stream ended {MAX_EMPTY} times in a row without a word of that");
            return Err(Stop::Unsupported(changes::refused(self.record, &how)));
        };
        sleep(pause).await;
        if after.is_none() {
            // Nothing says what was told in between.
            self.record.suspect();
        }
        let response = self.get(after, self.now() + self.limits.request).await?;
        Ok(stream.resumed(response))
    }

    fn no_news(&self, how: &str) -> Box<Failure> {
        Failure::new(Outcome::Unavailable, format!("{} {how}", self.record.name()))
            .help("if it stays so, see the server's own log; polling needs no stream")
    }
}

/// When a stream that ended is opened again: ever later where it ends all the time, and not for ever.
#[derive(Debug, Default)]
pub(super) struct Reopening {
    /// How long the stream was seen to stand.
    stood: Duration,
    /// Whether it told of a change.
    told: bool,
    /// Streams in a row, up to now, that neither told anything nor stood.
    empty: usize,
    /// The pause before the stream was opened, where the one before did not stand either.
    pause: Option<Duration>,
}

impl Reopening {
    /// The pause before the next stream, where there is to be one; the server may say how many milliseconds at least. One
    /// that goes on after an event costs a request, any other a listing.
    fn pause(&mut self, retry: Option<u64>, resumes: bool) -> Option<Duration> {
        let stood = std::mem::take(&mut self.stood);
        let told = std::mem::take(&mut self.told);
        let steady = stood > self.pause.unwrap_or_default().max(if resumes { RECONNECT } else { STEADY });
        if steady {
            self.pause = None;
        }
        self.empty = if steady || told { 0 } else { self.empty + 1 };
        let least = retry.map_or(RECONNECT, Duration::from_millis).clamp(MIN_RECONNECT, MAX_RECONNECT);
        let pause = self.pause.map_or(least, |pause| (2 * pause).clamp(least, MAX_RECONNECT));
        self.pause = Some(pause);
        (self.empty < MAX_EMPTY).then_some(pause)
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

    async fn overhear(&mut self) -> Result<(), Stop> {
        self.catch_up().await?;
        let Some((id, mut stream)) = self.news.take() else { return Ok(()) };
        for _ in 0..MAX_CATCH_UP {
            let Some(event) = stream.ready(&self.record.share, changes::never()) else { break };
            self.hear_news(id, event).await?;
        }
        self.news = Some((id, stream));
        Ok(())
    }

    fn deadline(&mut self) -> &mut Instant {
        &mut self.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Reopening};

    /// How long a stream stood, whether it told anything, `retry`, whether it can be resumed; the pause after it, if any.
    type Row = (u64, bool, Option<u64>, bool, Option<u64>);

    fn check(streams: &[Row]) {
        let mut reopening = Reopening::default();
        for (nth, (stood, told, retry, resumes, pause)) in streams.iter().enumerate() {
            (reopening.stood, reopening.told) = (Duration::from_millis(*stood), *told);
            assert_eq!(reopening.pause(*retry, *resumes), pause.map(Duration::from_millis), "stream {nth}");
        }
    }

    #[test]
    fn streams_that_bring_nothing_are_opened_ever_later_and_then_no_more() {
        for resumes in [false, true] {
            check(
                &[Some(1_000), Some(2_000), Some(4_000), Some(8_000), None]
                    .map(|pause| (0, false, None, resumes, pause)),
            );
        }
    }

    #[test]
    fn streams_that_tell_something_are_opened_ever_later_up_to_a_minute() {
        let pauses =
            [10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240, 20_480, 40_960, 60_000, 60_000];
        check(&pauses.map(|pause| (0, true, Some(0), false, Some(pause))));
    }

    #[test]
    fn a_stream_that_stood_is_opened_again_as_the_first_time() {
        // Longer than the pause where it is resumed, half a minute where each new one costs a listing.
        check(&[
            (1_001, false, None, true, Some(1_000)),
            (1_001, false, None, true, Some(1_000)),
            (999, false, None, true, Some(2_000)),
            (1_500, false, None, true, Some(4_000)),
            (4_001, false, None, true, Some(1_000)),
            (4_001, false, None, false, Some(2_000)),
            (30_001, false, None, false, Some(1_000)),
        ]);
    }

    #[test]
    fn a_server_cannot_ask_to_be_left_alone_for_ever() {
        check(&[
            (0, true, Some(99_999_999_999), true, Some(60_000)),
            (0, true, Some(u64::MAX), true, Some(60_000)),
        ]);
    }
}
