//! One server's entry in a host's configuration, read into a source.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{ConfigError, Host, variables::symbolic};
use crate::catalog::server::{HttpTransport, ServerSource, Symbolic};

/// What an entry is.
#[derive(Debug)]
pub(super) enum Read {
    /// A server, with notes for whoever reads the result.
    Source(Box<ServerSource>, Vec<String>),
    /// Nothing that can be registered, and why.
    Skipped(String),
}

/// What an entry says by a word of its own.
enum Kind {
    Stdio,
    Http,
    StreamableHttp,
    Sse,
    /// HTTP, which of the two by the URL's path (AgentScope's rule).
    ByPath,
    Unsupported,
}

/// Reads an entry. `disabled` takes servers that the host has switched off as well.
pub(super) fn read(host: Host, name: &str, entry: &Value, disabled: bool) -> Result<Read, ConfigError> {
    let refuse = |message: String| ConfigError::Entry { server: name.to_owned(), message };
    let Some(members) = entry.as_object() else {
        return Err(refuse(format!("its entry is {}; expected an object", is(entry))));
    };
    if !disabled && is_disabled(members) {
        return Ok(Read::Skipped("it is disabled there; `--disabled` takes such servers too".to_owned()));
    }
    let mut reader = Reader { host, members, notes: Vec::new() };
    let read = reader.source().map_err(refuse)?;
    for (key, why) in [
        ("envFile", "its `envFile` is not read: set what stands there in the environment of toolpact"),
        ("headersHelper", "its `headersHelper` is not run: set the headers it makes in a variable"),
        ("oauth", "its `oauth` is not used"),
        ("auth", "its `auth` is not used"),
    ] {
        if members.get(key).is_some_and(|value| !value.is_null()) {
            reader.notes.push(why.to_owned());
        }
    }
    Ok(match read {
        Ok(source) => Read::Source(Box::new(source), reader.notes),
        Err(why) => Read::Skipped(why),
    })
}

fn is_disabled(members: &Map<String, Value>) -> bool {
    let says = |key, value: bool| members.get(key).and_then(Value::as_bool) == Some(value);
    says("disabled", true) || says("enabled", false) || says("isActive", false)
}

struct Reader<'a> {
    host: Host,
    members: &'a Map<String, Value>,
    notes: Vec<String>,
}

