//! What an answer means whose status does not say success, and what it means that there is none.

use reqwest::{
    Response, StatusCode, Url,
    header::{HeaderName, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE},
};
use tokio::time::{Instant, timeout_at};

use crate::{
    mcp::{
        message::{self, Message},
        record::{Failure, Try, printable},
    },
    reach::innermost,
    snapshot::Outcome,
};

use super::{Connection, stream::Broken};

/// Read of an answer that is an error: enough for a JSON-RPC error.
const ERROR_BYTES: usize = 64 << 10;

/// Read of what a refusal asks for.
const CHALLENGE: usize = 4 << 10;

/// The URL of a redirect, where it may be followed.
pub(super) fn redirect(name: &str, from: &Url, response: &Response) -> Try<Url> {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let target = from.join(location).ok().filter(|_| !location.is_empty());
    let refuse = |how: String, help: String| {
        let message = format!("{name} answered with status {} {how}", response.status().as_u16());
        let mut failure = Failure::new(Outcome::Unavailable, message).help(help);
        failure.http_status = Some(response.status().as_u16());
        Err(failure)
    };
    match target {
        None => refuse("and no place to go".to_owned(), "check the URL".to_owned()),
        Some(url) if url.origin() != from.origin() => {
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
pub(super) async fn refusal(
    name: &str,
    method: &str,
    mut response: Response,
    until: Instant,
) -> Box<Failure> {
    let status = response.status();
    let text = |name: HeaderName| {
        response.headers().get(name).map(|v| printable(&String::from_utf8_lossy(v.as_bytes()), 200))
    };
    let (retry_after, challenge) = (text(RETRY_AFTER), text(WWW_AUTHENTICATE));
    let challenges = response.headers().get_all(WWW_AUTHENTICATE).iter().filter_map(|v| v.to_str().ok());
    let challenges: String = challenges.collect::<Vec<_>>().join(", ").chars().take(CHALLENGE).collect();
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
        StatusCode::UNAUTHORIZED => (
            Outcome::AuthRequired,
            "give credentials with `--header`, or those of a client with `--oauth-client-id`",
        ),
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
    let mut message = format!("{name} answered `{method}` with status {}", status.as_u16());
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
    failure.challenge = challenges;
    failure
}

impl Connection<'_> {
    pub(super) fn broken(&self, method: &str, reason: &Broken) -> Box<Failure> {
        match reason {
            Broken::Ended => {
                let name = self.record.name();
                let message = format!("{name} ended its event stream before it answered `{method}`");
                Failure::new(Outcome::Unavailable, message)
                    .help("take the snapshot again; if it stays so, see the server's own log")
            }
            Broken::Late => self.timeout(method),
            Broken::Lost(error) => self.unreachable(error),
            Broken::TooLong => self.too_large(method),
        }
    }

    pub(super) fn timeout(&self, method: &str) -> Box<Failure> {
        let name = self.record.name();
        let message = if self.now() >= self.deadline {
            format!("listing {name} took longer than {:?}", self.limits.total)
        } else {
            format!("{name} did not answer `{method}` in time")
        };
        Failure::new(Outcome::Timeout, message).help("see whether the server is overloaded, then try again")
    }

    pub(super) fn unreachable(&self, error: &reqwest::Error) -> Box<Failure> {
        let what = if error.is_connect() { "cannot be reached" } else { "broke the connection" };
        Failure::new(Outcome::Unavailable, format!("{} {what}: {}", self.record.name(), cause(error)))
            .help("check that the server runs and that the URL and proxy settings are right")
    }

    pub(super) fn too_large(&self, method: &str) -> Box<Failure> {
        let limit = self.limits.message_bytes;
        let message = format!("{} answered `{method}` with more than {limit} bytes", self.record.name());
        Failure::new(Outcome::TooLarge, message)
            .help("the limit is for one message; a server with so many tools has to page them")
    }

    pub(super) fn no_answer(&self, method: &str, how: &str) -> Box<Failure> {
        Failure::new(Outcome::Malformed, format!("{} answered `{method}` {how}", self.record.name()))
            .help("check that the URL is the server's MCP endpoint")
    }
}

/// The innermost cause of a failure; the outer ones only repeat the URL.
pub(super) fn cause(error: &reqwest::Error) -> String {
    printable(&innermost(error), 200)
}
