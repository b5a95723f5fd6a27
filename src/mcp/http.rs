//! The Streamable HTTP transport: each message a POST, each answer JSON or an event stream. Where the server turns out to
//! speak the transport before it, answers come on one stream for all (`http_sse`).
//!
//! Bodies are capped while they arrive, after decompression. Redirects are followed within the origin only, because the caller's headers are
//! secrets. Neither those nor the session's id are ever kept or printed.

mod authorize;
mod discovery;
mod endpoint;
mod follow;
mod handshake;
mod http_sse;
mod refusal;
mod stream;

use reqwest::{
    Client, Method, Response,
    header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::time::{Duration, Instant, timeout_at};

use crate::{catalog::server::HttpTransport, snapshot::Outcome};

use super::{
    Limits,
    era::{self, Dialect},
    message::{self, Id, Message, Reply},
    oauth::OAuth,
    pages::{self, Peer},
    record::{Failure, Record, Sent, Try, printable},
    spoken::Key,
    sse::{self, Event},
};

pub(super) use endpoint::{Endpoint, without_secrets};
pub(super) use follow::follow;

use authorize::Access;
use endpoint::client;
use refusal::{cause, redirect, refusal};
use stream::{Broken, Stream};

/// Redirects followed for one message; one is usual (`/mcp` to `/mcp/`).
const MAX_REDIRECTS: usize = 3;
/// How long goodbyes and answers to the server's own requests may take; nothing depends on them.
const COURTESY: Duration = Duration::from_secs(1);

/// Events taken in after the last page: more than a server says at once, fewer than would cost time.
const MAX_CATCH_UP: usize = 1_000;
/// Times one answer's stream may be resumed. Servers that have themselves polled end it every second or so.
const MAX_RESUMES: usize = 30;

/// What to do about a server that may not be reached.
const REACH: &str =
    "a service lists servers of the public internet, and of the networks that its operator allows";

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");

/// A server, and what is sent to it.
#[derive(Clone, Copy)]
pub(super) struct To<'a> {
    pub(super) url: &'a str,
    pub(super) headers: &'a [(String, String)],
    pub(super) oauth: Option<&'a OAuth>,
    pub(super) transport: HttpTransport,
}

/// Lists the server's tools.
pub(super) async fn list(to: &To<'_>, limits: &Limits, record: &mut Record) -> Try<()> {
    let mut connection = Connection::to(to, limits, record)?;
    let ended = match connection.begin().await {
        Ok(()) => pages::read(&mut connection).await,
        Err(failure) => Err(failure),
    };
    connection.record.answered();
    connection.end_session().await;
    ended
}

struct Connection<'a> {
    client: Client,
    endpoint: Endpoint,
    /// Access by tokens, where it has to be had so.
    access: Option<Access>,
    /// Which transport it is said to speak.
    transport: HttpTransport,
    /// What it is known by, where it was found to speak something.
    known_by: Key,
    dialect: Dialect,
    session: Option<HeaderValue>,
    /// Where answers come from in HTTP+SSE; in Streamable HTTP each has a stream of its own.
    stream: Option<Stream>,
    /// An answer began as a stream of HTTP+SSE does.
    old_transport: bool,
    /// Where a server that is followed says what changed, and the request that it answers.
    news: Option<(u64, Stream)>,
    reopening: follow::Reopening,
    last_id: u64,
    deadline: Instant,
    limits: &'a Limits,
    record: &'a mut Record,
}