impl Reader<'_> {
    /// The source; within, why it cannot be one.
    fn source(&mut self) -> Result<Result<ServerSource, String>, String> {
        let kind = self.kind()?;
        let url = ["httpUrl", "serverUrl", "url"]
            .into_iter()
            .find_map(|key| Some((key, self.members.get(key).filter(|value| !value.is_null())?)));
        let command = self.members.get("command").filter(|value| !value.is_null());
        let stdio = match (&kind, command, url) {
            (Some(Kind::Unsupported), ..) => {
                return Ok(Err("its transport is not one of MCP's: stdio, HTTP or SSE".to_owned()));
            }
            (Some(Kind::Stdio), None, _) => return Err("it is of type stdio and has no `command`".to_owned()),
            (Some(Kind::Stdio), Some(_), _) | (None, Some(_), None) => true,
            (Some(_), _, None) => return Err("it is of an HTTP type and has no `url`".to_owned()),
            (Some(_), _, Some(_)) | (None, None, Some(_)) => false,
            (None, Some(_), Some((key, _))) => {
                return Err(format!("it has a `command` and a `{key}`; a server has one of them"));
            }
            (None, None, None) => return Err("it has neither a `command` nor a `url`".to_owned()),
        };
        if let (true, Some(command)) = (stdio, command) {
            return self.stdio(command).map(Ok);
        }
        let Some((key, url)) = url else { return Err("it has neither a `command` nor a `url`".to_owned()) };
        self.http(key, url, kind)
    }

    fn kind(&self) -> Result<Option<Kind>, String> {
        let Some((key, value)) =
            ["type", "transport", "transportType"].into_iter().find_map(|k| Some((k, self.members.get(k)?)))
        else {
            return Ok(None);
        };
        let Some(word) = value.as_str() else {
            return Err(format!("its `{key}` is {}; expected a word such as stdio or http", is(value)));
        };
        let plain: String = word.to_ascii_lowercase().chars().filter(|c| !matches!(c, '_' | '-')).collect();
        Ok(Some(match plain.as_str() {
            "stdio" | "local" | "stdiomcp" => Kind::Stdio,
            // VS Code falls back to SSE; a remote that says no more may be either.
            "http" if self.host == Host::VsCode => Kind::Http,
            "remote" => Kind::Http,
            "http" | "streamablehttp" | "httpstream" | "streamable" => Kind::StreamableHttp,
            "sse" => Kind::Sse,
            "httpmcp" => Kind::ByPath,
            _ => Kind::Unsupported,
        }))
    }

    fn stdio(&mut self, command: &Value) -> Result<ServerSource, String> {
        // Some hosts write the whole command line as a list.
        let mut words = match command {
            Value::Array(_) => self.texts("command", command)?,
            Value::String(_) => vec![self.text("command", command)?],
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                return Err(format!("its `command` is {}; expected a program", is(command)));
            }
        };
        if let Some(args) = self.members.get("args").filter(|args| !args.is_null()) {
            words.extend(self.texts("args", args)?);
        }
        let mut words = words.into_iter();
        let program = words.next().filter(|program| !program.as_str().trim().is_empty());
        let program = program.ok_or("its `command` is empty")?;
        let cwd = self.members.get("cwd").filter(|cwd| !cwd.is_null());
        let cwd = cwd.map(|cwd| self.text("cwd", cwd)).transpose()?;
        Ok(ServerSource::Stdio { program, args: words.collect(), env: self.named("env")?, cwd })
    }

    fn http(
        &mut self,
        key: &str,
        url: &Value,
        kind: Option<Kind>,
    ) -> Result<Result<ServerSource, String>, String> {
        let url = self.text(key, url)?;
        let scheme = url.as_str().split_once("://").map(|(scheme, _)| scheme);
        match scheme {
            Some("http" | "https") => {}
            // A scheme may come out of a variable.
            Some(scheme) if scheme.contains("${") => {}
            None if url.as_str().starts_with("${") => {}
            Some(_) | None => return Ok(Err(format!("its `{key}` is no http or https URL"))),
        }
        let path = url.as_str().split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let transport = match (kind, key) {
            (Some(Kind::StreamableHttp), _) | (None, "httpUrl") => HttpTransport::StreamableHttp,
            (Some(Kind::Sse), _) => HttpTransport::Sse,
            (Some(Kind::ByPath), _) if path.ends_with("/sse") || path.ends_with("/messages") => {
                HttpTransport::Sse
            }
            (Some(Kind::ByPath), _) => HttpTransport::StreamableHttp,
            (None, "url") if self.host == Host::Gemini => HttpTransport::Sse,
            (Some(Kind::Http | Kind::Stdio | Kind::Unsupported) | None, _) => HttpTransport::Auto,
        };
        if self.members.get("env").and_then(Value::as_object).is_some_and(|env| !env.is_empty()) {
            self.notes.push("its `env` stands beside a URL, where it has no effect".to_owned());
        }
        let url = self.with_query(url)?;
        Ok(Ok(ServerSource::Http { url, headers: self.named("headers")?, transport, oauth: None }))
    }

    /// The URL with AgentScope's `queryParams`.
    fn with_query(&mut self, url: Symbolic) -> Result<Symbolic, String> {
        let params = self.named("queryParams")?;
        let mut out = url.as_str().to_owned();
        for (name, value) in params {
            out.push(if out.contains('?') { '&' } else { '?' });
            out.push_str(&encoded(&name));
            out.push('=');
            let text = value.as_str();
            out.push_str(&if value.is_literal() { encoded(text) } else { text.to_owned() });
        }
        Ok(out.into())
    }

    /// An object of texts; numbers and booleans are written as they stand, null is left out.
    fn named(&mut self, key: &str) -> Result<BTreeMap<String, Symbolic>, String> {
        let members = match self.members.get(key) {
            None | Some(Value::Null) => return Ok(BTreeMap::new()),
            Some(Value::Object(members)) => members,
            Some(other) => {
                return Err(format!("its `{key}` is {}; expected an object of texts", is(other)));
            }
        };
        let mut named = BTreeMap::new();
        for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(format!("its `{key}` has a name that nothing can have"));
            }
            named.insert(name.clone(), self.text(&format!("{key}.{name}"), value)?);
        }
        Ok(named)
    }

    fn texts(&mut self, key: &str, value: &Value) -> Result<Vec<Symbolic>, String> {
        match value {
            Value::Array(items) => items.iter().map(|item| self.text(key, item)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                Err(format!("its `{key}` is {}; expected a list of texts", is(value)))
            }
        }
    }

    fn text(&mut self, key: &str, value: &Value) -> Result<Symbolic, String> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                return Err(format!("its `{key}` holds {}; expected a text", is(value)));
            }
        };
        let notes = &mut self.notes;
        Ok(symbolic(self.host, &text, &mut |note| {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }))
    }
}

/// What a reader calls a value; never the value itself.
fn is(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A text as a part of a query.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
