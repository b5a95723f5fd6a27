//! Which part of a file names servers, and whose file it is.

use serde_json::{Map, Value};

use super::{ConfigError, Found, Host, MAX_BYTES, entry, jsonc, named, registry::server_json, spring};

/// What a file may be.
const EXPECTED: &str = "an object `mcpServers`, `servers`, `mcp.servers`, a list of clients with a `name` each, a \
     registry's `server.json`, or Spring's `spring.ai.mcp.client`";

/// Entries by the names that the file gives them.
type Entries = Vec<(String, Value)>;

/// How a file is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Whose file it is, where that is known better than by its looks.
    pub host: Option<Host>,
    /// Take the servers too that the host has switched off.
    pub disabled: bool,
    /// Of a `server.json`: the package that is run before the remote that is asked.
    pub package: bool,
}

/// Reads the servers that a host's configuration names. `path` is where the text comes from: some files are known by
/// their name.
///
/// # Errors
/// Where it is no configuration, or an entry makes no sense.
pub fn read(path: &str, text: &str, options: Options) -> Result<Found, ConfigError> {
    if text.len() > MAX_BYTES {
        return Err(ConfigError::TooLarge);
    }
    let path = path.replace('\\', "/");
    let file = path.rsplit('/').next().unwrap_or_default();
    let ends = |suffixes: &[&str]| suffixes.iter().any(|s| file.to_ascii_lowercase().ends_with(s));
    let entries = if ends(&[".properties"]) {
        spring::entries(&spring::properties(text)?)
    } else if ends(&[".yaml", ".yml"]) {
        spring::entries(&spring::yaml(text)?)
    } else {
        let root = jsonc::read(text)?;
        if options.host.is_none_or(|h| h == Host::Registry) && server_json::is_one(&root) {
            let (name, read) = server_json::read(&root, options.package)?;
            return named(vec![(name, read)], Host::Registry);
        }
        let spring = spring::entries(&root);
        if spring.is_empty() {
            let (host, entries) = entries(&root)?;
            return of_entries(&path, entries, Options { host: options.host.or(host), ..options });
        }
        spring
    };
    if entries.is_empty() {
        return Err(ConfigError::NoServers("`spring.ai.mcp.client` with `connections`"));
    }
    of_entries(&path, entries, Options { host: Some(Host::Spring), ..options })
}

fn of_entries(path: &str, entries: Entries, options: Options) -> Result<Found, ConfigError> {
    let host = options.host.unwrap_or_else(|| whose(path, &entries));
    let read = entries.into_iter().map(|(name, entry)| {
        let read = entry::read(host, &name, &entry, options.disabled)?;
        Ok((name, read))
    });
    named(read.collect::<Result<_, _>>()?, host)
}

/// The entries of a file, by name; and whose file it is, where the place of the entries tells.
fn entries(root: &Value) -> Result<(Option<Host>, Entries), ConfigError> {
    if let Some(list) = clients(root) {
        return Ok((None, list));
    }
    let Some(root) = root.as_object() else { return Err(ConfigError::NoServers(EXPECTED)) };
    let below = |key: &str| root.get(key)?.as_object();
    let of = |host| move |servers| (host, servers);
    let found = below("mcpServers")
        .map(of(None))
        .or_else(|| below("servers").map(of(Some(Host::VsCode))))
        .or_else(|| below("mcp.servers").map(of(Some(Host::VsCode))))
        .or_else(|| below("mcp")?.get("servers")?.as_object().map(of(Some(Host::VsCode))))
        .or_else(|| looks_like_servers(root).then_some((None, root)))
        // Spring takes the first key, whatever it is called.
        .or_else(|| {
            root.values().next()?.as_object().filter(|first| looks_like_servers(first)).map(of(None))
        });
    match found {
        Some((host, servers)) => Ok((host, servers.iter().map(|(n, e)| (n.clone(), e.clone())).collect())),
        None => Err(ConfigError::NoServers(EXPECTED)),
    }
}

/// AgentScope's clients: a list of objects with a `name`, the configuration beside it or in `mcp_config`.
fn clients(root: &Value) -> Option<Entries> {
    let list = match root {
        Value::Array(list) => list,
        Value::Object(members) => ["mcps", "clients", "mcpServers", "servers"]
            .into_iter()
            .find_map(|key| members.get(key)?.as_array())?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    list.iter()
        .map(|client| {
            let name = client.get("name")?.as_str()?.to_owned();
            Some((name, client.get("mcp_config").unwrap_or(client).clone()))
        })
        .collect()
}

fn looks_like_servers(members: &Map<String, Value>) -> bool {
    let is_one = |entry: &Value| {
        ["command", "url", "httpUrl", "serverUrl"]
            .iter()
            .any(|key| entry.get(key).is_some_and(|v| !v.is_null()))
    };
    !members.is_empty() && members.values().all(is_one)
}

/// Whose file it is, by its path and by what only one host writes.
fn whose(path: &str, entries: &[(String, Value)]) -> Host {
    let folder = |name: &str| path.split('/').any(|part| part == name);
    let any = |test: &dyn Fn(&Value) -> bool| entries.iter().any(|(_, entry)| test(entry));
    let has = |key: &str| any(&|entry| entry.get(key).is_some());
    let word = |words: &[&str]| {
        any(&|entry| {
            let kind = entry.get("type").or_else(|| entry.get("transport")).and_then(Value::as_str);
            kind.is_some_and(|kind| words.contains(&kind))
        })
    };
    let text = |part: &str| any(&|entry| entry.to_string().contains(part));
    let file = path.rsplit('/').next().unwrap_or_default();
    if folder(".gemini") || has("httpUrl") || has("trust") || has("includeTools") || has("excludeTools") {
        Host::Gemini
    } else if folder(".cursor") {
        Host::Cursor
    } else if folder(".vscode") || text("${input:") {
        Host::VsCode
    } else if has("serverUrl") || folder("windsurf") {
        Host::Windsurf
    } else if word(&["stdio_mcp", "http_mcp"])
        || has("enableTools")
        || (file == "tools.json" && has("transport"))
    {
        Host::AgentScope
    } else if word(&["streamable_http"]) || text(".modelscope.net/") {
        Host::ModelScope
    } else if text("${env:") || text("${workspaceFolder") || text("${userHome}") {
        Host::Cursor
    } else {
        Host::Claude
    }
}
