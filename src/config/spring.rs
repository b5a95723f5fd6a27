//! Spring AI's connections: `spring.ai.mcp.client` in `application.yaml`, in `.properties`, or as JSON.
//!
//! Keys may be nested or dotted, and bind loosely: `sse-endpoint` and `sseEndpoint` are one.

use serde_json::{Map, Value, json};
use serde_yaml as yaml;

use super::ConfigError;

/// Brackets open at once. The YAML parser takes seconds over thousands of them.
const MAX_BRACKETS: usize = 64;
/// How deep a key may lead, by its dots and by nesting. A connection lies at some eight; what lies deeper than this is
/// passed over.
const MAX_PARTS: usize = 64;

/// Reads a YAML text; of several documents, all that name connections.
pub(super) fn yaml(text: &str) -> Result<Value, ConfigError> {
    let mut open = 0usize;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MAX_BRACKETS {
            let message = format!("more than {MAX_BRACKETS} brackets stand open");
            return Err(ConfigError::Syntax { line: 1, column: 1, message });
        }
    }
    let mut all = Map::new();
    for document in yaml::Deserializer::from_str(text) {
        let value = <Value as serde::Deserialize>::deserialize(document).map_err(|error| {
            let (line, column) = error.location().map_or((1, 1), |place| (place.line(), place.column()));
            // The parser's own words may quote a value.
            ConfigError::Syntax { line, column, message: "it is no YAML that can be read".to_owned() }
        })?;
        if let Value::Object(members) = value {
            merge(&mut all, members);
        }
    }
    Ok(Value::Object(all))
}

/// Reads a properties file: `key=value` or `key: value`, comments with `#` or `!`, a backslash carries a line on.
pub(super) fn properties(text: &str) -> Result<Value, ConfigError> {
    let mut all = Map::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut line = line.trim().to_owned();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        while line.ends_with('\\') {
            line.pop();
            line.push_str(lines.next().unwrap_or_default().trim_start());
        }
        let (key, value) = line.split_once(['=', ':']).unwrap_or((&line, ""));
        all.insert(key.trim().to_owned(), Value::String(value.trim().to_owned()));
    }
    Ok(Value::Object(all))
}

/// The connections as entries in the form of the other hosts.
pub(super) fn entries(root: &Value) -> Vec<(String, Value)> {
    let mut tree = Map::new();
    if let Value::Object(members) = root {
        for (key, value) in members {
            place(&mut tree, key, value.clone(), MAX_PARTS);
        }
    }
    let tree = Value::Object(tree);
    let Some(client) = tree.pointer("/spring/ai/mcp/client") else { return Vec::new() };
    let mut all = Vec::new();
    for (transport, endpoint, kind) in [
        ("stdio", "", "stdio"),
        ("streamable-http", "endpoint", "streamable-http"),
        ("sse", "sse-endpoint", "sse"),
    ] {
        let connections = client.get(transport).and_then(|t| t.get("connections")).and_then(Value::as_object);
        for (name, connection) in connections.into_iter().flatten() {
            all.push((name.clone(), entry(connection, endpoint, kind)));
        }
    }
    all
}

/// A connection as the other hosts write it.
fn entry(connection: &Value, endpoint: &str, kind: &str) -> Value {
    let Value::Object(members) = connection else { return connection.clone() };
    let mut members = members.clone();
    members.insert("type".to_owned(), kind.into());
    if let Some(args) = members.get_mut("args") {
        *args = list(args);
    }
    if kind != "stdio"
        && let Some(url) = members.get("url").and_then(Value::as_str)
    {
        let path = members.get(endpoint).and_then(Value::as_str);
        let path = path.unwrap_or(if kind == "sse" { "/sse" } else { "/mcp" });
        let whole = format!("{}/{}", url.trim_end_matches('/'), path.trim_start_matches('/'));
        members.insert("url".to_owned(), whole.into());
    }
    Value::Object(members)
}

