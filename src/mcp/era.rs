//! MCP's two ways to begin, and what each says of the server (specification 2026-07-28, basic/versioning).
//!
//! *Modern*: no handshake; every request carries `_meta`, and `server/discover` tells what the server is. *Legacy*:
//! `initialize`, then `notifications/initialized`. We ask the modern way first; which answer means what is decided
//! here, for both transports.

use serde::Serialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    json,
    snapshot::{Era, Outcome},
};

use super::{
    changes,
    message::{self, Reply},
    record::{Failure, Record, Try, printable},
};

/// The modern revision we speak.
pub(super) const MODERN: &str = "2026-07-28";
/// The legacy revision we propose; whatever the server answers is taken.
pub(super) const LEGACY: &str = "2025-11-25";
/// From this revision on, HTTP requests after `initialize` name the revision in a header.
pub(super) const VERSION_HEADER_SINCE: &str = "2025-06-18";

/// `UnsupportedProtocolVersion`: modern, another revision.
const UNSUPPORTED_VERSION: i64 = -32022;
/// Times that a server may send us to another revision.
const MAX_ASKED_AGAIN: usize = 2;
/// Errors that only modern servers send over HTTP: header mismatch, missing client capability.
const MODERN_HTTP_ERRORS: [i64; 2] = [-32020, -32021];

/// How requests are worded once the era is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Dialect {
    /// After `initialize`; the revision the server answered.
    Legacy(String),
    /// Stateless; the revision every request names.
    Modern(String),
}

/// The parameters of a request that needs no more than these.
#[derive(Debug, Serialize)]
pub(super) struct Params<'a> {
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Value>,
    /// The server's own text, sent back byte for byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'a RawValue>,
    /// What a subscription is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    notifications: Option<Value>,
}

impl Dialect {
    pub(super) fn params<'a>(&self, cursor: Option<&'a RawValue>) -> Params<'a> {
        let meta = match self {
            Self::Legacy(_) => None,
            Self::Modern(version) => Some(meta(version)),
        };
        Params { meta, cursor, notifications: None }
    }

    /// The parameters of `subscriptions/listen`.
    pub(super) fn listen_params(&self) -> Params<'static> {
        let wanted = changes::FILTER.iter().map(|key| ((*key).to_owned(), Value::Bool(true))).collect();
        Params { notifications: Some(Value::Object(wanted)), ..self.params(None) }
    }
}

fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": client_info(),
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn client_info() -> Value {
    json!({"name": "toolpact", "version": env!("CARGO_PKG_VERSION")})
}

/// The parameters of `initialize`.
pub(super) fn initialize_params() -> Value {
    // No capabilities: a list depends on them, and a server must not be able to ask us for anything.
    json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client_info()})
}

/// What an answer to `server/discover` means.
#[derive(Debug)]
pub(super) enum Discovery {
    /// A modern server that described itself.
    Modern {
        /// The revision to speak.
        version: String,
        /// Its description.
        about: Value,
    },
    /// A modern server that wants to be asked in this revision.
    AskAgain(String),
    /// A modern server that we cannot talk to.
    Refused(Value),
    /// No modern server: `initialize`.
    Legacy,
}

/// Where an answer came from; over HTTP more errors tell a modern server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    /// Lines.
    Stdio,
    /// Streamable HTTP.
    Http,
}

/// Reads the answer to a `server/discover` that was asked `again` times before. A server that refuses the very revision
/// that it says to support is asked for it again, too: of several behind one address, one may be older.
pub(super) fn discovery(reply: &Reply, again: usize, over: Over) -> Discovery {
    match reply {
        Ok(result) => {
            let about = json::parse(result.get()).unwrap_or(Value::Null);
            // Some legacy servers answer everything with something.
            match about.get("supportedVersions").and_then(versions) {
                Some(supported) => choose(&supported)
                    .map_or(Discovery::Legacy, |version| Discovery::Modern { version, about: about.clone() }),
                None => Discovery::Legacy,
            }
        }
        Err(error) => match message::code(error) {
            Some(UNSUPPORTED_VERSION) => error
                .get("data")
                .and_then(|d| d.get("supported"))
                .and_then(versions)
                .and_then(|supported| choose(&supported))
                .filter(|_| again < MAX_ASKED_AGAIN)
                .map_or_else(|| Discovery::Refused(error.clone()), Discovery::AskAgain),
            Some(code) if over == Over::Http && MODERN_HTTP_ERRORS.contains(&code) => {
                Discovery::Refused(error.clone())
            }
            // Any other error: never keyed to one code.
            Some(_) | None => Discovery::Legacy,
        },
    }
}