impl<'a> Connection<'a> {
    fn to(to: &To<'_>, limits: &'a Limits, record: &'a mut Record) -> Try<Self> {
        let endpoint = Endpoint::parse(to.url, to.headers).map_err(|error| {
            Failure::new(Outcome::Unavailable, error.to_string()).help("correct the server's source")
        })?;
        if let Some(address) = limits.reach.refuses(&endpoint.url) {
            let cause = format!("{} is not called: {address} is no public address", record.name());
            return Err(Failure::new(Outcome::Unavailable, cause).help(REACH));
        }
        let client = client(&endpoint.url, &limits.reach).map_err(|error| {
            let message = format!("{} cannot be called: {}", record.name(), cause(&error));
            Failure::new(Outcome::Unavailable, message).help(
                "https needs the system's root certificates (package ca-certificates, or SSL_CERT_FILE)",
            )
        })?;
        let secret = |oauth: &OAuth| Sent::secret("the client's secret", oauth.client_secret.clone());
        record.secrets.extend(to.oauth.map(secret));
        Ok(Self {
            client,
            access: to.oauth.map(|oauth| Access::new(oauth, &endpoint.url)),
            endpoint,
            transport: to.transport,
            known_by: Key::of_url(to.url, to.transport),
            dialect: Dialect::Modern(era::MODERN.to_owned()),
            session: None,
            stream: None,
            old_transport: false,
            news: None,
            reopening: follow::Reopening::default(),
            last_id: 0,
            deadline: record.share.now() + limits.total,
            limits,
            record,
        })
    }

    // -- what travels -----------------------------------------------------------------------------------------------

    /// One request and its answer; with a token, where it is refused without. A failure with an HTTP status is an answer
    /// that HTTP gave.
    async fn request(&mut self, method: &str, params: &impl Serialize, until: Instant) -> Try<Reply> {
        let mut until = until;
        loop {
            let began = self.now();
            match self.request_once(method, params, until).await {
                // Ends: a token that was just issued and is refused is a failure.
                Err(failure) if self.may_authorize(&failure) => self.authorize(failure).await?,
                ended => {
                    if ended.is_ok() {
                        self.accepted();
                    }
                    return ended;
                }
            }
            // To be let in is no part of the server's time.
            until = (until + (self.now() - began)).min(self.deadline);
        }
    }

    async fn request_once(&mut self, method: &str, params: &impl Serialize, until: Instant) -> Try<Reply> {
        self.last_id += 1;
        let id = self.last_id;
        let body = message::request(id, method, params);
        if let Some(mut stream) = self.stream.take() {
            let answered = self.ask_http_sse(&mut stream, id, method, until, body).await;
            self.stream = Some(stream);
            return answered;
        }
        let response = self.post(method, body, until).await?;
        if method == "initialize" {
            self.session = response.headers().get(SESSION).cloned().map(|mut id| {
                id.set_sensitive(true);
                id
            });
        }
        if let Some(coding) = response.headers().get(CONTENT_ENCODING) {
            let coding = printable(&String::from_utf8_lossy(coding.as_bytes()), 60);
            return Err(
                self.no_answer(method, &format!("in a content encoding it was not asked for, `{coding}`"))
            );
        }
        match content_type(&response).as_str() {
            "application/json" => self.read_json(id, method, response, until).await,
            "text/event-stream" => self.read_stream(id, method, response, until).await,
            other => {
                let other = if other.is_empty() {
                    "nothing".to_owned()
                } else {
                    format!("`{}`", printable(other, 60))
                };
                let status = response.status();
                let message = format!(
                    "{} answered `{method}` with status {} and {other} in place of JSON",
                    self.record.name(),
                    status.as_u16()
                );
                let mut failure = Failure::new(Outcome::Unavailable, message)
                    .help("check that the URL is the server's MCP endpoint, and not its web page");
                failure.http_status = Some(status.as_u16());
                Err(failure)
            }
        }
    }

