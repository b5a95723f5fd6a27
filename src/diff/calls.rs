//! Calls that somebody recorded: what callers did send. One that the baseline accepts and the candidate rejects is a witness
//! as it stands, under either assumption.
//!
//! Arguments can hold secrets. They are kept no longer than the diff, and only witnesses show them.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, value::RawValue};

use crate::{
    contract::Contract,
    json::{self, ParseError},
};

/// The longest text of recorded calls: 100,000 of ordinary size, which is a second's work.
pub const MAX_BYTES: usize = 16 << 20;

/// Calls beyond which a text is refused. Each is held against both schemas of its tool, which takes some microseconds.
pub const MAX_CALLS: usize = 100_000;

/// The longest call. Larger ones carry whole files, and nobody reads them in a witness.
pub const MAX_CALL_BYTES: usize = 1 << 20;

/// Recorded calls by tool.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    tools: HashMap<String, Vec<Call>>,
    recorded: usize,
    skipped: usize,
}

#[derive(Debug, Clone)]
struct Call {
    /// Whose tool was called, where the record says so.
    server: Option<String>,
    arguments: Value,
}

/// Why a text holds no recorded calls. No arguments are quoted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallsError {
    /// Longer than [`MAX_BYTES`].
    #[error("has {0} bytes, the limit for recorded calls is {MAX_BYTES}")]
    TooLarge(usize),
    /// More than [`MAX_CALLS`].
    #[error("holds more than {MAX_CALLS} recorded calls, the limit; record fewer, or a sample of them")]
    TooMany,
    /// A line that is not JSON, or a call that is too large.
    #[error("line {line}: {cause}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        cause: String,
    },
}

impl Calls {
    /// Reads recorded messages: one a line, or all in one JSON array. A call is a `tools/call` request or its params, with or
    /// without `"server"` beside them. Everything else, as responses and other methods, is skipped and counted.
    ///
    /// # Errors
    /// Where a line is not JSON, or a limit is met.
    pub fn read(text: &str) -> Result<Self, CallsError> {
        if text.len() > MAX_BYTES {
            return Err(CallsError::TooLarge(text.len()));
        }
        let text = text.trim_start_matches('\u{feff}');
        let mut calls = Self::default();
        // A first line that is JSON by itself is one of several messages, whatever it begins with.
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        if serde_json::from_str::<&RawValue>(first).is_ok() {
            for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
                calls.document(line, i)?;
            }
        } else if !text.trim().is_empty() {
            calls.document(text, 0)?;
        }
        Ok(calls)
    }

    /// Reads one message, or an array of them, that begins after so many lines.
    fn document(&mut self, text: &str, lines: usize) -> Result<(), CallsError> {
        let syntax = |e: serde_json::Error| CallsError::Line {
            line: lines + e.line().max(1),
            cause: format!("not valid JSON: {}", cause(&e.to_string())),
        };
        if !text.trim_start().starts_with('[') {
            return self.message(serde_json::from_str(text).map_err(syntax)?, lines + 1);
        }
        // The messages are parts of the text, so their lines are known by where they begin.
        let messages: Vec<&RawValue> = serde_json::from_str(text).map_err(syntax)?;
        let (mut line, mut counted) = (lines + 1, 0);
        for message in messages {
            let begin = (message.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
            line += text.get(counted..begin).unwrap_or_default().matches('\n').count();
            counted = begin;
            self.message(message, line)?;
        }
        Ok(())
    }

    fn message(&mut self, raw: &RawValue, line: usize) -> Result<(), CallsError> {
        let bytes = raw.get().len();
        let refused = |cause| Err(CallsError::Line { line, cause });
        let message = match json::parse(raw.get()) {
            Ok(message) => message,
            Err(error @ (ParseError::TooDeep { .. } | ParseError::TooMany { .. })) => {
                return refused(error.to_string());
            }
            Err(ParseError::Syntax(error)) => return refused(format!("not valid JSON: {}", cause(&error))),
        };
        let Some((tool, call)) = call(message) else {
            self.skipped += 1;
            return Ok(());
        };
        if bytes > MAX_CALL_BYTES {
            return refused(format!("the call has {bytes} bytes, the limit is {MAX_CALL_BYTES}"));
        }
        self.recorded += 1;
        if self.recorded > MAX_CALLS {
            return Err(CallsError::TooMany);
        }
        self.tools.entry(tool).or_default().push(call);
        Ok(())
    }

    /// Whether there are none, and nothing was skipped either.
    pub(super) fn are_none(&self) -> bool {
        self.recorded == 0 && self.skipped == 0
    }

    /// How many there are.
    pub(super) fn recorded(&self) -> usize {
        self.recorded
    }

    /// How many messages were no calls.
    pub(super) fn skipped(&self) -> usize {
        self.skipped
    }

    /// The arguments of all calls of a tool. A record, or a side, that does not say whose a tool is may mean anyone's.
    pub(super) fn of(&self, server: &str, tool: &str) -> Vec<&Value> {
        let of = |call: &&Call| is_of(call, server);
        self.tools.get(tool).into_iter().flatten().filter(of).map(|call| &call.arguments).collect()
    }

    /// How many are of no tool of these servers.
    pub(super) fn unmatched(&self, servers: &BTreeMap<String, Vec<&Contract>>) -> usize {
        let mut listing: HashMap<&str, Vec<&str>> = HashMap::new();
        for (server, contracts) in servers {
            for contract in contracts {
                listing.entry(&contract.name).or_default().push(server);
            }
        }
        let listed = |tool: &str, call: &Call| {
            listing.get(tool).is_some_and(|servers| servers.iter().any(|server| is_of(call, server)))
        };
        self.tools.iter().map(|(tool, calls)| calls.iter().filter(|call| !listed(tool, call)).count()).sum()
    }
}