/// A list that properties write as `args[0]`, `args[1]`, or as one text with commas.
fn list(args: &Value) -> Value {
    match args {
        Value::Object(numbered) => {
            let mut items: Vec<(usize, &Value)> =
                numbered.iter().filter_map(|(n, v)| Some((n.parse().ok()?, v))).collect();
            items.sort_by_key(|(n, _)| *n);
            items.into_iter().map(|(_, v)| v.clone()).collect()
        }
        Value::String(text) => {
            text.split(',').map(str::trim).filter(|t| !t.is_empty()).map(|t| json!(t)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => args.clone(),
    }
}

/// Puts a value under a key that may be dotted (`a.b`, `a[0]`, `a.[b.c]`), and goes on below it. The names of
/// connections, variables and headers stay as they are. `left` is how many more parts a key may have.
fn place(tree: &mut Map<String, Value>, key: &str, value: Value, left: usize) {
    let (head, rest) = match key.find(['.', '[']) {
        Some(at) if at > 0 => (&key[..at], key[at..].trim_start_matches('.')),
        Some(_) | None => (key, ""),
    };
    if let Some((inside, rest)) = key.strip_prefix('[').and_then(|k| k.split_once(']')) {
        return below(tree, inside, rest.trim_start_matches('.'), value, left);
    }
    below(tree, &kebab(head), rest, value, left);
}

fn below(tree: &mut Map<String, Value>, head: &str, rest: &str, value: Value, left: usize) {
    let Some(left) = left.checked_sub(1) else { return };
    if !rest.is_empty() {
        let slot = tree.entry(head).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(slot) = slot {
            if matches!(head, "env" | "headers" | "connections") {
                let name = rest.trim_start_matches('[');
                match name.split_once(if rest.starts_with('[') { ']' } else { '.' }) {
                    Some((name, rest)) if head == "connections" => {
                        below(slot, name, rest.trim_start_matches('.'), value, left);
                    }
                    Some((name, _)) if rest.starts_with('[') => _ = slot.insert(name.to_owned(), value),
                    Some(_) | None => _ = slot.insert(rest.to_owned(), value),
                }
            } else {
                place(slot, rest, value, left);
            }
        }
        return;
    }
    match value {
        Value::Object(members) if !matches!(head, "env" | "headers") => {
            let slot = tree.entry(head).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(slot) = slot {
                for (key, value) in members {
                    if head == "connections" {
                        below(slot, &key, "", value, left)
                    } else {
                        place(slot, &key, value, left)
                    }
                }
            }
        }
        value => _ = tree.insert(head.to_owned(), value),
    }
}

/// `sseEndpoint` as `sse-endpoint`.
fn kebab(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(new)) => merge(known, new),
            (_, value) => _ = into.insert(key, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{entries, properties, yaml};

    #[test]
    fn the_three_forms_say_the_same_and_what_lies_too_deep_is_passed_over() {
        let nested = "spring:\n  ai:\n    mcp:\n      client:\n        stdio:\n          connections:\n            my.git:\n              command: uvx\n              args: [mcp-server-git]\n              env: {GIT_DIR: /x}\n        sse:\n          connections:\n            web: {url: 'http://h:1', sseEndpoint: /s}\n";
        let dotted = "spring.ai.mcp.client:\n  stdio.connections:\n    my.git: {command: uvx, args: mcp-server-git, env: {GIT_DIR: /x}}\n---\nspring.ai.mcp.client.sse.connections.web:\n  url: http://h:1/\n  sse-endpoint: s\n";
        let flat = "# a comment\nspring.ai.mcp.client.stdio.connections[my.git].command=uvx\nspring.ai.mcp.client.stdio.connections[my.git].args[0]=mcp-server-git\nspring.ai.mcp.client.stdio.connections[my.git].env.GIT_DIR = /x\nspring.ai.mcp.client.sse.connections.web.url: http://h:1\nspring.ai.mcp.client.sse.connections.web.sse-endpoint=\\\n  /s\n";
        let expected = json!([
            ["my.git", {"command": "uvx", "args": ["mcp-server-git"], "env": {"GIT_DIR": "/x"}, "type": "stdio"}],
            ["web", {"url": "http://h:1/s", "sse-endpoint": "/s", "type": "sse"}],
        ]);
        let parts = "a.".repeat(1_000_000);
        let deep =
            format!("{flat}{parts}b=c\nspring.ai.mcp.client.{parts}b=c\n{}=c\n", "[a]".repeat(1_000_000));
        for read in [yaml(nested), yaml(dotted), properties(flat), properties(&deep)] {
            let mut all = json!(entries(&read.expect("it is readable")));
            // How the endpoint was written does not count.
            all[1][1]["sse-endpoint"] = json!("/s");
            assert_eq!(all, expected);
        }
    }
}
