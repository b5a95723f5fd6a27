//! JSON-RPC as it travels: what we say, and what one text from a server is.
//!
//! Reading is lenient about the envelope (a string for an id, no `jsonrpc`, a batch) and exact about the payload: a
//! result stays the text that was sent. No [`Value`] is built of it, so neither depth nor size can hurt here.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json, value::RawValue};

use crate::{json, snapshot};

/// Messages of a batch: many times what anybody has to tell us at once.
const MAX_BATCH: usize = 1_000;

/// What answers a request: the result as sent, or the error.
pub(super) type Reply = Result<Box<RawValue>, Value>;

/// One message from a server.
#[derive(Debug)]
pub(super) enum Message {
    /// An answer, ours or somebody's.
    Reply {
        /// Whose request it answers.
        id: Id,
        /// The answer.
        reply: Reply,
    },
    /// The server wants something.
    Request {
        /// Its id, to be sent back as it is.
        id: Box<RawValue>,
        /// What it wants.
        method: String,
    },
    /// The server tells something.
    Notification {
        /// What.
        method: String,
        /// About what, as sent.
        params: Option<Box<RawValue>>,
    },
}

/// The id of an answer, as far as it tells whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Id {
    /// One of our numbers, perhaps written as a string.
    Number(u64),
    /// None, `null`, or `"server-error"` (the Python SDK's): an error with it answers what is pending.
    None,
    /// Something we never sent.
    Foreign,
}

/// What was read, and whether its envelope lacked `jsonrpc`.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) messages: Vec<Message>,
    pub(super) unversioned: bool,
}

/// Reads one text; `None` where it is no JSON-RPC. A batch (legal in 2025-03-26) is several messages.
pub(super) fn read(bytes: &[u8]) -> Option<Read> {
    let text = std::str::from_utf8(bytes).ok()?.trim_start_matches('\u{feff}').trim();
    let mut unversioned = false;
    let messages = if text.starts_with('[') {
        let (members, _) = snapshot::split_up_to(text, MAX_BATCH).ok().filter(|(m, all)| m.len() == *all)?;
        members.iter().map(|m| one(m.raw.get(), &mut unversioned)).collect::<Option<Vec<_>>>()?
    } else {
        vec![one(text, &mut unversioned)?]
    };
    (!messages.is_empty()).then_some(Read { messages, unversioned })
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    // `null` is a result too, though never a tools list.
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(d: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(d).map(Some)
}

fn one(text: &str, unversioned: &mut bool) -> Option<Message> {
    if !text.starts_with('{') {
        return None;
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).ok()?;
    *unversioned |= envelope.jsonrpc.is_none();
    if let Some(method) = envelope.method {
        let method: String = serde_json::from_str(method.get()).ok()?;
        return Some(match envelope.id {
            Some(id) => Message::Request { id: id.to_owned(), method },
            None => Message::Notification { method, params: envelope.params.map(ToOwned::to_owned) },
        });
    }
    let reply = match (envelope.error, envelope.result) {
        // An error is whatever stands there; some servers send a bare string.
        (Some(error), _) => Err(json::parse(error.get())
            .unwrap_or_else(|_| Value::String("an error that cannot be read".to_owned()))),
        (None, Some(result)) => Ok(result.to_owned()),
        (None, None) => return None,
    };
    Some(Message::Reply { id: id_of(envelope.id), reply })
}

fn id_of(id: Option<&RawValue>) -> Id {
    let Some(id) = id else { return Id::None };
    let text = id.get().trim_matches('"');
    match text.parse() {
        Ok(number) => Id::Number(number),
        Err(_) if text == "server-error" => Id::None,
        Err(_) => Id::Foreign,
    }
}

/// A request of ours.
pub(super) fn request(id: u64, method: &str, params: &impl Serialize) -> String {
    #[derive(Serialize)]
    struct Request<'a, P> {
        jsonrpc: &'static str,
        id: u64,
        method: &'a str,
        params: P,
    }
    serde_json::to_string(&Request { jsonrpc: "2.0", id, method, params })
        .expect("params are objects with text keys and texts that were JSON before")
}

/// A notification of ours.
pub(super) fn notification(method: &str) -> String {
    json!({"jsonrpc": "2.0", "method": method}).to_string()
}

/// Our answer to what a server asks: it may see that we live, nothing else.
pub(super) fn answer(id: &RawValue, method: &str) -> String {
    let id = id.get();
    if method == "ping" {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
    } else {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"method not found"}}}}"#)
    }
}

/// The code of a JSON-RPC error, where it has one.
pub(super) fn code(error: &Value) -> Option<i64> {
    let code = error.get("code")?;
    code.as_i64().or_else(|| code.as_str()?.parse().ok())
}

/// A JSON-RPC error in words: `-32603: boom`.
pub(super) fn describe(error: &Value) -> String {
    let words = match error {
        Value::String(text) => text.clone(),
        _ => error.get("message").and_then(Value::as_str).unwrap_or("no message").to_owned(),
    };
    let words = super::printable(&words, 300);
    code(error).map_or(words.clone(), |code| format!("{code}: {words}"))
}