    /// Sends one message; gives the answer where its status says success.
    async fn post(&mut self, method: &str, body: String, until: Instant) -> Try<Response> {
        for _ in 0..=MAX_REDIRECTS {
            let mut request = self
                .client
                .request(Method::POST, self.endpoint.url.clone())
                .headers(self.endpoint.headers.clone())
                .headers(self.version_header())
                .header(CONTENT_TYPE, "application/json")
                .header(ACCEPT, "application/json, text/event-stream");
            if let Dialect::Modern(_) = self.dialect {
                request = request.header(METHOD, method);
            }
            if let Some(session) = &self.session {
                request = request.header(SESSION, session.clone());
            }
            let response = match timeout_at(self.clock(until), request.body(body.clone()).send()).await {
                Err(_) => return Err(self.timeout(method)),
                Ok(Err(error)) => return Err(self.unreachable(&error)),
                Ok(Ok(response)) => response,
            };
            let status = response.status();
            if status.is_success() {
                return Ok(response);
            }
            if !status.is_redirection() {
                return Err(refusal(&self.record.name(), method, response, self.clock(until)).await);
            }
            self.endpoint.url = redirect(&self.record.name(), &self.endpoint.url, &response)?;
        }
        let message = format!("{} redirects more than {MAX_REDIRECTS} times", self.record.name());
        Err(Failure::new(Outcome::Unavailable, message).help("give the URL at which the redirects end"))
    }

    fn version_header(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let version = match &self.dialect {
            Dialect::Modern(version) => version,
            Dialect::Legacy(version) if version.as_str() >= era::VERSION_HEADER_SINCE => version,
            Dialect::Legacy(_) => return headers,
        };
        // A version that fits no header was the server's own choice; it is left out.
        if let Ok(version) = HeaderValue::from_str(version) {
            headers.insert(VERSION, version);
        }
        headers
    }

    async fn read_json(&mut self, id: u64, method: &str, response: Response, until: Instant) -> Try<Reply> {
        let body = self.body(method, response, until).await?;
        let Some(read) = message::read(&body) else {
            self.record.stray(&body);
            return Err(self.no_answer(method, "with something that is no JSON-RPC"));
        };
        match self.take(id, read).await {
            Some(reply) => Ok(reply),
            None => {
                self.record.stray(&body);
                Err(self.no_answer(method, "with an answer to something else"))
            }
        }
    }

    async fn read_stream(&mut self, id: u64, method: &str, response: Response, until: Instant) -> Try<Reply> {
        let mut stream = Stream::new(response, self.limits.message_bytes);
        let mut resumed = 0;
        loop {
            let event = match stream.next(&self.record.share, until).await {
                Ok(event) => event,
                Err(reason @ (Broken::Ended | Broken::Lost(_))) if resumed < MAX_RESUMES => {
                    resumed += 1;
                    match self.resume(method, stream.reader(), until).await? {
                        Some(next) => stream = stream.resumed(next),
                        None => return Err(self.broken(method, &reason)),
                    }
                    continue;
                }
                Err(reason) => return Err(self.broken(method, &reason)),
            };
            if event.name == "endpoint" {
                self.old_transport = true;
                return Err(self.no_answer(method, "with an `endpoint` event, as HTTP+SSE begins"));
            }
            if let Some(reply) = self.hear(id, event).await {
                return Ok(reply);
            }
        }
    }

    /// Deals with an event; gives the answer to our request.
    async fn hear(&mut self, asked: u64, event: Event) -> Option<Reply> {
        // An event without data only primes the stream.
        if event.name != "message" || event.data.is_empty() {
            return None;
        }
        match message::read(&event.data) {
            Some(read) => self.take(asked, read).await,
            None => {
                self.record.stray(&event.data);
                None
            }
        }
    }