fn versions(value: &Value) -> Option<Vec<String>> {
    Some(value.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// The revision to speak: ours, or else the newest later one. `tools/list` may well be the same there, and a snapshot
/// of it is worth more than none.
fn choose(supported: &[String]) -> Option<String> {
    if supported.iter().any(|v| v == MODERN) {
        return Some(MODERN.to_owned());
    }
    supported.iter().filter(|v| is_date(v) && v.as_str() > MODERN).max().cloned()
}

fn is_date(version: &str) -> bool {
    version.len() == MODERN.len()
        && version
            .bytes()
            .zip(MODERN.bytes())
            .all(|(a, b)| if b == b'-' { a == b } else { a.is_ascii_digit() })
}

/// Notes what a modern server says of itself.
pub(super) fn note_discovery(record: &mut Record, version: &str, about: &Value) -> Dialect {
    let info = about
        .get("_meta")
        .and_then(|m| m.get("io.modelcontextprotocol/serverInfo"))
        .or_else(|| about.get("serverInfo"));
    note_server(record, info, about);
    record.provenance.era = Some(Era::Modern);
    record.provenance.protocol_version = Some(version.to_owned());
    if version != MODERN {
        record.warn(format!(
            "speaks revision {version}, which is not known here; asked in the form of {MODERN}"
        ));
    }
    Dialect::Modern(version.to_owned())
}

/// Reads the answer to `initialize` and notes what a legacy server says of itself.
pub(super) fn note_initialize(record: &mut Record, reply: Reply) -> Try<Dialect> {
    let result = match reply {
        Ok(result) => result,
        Err(error) => {
            let message = format!("{} refused `initialize`: {}", record.name(), message::describe(&error));
            return Err(Failure::new(Outcome::Error, message)
                .help("the server may speak none of the known protocol revisions; see its documentation")
                .rpc_error(error));
        }
    };
    let about = match json::parse(result.get()) {
        Ok(about) if about.is_object() => about,
        Ok(_) | Err(_) => {
            let message = format!("{} answered `initialize` with something that is no object", record.name());
            return Err(Failure::new(Outcome::Malformed, message)
                .help("check that the command or URL is an MCP server"));
        }
    };
    let version = about.get("protocolVersion").and_then(Value::as_str).map(str::to_owned);
    if version.is_none() {
        record.warn("answered `initialize` without a `protocolVersion`");
    }
    note_server(record, about.get("serverInfo"), &about);
    record.provenance.era = Some(Era::Legacy);
    record.provenance.protocol_version.clone_from(&version);
    Ok(Dialect::Legacy(version.unwrap_or_else(|| LEGACY.to_owned())))
}

fn note_server(record: &mut Record, info: Option<&Value>, about: &Value) {
    let provenance = &mut record.provenance;
    provenance.server_info = info.cloned();
    provenance.capabilities = about.get("capabilities").cloned();
    provenance.instructions = about.get("instructions").and_then(Value::as_str).map(str::to_owned);
}

/// The failure of a modern server that we cannot talk to.
pub(super) fn refused(record: &Record, error: Value) -> Box<Failure> {
    let supported = error.get("data").and_then(|d| d.get("supported")).and_then(versions).unwrap_or_default();
    let offers = if supported.is_empty() {
        String::new()
    } else {
        format!("; it supports {}", printable(&supported.join(", "), 120))
    };
    let message =
        format!("{} refused `server/discover`: {}{offers}", record.name(), message::describe(&error));
    Failure::new(Outcome::Error, message)
        .help(
            "a server that speaks a revision known here is needed; toolpact speaks 2024-11-05 to 2026-07-28",
        )
        .rpc_error(error)
}
