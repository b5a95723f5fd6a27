//! The Streamable HTTP transport: each message a POST, each answer JSON or an event stream.
//!
//! Bodies are capped while they arrive. Redirects are followed within the origin only, because the caller's headers are
//! secrets. Neither those nor the session's id are ever kept or printed.

use reqwest::{
    Client, Method, Response, StatusCode, Url,
    header::{
        ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
    },
};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::time::{Duration, Instant, timeout_at};

use crate::snapshot::Outcome;

use super::{
    Limits, SourceError,
    era::{self, Dialect, Discovery, Over},
    message::{self, Id, Message, Reply},
    pages::{self, Peer},
    record::{Failure, Record, Try, printable},
    sse,
};

/// Redirects followed for one message; one is usual (`/mcp` to `/mcp/`).
const MAX_REDIRECTS: usize = 3;
/// Read of an answer that is an error: enough for a JSON-RPC error.
const ERROR_BYTES: usize = 64 << 10;
/// How long goodbyes and answers to the server's own requests may take; nothing depends on them.
const COURTESY: Duration = Duration::from_secs(1);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// Headers that the protocol or HTTP itself sets.
const RESERVED: [&str; 9] = [
    "accept",
    "content-type",
    "content-length",
    "transfer-encoding",
    "connection",
    "host",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
];

/// A URL and headers that can be used.
#[derive(Debug)]
pub(super) struct Endpoint {
    url: Url,
    headers: HeaderMap,
}

impl Endpoint {
    pub(super) fn parse(url: &str, headers: &[(String, String)]) -> Result<Self, SourceError> {
        let refuse = |cause: String| SourceError::Url { url: without_secrets(url), cause };
        let parsed = Url::parse(url).map_err(|error| refuse(error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(refuse(format!("the scheme `{}` is not http or https", parsed.scheme())));
        }
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let refuse = |cause| SourceError::Header { name: printable(name, 60), cause };
            let key: HeaderName = name.trim().parse().map_err(|_| refuse("that is no header name"))?;
            if RESERVED.contains(&key.as_str()) {
                return Err(refuse("the protocol sets it itself"));
            }
            let mut value = HeaderValue::from_str(value.trim())
                .map_err(|_| refuse("its value has characters that no header may have"))?;
            value.set_sensitive(true);
            map.append(key, value);
        }
        Ok(Self { url: parsed, headers: map })
    }
}

/// A URL as it may be shown: without user info, query and fragment.
pub(super) fn without_secrets(url: &str) -> String {
    match Url::parse(url) {
        Ok(mut url) if url.has_host() => {
            // Neither can fail on a URL with a host.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.set_query(None);
            url.set_fragment(None);
            url.into()
        }
        // No URL we know the parts of: only what cannot be a secret in any reading.
        Ok(_) | Err(_) if url.contains('@') => "…".to_owned(),
        Ok(_) | Err(_) => printable(url.split(['?', '#']).next().unwrap_or_default(), 120),
    }
}

/// Lists the server's tools.
pub(super) async fn list(
    url: &str,
    headers: &[(String, String)],
    limits: &Limits,
    record: &mut Record,
) -> Try<()> {
    let endpoint = Endpoint::parse(url, headers).map_err(|error| {
        Failure::new(Outcome::Unavailable, error.to_string()).help("correct the server's source")
    })?;
    let client = client(&endpoint.url).map_err(|error| {
        Failure::new(Outcome::Unavailable, format!("{} cannot be called: {}", record.name(), cause(&error)))
            .help("https needs the system's root certificates (package ca-certificates, or SSL_CERT_FILE)")
    })?;
    let mut connection = Connection {
        client,
        endpoint,
        dialect: Dialect::Modern(era::MODERN.to_owned()),
        session: None,
        last_id: 0,
        deadline: Instant::now() + limits.total,
        limits,
        record,
    };
    let ended = match connection.begin().await {
        Ok(()) => pages::read(&mut connection).await,
        Err(failure) => Err(failure),
    };
    connection.end_session().await;
    ended
}

fn client(url: &Url) -> reqwest::Result<Client> {
    // Fails where a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("toolpact/", env!("CARGO_PKG_VERSION")));
    if url.scheme() == "http" {
        // No roots needed, and loading the system's costs tens of milliseconds.
        builder = builder.tls_certs_only(std::iter::empty());
    }
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder.build()
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

struct Connection<'a> {
    client: Client,
    endpoint: Endpoint,
    dialect: Dialect,
    session: Option<HeaderValue>,
    last_id: u64,
    deadline: Instant,
    limits: &'a Limits,
    record: &'a mut Record,
}