    /// The rest of a stream that broke off. A legacy server may end it early on purpose (2025-11-25), where events have
    /// ids; it is asked again after the pause that it wants.
    async fn resume(&self, method: &str, reader: &sse::Reader, until: Instant) -> Try<Option<Response>> {
        let last_id = reader.last_id().and_then(|id| HeaderValue::from_bytes(id).ok());
        let (Dialect::Legacy(_), Some(mut last_id)) = (&self.dialect, last_id) else { return Ok(None) };
        last_id.set_sensitive(true);
        let pause = reader.retry().map_or(Duration::ZERO, Duration::from_millis);
        let Some(then) = self.now().checked_add(pause).filter(|then| *then < until) else {
            let name = self.record.name();
            let message = format!("{name} wants to be asked for its answer to `{method}` after {pause:?}");
            return Err(Failure::new(Outcome::Timeout, message).help(
                "that is later than a listing may take; see the server's own log for what takes so long",
            ));
        };
        tokio::time::sleep_until(self.clock(then)).await;
        // How it refuses is nobody's business: the answer did not come.
        Ok(self.get(Some(last_id), until).await.ok())
    }

    /// Deals with messages; gives the answer to our request.
    async fn take(&mut self, asked: u64, read: message::Read) -> Option<Reply> {
        if read.unversioned {
            self.record.warn("sends messages without `jsonrpc`");
        }
        let mut answer = None;
        for message in read.messages {
            match message {
                Message::Reply { id: Id::Number(id), reply } if id == asked => answer = Some(reply),
                Message::Reply { id: Id::None, reply: Err(error) } => {
                    self.record.warn("sends errors without the id of the request");
                    answer = Some(Err(error));
                }
                Message::Reply { .. } => {}
                Message::Notification { method, params } => self.record.hear(&method, params.as_deref()),
                Message::Request { id, method } => {
                    let until = self.until(COURTESY);
                    // Boxed: `post` is not recursive, but its size would double here.
                    let _ = Box::pin(self.post("", message::answer(&id, &method), until)).await;
                }
            }
        }
        answer
    }

    async fn body(&self, method: &str, mut response: Response, until: Instant) -> Try<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            match timeout_at(self.clock(until), response.chunk()).await {
                Err(_) => return Err(self.timeout(method)),
                Ok(Err(error)) => return Err(self.unreachable(&error)),
                Ok(Ok(None)) => return Ok(body),
                Ok(Ok(Some(chunk))) if body.len() + chunk.len() > self.limits.message_bytes => {
                    return Err(self.too_large(method));
                }
                Ok(Ok(Some(chunk))) => {
                    self.record.share.hold(body.len() + chunk.len()).await;
                    body.extend_from_slice(&chunk);
                }
            }
        }
    }

    /// The end of a budget that starts now.
    fn until(&self, budget: Duration) -> Instant {
        (self.now() + budget).min(self.deadline)
    }

    /// The time without what was waited for room.
    fn now(&self) -> Instant {
        self.record.share.now()
    }

    /// The end of a budget on the clock.
    fn clock(&self, end: Instant) -> Instant {
        self.record.share.until(end)
    }
}

impl Peer for Connection<'_> {
    fn record(&mut self) -> &mut Record {
        self.record
    }

    fn limits(&self) -> &Limits {
        self.limits
    }

    async fn page(&mut self, method: &'static str, cursor: Option<&RawValue>) -> Try<Reply> {
        let params = self.dialect.params(cursor);
        let until = self.until(self.limits.request);
        match self.request(method, &params, until).await {
            Err(failure)
                if failure.http_status == Some(404)
                    && failure.outcome != Outcome::AuthRequired
                    && self.session.is_some() =>
            {
                // The session expired. A cursor of the old one may be refused now, which restarts the list.
                self.initialize().await?;
                self.request(method, &params, self.until(self.limits.request)).await
            }
            ended => ended,
        }
    }

    async fn catch_up(&mut self) -> Try<()> {
        // Streamable HTTP has nothing open between two answers.
        if let Some(mut stream) = self.stream.take() {
            for _ in 0..MAX_CATCH_UP {
                let Some(event) = stream.ready(&self.record.share, self.deadline) else { break };
                self.hear(0, event).await;
            }
            self.stream = Some(stream);
        }
        Ok(())
    }
}

fn content_type(response: &Response) -> String {
    let value =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