fn is_of(call: &Call, server: &str) -> bool {
    server.is_empty() || call.server.as_deref().is_none_or(|named| named == server)
}

/// The call that a message is, and of which tool.
fn call(message: Value) -> Option<(String, Call)> {
    let Value::Object(mut message) = message else { return None };
    let server = message.get("server").and_then(Value::as_str).map(str::to_owned);
    let mut params = match message.get("method") {
        Some(method) if method == "tools/call" => match message.remove("params") {
            Some(Value::Object(params)) => params,
            _ => return None,
        },
        Some(_) => return None,
        // Many things have a name; params are told by their arguments.
        None if message.contains_key("arguments") => message,
        None => return None,
    };
    let Some(Value::String(tool)) = params.remove("name") else { return None };
    let arguments = match params.remove("arguments") {
        Some(arguments @ Value::Object(_)) => arguments,
        // A tool without parameters is called without arguments.
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(_) => return None,
    };
    Some((tool, Call { server, arguments }))
}

/// The parser's words without the position, which is that in a part of the text.
fn cause(error: &str) -> &str {
    error.rsplit_once(" at line ").map_or(error, |(cause, _)| cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls of `t` that `server` has, and what was skipped.
    fn check(text: &str, server: &str) -> (Vec<String>, usize) {
        let calls = Calls::read(text).expect("recorded calls");
        (calls.of(server, "t").into_iter().map(ToString::to_string).collect(), calls.skipped)
    }

    #[test]
    fn calls_are_told_from_other_messages() {
        let none: &[&str] = &[];
        for (text, calls, skipped) in [
            ("", none, 0),
            ("\u{feff}\n \n", none, 0),
            ("[]", none, 0),
            (r#"{"name":"t","arguments":{"a":1}}"#, &[r#"{"a":1}"#], 0),
            ("{\n\"name\": \"t\",\n\"arguments\": {}}\n", &["{}"], 0),
            (r#"{"method":"tools/call","params":{"name":"t"}}"#, &["{}"], 0),
            (r#"{"method":"tools/call","params":{"name":"t","arguments":null,"_meta":{}}}"#, &["{}"], 0),
            // Batches, line by line.
            ("[{\"name\":\"t\",\"arguments\":{}}]\n[7,{\"name\":\"u\",\"arguments\":{}}]", &["{}"], 1),
            // A tool is no call of it, and neither is a prompt.
            (r#"{"name":"t","inputSchema":{}}"#, none, 1),
            (r#"{"method":"prompts/get","params":{"name":"t","arguments":{}}}"#, none, 1),
            (r#"{"method":"tools/call","params":["t"]}"#, none, 1),
            (r#"{"name":"t","arguments":[1]}"#, none, 1),
            (r#"{"name":7,"arguments":{}}"#, none, 1),
            (r#"{"jsonrpc":"2.0","id":1,"result":{"name":"t","arguments":{}}}"#, none, 1),
        ] {
            assert_eq!(
                check(text, "s"),
                (calls.iter().map(ToString::to_string).collect(), skipped),
                "{text}"
            );
        }
    }

    #[test]
    fn a_call_is_of_the_server_that_it_names() {
        let text = r#"{"server":"s","method":"tools/call","params":{"name":"t"}}"#;
        for (server, calls) in [("s", 1), ("other", 0), ("", 1)] {
            assert_eq!(check(text, server).0.len(), calls, "{server}");
        }
    }
}