impl Connection<'_> {
    // -- how a conversation begins ----------------------------------------------------------------------------------

    /// Asks the modern way first. A server that knows it not refuses with some 4xx or some error; one that says nothing
    /// for a while is asked the legacy way, and, where it refuses that, the modern way again with all the time there is.
    async fn begin(&mut self) -> Try<()> {
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

    async fn initialize(&mut self) -> Try<()> {
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
        let mut reader = sse::Reader::new(ERROR_BYTES);
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
    async fn end_session(&mut self) {
        let Some(session) = self.session.take() else { return };
        let request = self
            .client
            .delete(self.endpoint.url.clone())
            .headers(self.endpoint.headers.clone())
            .headers(self.version_header())
            .header(SESSION, session);
        let _ = timeout_at(self.until(COURTESY), request.send()).await;
    }

    // -- what travels -----------------------------------------------------------------------------------------------

    /// One request and its answer. A failure with an HTTP status is an answer that HTTP gave.
    async fn request(&mut self, method: &str, params: &impl Serialize, until: Instant) -> Try<Reply> {
        self.last_id += 1;
        let id = self.last_id;
        let response = self.post(method, message::request(id, method, params), until).await?;
        if method == "initialize" {
            self.session = response.headers().get(SESSION).cloned().map(|mut id| {
                id.set_sensitive(true);
                id
            });
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
            let response = match timeout_at(until, request.body(body.clone()).send()).await {
                Err(_) => return Err(self.timeout(method)),
                Ok(Err(error)) => return Err(self.unreachable(&error)),
                Ok(Ok(response)) => response,
            };
            let status = response.status();
            if status.is_success() {
                return Ok(response);
            }
            if !status.is_redirection() {
                return Err(self.refusal(method, response, until).await);
            }
            self.endpoint.url = self.redirected(&response)?;
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

    async fn read_stream(
        &mut self,
        id: u64,
        method: &str,
        mut response: Response,
        until: Instant,
    ) -> Try<Reply> {
        let mut reader = sse::Reader::new(self.limits.message_bytes);
        loop {
            let chunk = match timeout_at(until, response.chunk()).await {
                Err(_) => return Err(self.timeout(method)),
                Ok(Err(error)) => return Err(self.unreachable(&error)),
                Ok(Ok(None)) => {
                    let message = format!(
                        "{} ended its event stream before it answered `{method}`",
                        self.record.name()
                    );
                    return Err(Failure::new(Outcome::Unavailable, message)
                        .help("take the snapshot again; if it stays so, see the server's own log"));
                }
                Ok(Ok(Some(chunk))) => chunk,
            };
            let Ok(events) = reader.push(&chunk) else { return Err(self.too_large(method)) };
            for event in events.into_iter().filter(|event| event.name == "message") {
                let Some(read) = message::read(&event.data) else {
                    // An empty event only primes the stream.
                    if !event.data.is_empty() {
                        self.record.stray(&event.data);
                    }
                    continue;
                };
                if let Some(reply) = self.take(id, read).await {
                    return Ok(reply);
                }
            }
            if Instant::now() >= until {
                return Err(self.timeout(method));
            }
        }
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
                Message::Notification { method } => {
                    self.record.changed |= method == "notifications/tools/list_changed";
                }
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
            match timeout_at(until, response.chunk()).await {
                Err(_) => return Err(self.timeout(method)),
                Ok(Err(error)) => return Err(self.unreachable(&error)),
                Ok(Ok(None)) => return Ok(body),
                Ok(Ok(Some(chunk))) if body.len() + chunk.len() > self.limits.message_bytes => {
                    return Err(self.too_large(method));
                }
                Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            }
        }
    }

    // -- how it fails -----------------------------------------------------------------------------------------------

    /// The end of a budget that starts now.
    fn until(&self, budget: Duration) -> Instant {
        (Instant::now() + budget).min(self.deadline)
    }

    fn timeout(&self, method: &str) -> Box<Failure> {
        let name = self.record.name();
        let message = if Instant::now() >= self.deadline {
            format!("listing {name} took longer than {:?}", self.limits.total)
        } else {
            format!("{name} did not answer `{method}` in time")
        };
        Failure::new(Outcome::Timeout, message).help("see whether the server is overloaded, then try again")
    }

    fn unreachable(&self, error: &reqwest::Error) -> Box<Failure> {
        let what = if error.is_connect() { "cannot be reached" } else { "broke the connection" };
        Failure::new(Outcome::Unavailable, format!("{} {what}: {}", self.record.name(), cause(error)))
            .help("check that the server runs and that the URL and proxy settings are right")
    }

    fn too_large(&self, method: &str) -> Box<Failure> {
        let limit = self.limits.message_bytes;
        let message = format!("{} answered `{method}` with more than {limit} bytes", self.record.name());
        Failure::new(Outcome::TooLarge, message)
            .help("the limit is for one message; a server with so many tools has to page them")
    }

    fn no_answer(&self, method: &str, how: &str) -> Box<Failure> {
        Failure::new(Outcome::Malformed, format!("{} answered `{method}` {how}", self.record.name()))
            .help("check that the URL is the server's MCP endpoint")
    }

    /// The URL of a redirect, where it may be followed.
    fn redirected(&self, response: &Response) -> Try<Url> {
        let location =
            response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let target = self.endpoint.url.join(location).ok().filter(|_| !location.is_empty());
        let refuse = |how: String, help: String| {
            let message =
                format!("{} answered with status {} {how}", self.record.name(), response.status().as_u16());
            let mut failure = Failure::new(Outcome::Unavailable, message).help(help);
            failure.http_status = Some(response.status().as_u16());
            Err(failure)
        };
        match target {
            None => refuse("and no place to go".to_owned(), "check the URL".to_owned()),
            Some(url) if url.origin() != self.endpoint.url.origin() => {
                let origin = printable(&url.origin().ascii_serialization(), 120);
                refuse(
                    format!("and a redirect to another origin, `{origin}`, which is not followed"),
                    "if that is where the server is, give its URL; headers are sent to no other origin"
                        .to_owned(),
                )
            }
            Some(url) => Ok(url),
        }
    }

    /// What an answer means whose status says failure.
    async fn refusal(&self, method: &str, mut response: Response, until: Instant) -> Box<Failure> {
        let status = response.status();
        let text = |name: HeaderName| {
            response.headers().get(name).map(|v| printable(&String::from_utf8_lossy(v.as_bytes()), 200))
        };
        let (retry_after, challenge) = (text(RETRY_AFTER), text(WWW_AUTHENTICATE));
        let mut body = Vec::new();
        while let Ok(Ok(Some(chunk))) = timeout_at(until, response.chunk()).await {
            body.extend_from_slice(&chunk[..chunk.len().min(ERROR_BYTES - body.len())]);
            if body.len() == ERROR_BYTES {
                break;
            }
        }
        let rpc_error = message::read(&body).and_then(|read| {
            read.messages.into_iter().find_map(|message| match message {
                Message::Reply { reply: Err(error), .. } => Some(error),
                Message::Reply { .. } | Message::Request { .. } | Message::Notification { .. } => None,
            })
        });
        let (outcome, help) = match status {
            StatusCode::UNAUTHORIZED => (Outcome::AuthRequired, "give credentials with `--header`"),
            StatusCode::FORBIDDEN => {
                (Outcome::AuthRequired, "the credentials are not enough, or the server refuses this caller")
            }
            StatusCode::TOO_MANY_REQUESTS => (Outcome::Unavailable, "wait, then take the snapshot again"),
            _ if status.is_client_error() && rpc_error.is_some() => {
                (Outcome::Error, "see the server's own log; the list is not empty, it could not be read")
            }
            _ if status.is_client_error() => {
                (Outcome::Unavailable, "check that the URL is the server's MCP endpoint")
            }
            _ => (Outcome::Unavailable, "the server or something before it fails; try again later"),
        };
        let mut message =
            format!("{} answered `{method}` with status {}", self.record.name(), status.as_u16());
        if let Some(reason) = status.canonical_reason() {
            message.push_str(&format!(" {reason}"));
        }
        if let Some(error) = &rpc_error {
            message.push_str(&format!(" and error {}", message::describe(error)));
        }
        if let (Outcome::AuthRequired, Some(challenge)) = (outcome, challenge) {
            message.push_str(&format!("; it asks for {challenge}"));
        }
        if let Some(after) = &retry_after {
            message.push_str(&format!("; retry after {after}"));
        }
        let mut failure = Failure::new(outcome, message).help(help);
        if let Some(error) = rpc_error {
            failure = failure.rpc_error(error);
        }
        failure.http_status = Some(status.as_u16());
        failure.retry_after = retry_after;
        failure
    }
}

impl Peer for Connection<'_> {
    fn record(&mut self) -> &mut Record {
        self.record
    }

    fn limits(&self) -> &Limits {
        self.limits
    }

    async fn page(&mut self, cursor: Option<&RawValue>) -> Try<Reply> {
        let params = self.dialect.params(cursor);
        let until = self.until(self.limits.request);
        match self.request("tools/list", &params, until).await {
            Err(failure) if failure.http_status == Some(404) && self.session.is_some() => {
                // The session expired. A cursor of the old one may be refused now, which restarts the list.
                self.initialize().await?;
                self.request("tools/list", &params, self.until(self.limits.request)).await
            }
            ended => ended,
        }
    }

    async fn catch_up(&mut self) -> Try<()> {
        // Nothing is open between two answers.
        Ok(())
    }
}

fn content_type(response: &Response) -> String {
    let value =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The innermost cause of a failure; the outer ones only repeat the URL.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    printable(&cause.to_string(), 200)
}
