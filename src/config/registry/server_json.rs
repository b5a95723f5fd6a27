//! `server.json` (schema 2025-12-11): a package becomes the command that runs it, a remote becomes a URL.
//!
//! Older documents and some registries write `snake_case`; both are read. Input that the user has to give becomes a
//! reference to a variable.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{
    catalog::server::{HttpTransport, ServerSource, Symbolic},
    config::{ConfigError, entry::Read, variables::variable},
};

/// Whether a JSON document is one, alone or as the registry's API wraps it.
pub(in crate::config) fn is_one(root: &Value) -> bool {
    let root = server(root);
    name(root).is_some_and(|name| name.contains('/'))
        && ["packages", "remotes"].iter().any(|key| root.get(key).is_some_and(Value::is_array))
}

/// Its name.
pub(in crate::config) fn name(root: &Value) -> Option<&str> {
    server(root).get("name")?.as_str()
}

/// The document in the API's `{"server": …, "_meta": …}`.
fn server(root: &Value) -> &Value {
    root.get("server").filter(|server| server.is_object()).unwrap_or(root)
}

/// Reads one. `package` prefers a package, which is run here, to a remote, which is only asked.
pub(in crate::config) fn read(root: &Value, package: bool) -> Result<(String, Read), ConfigError> {
    let Some(name) = name(root) else {
        return Err(ConfigError::NoServers("a `server.json` with a `name`"));
    };
    let status = root.pointer("/_meta/io.modelcontextprotocol.registry~1official/status");
    let status = status.and_then(Value::as_str).unwrap_or("active");
    if status == "deleted" {
        return Ok((name.to_owned(), Read::Skipped("it was deleted from the registry".to_owned())));
    }
    let document = server(root);
    let list = |key: &str| document.get(key).and_then(Value::as_array).into_iter().flatten();
    let remotes = list("remotes").map(|remote| (remote, read_remote as Reader));
    let packages = list("packages").map(|package| (package, read_package as Reader));
    let ways: Vec<(&Value, Reader)> =
        if package { packages.chain(remotes).collect() } else { remotes.chain(packages).collect() };
    let mut refused = Vec::new();
    for (way, reader) in &ways {
        let mut asked = Asked { server: name.to_owned(), notes: Vec::new() };
        if status == "deprecated" {
            asked.notes.push("the registry calls it deprecated".to_owned());
        }
        match reader(way, &mut asked) {
            Ok(source) => return Ok((name.to_owned(), Read::Source(Box::new(source), asked.notes))),
            Err(why) => refused.push(why),
        }
    }
    let why = if ways.is_empty() { "it has no package and no remote".to_owned() } else { refused.join("; ") };
    Ok((name.to_owned(), Read::Skipped(why)))
}

type Reader = fn(&Value, &mut Asked) -> Result<ServerSource, String>;

/// What the user is asked for.
struct Asked {
    server: String,
    notes: Vec<String>,
}

impl Asked {
    /// The variable of an input. The server's name stands in front: a registry must not choose which of the variables
    /// that happen to be set is sent to a server it names.
    fn variable(&self, input: &str) -> String {
        variable(&format!("{}_{}", self.server, variable(input)))
    }
}

fn read_remote(remote: &Value, asked: &mut Asked) -> Result<ServerSource, String> {
    let transport = match text(remote, "type").or_else(|| text(remote, "transport_type")) {
        Some("streamable-http" | "streamable" | "http") => HttpTransport::StreamableHttp,
        Some("sse") => HttpTransport::Sse,
        Some(_) | None => return Err("a remote is neither streamable-http nor sse".to_owned()),
    };
    let url = text(remote, "url").ok_or("a remote has no `url`")?;
    let variables = remote.get("variables").and_then(Value::as_object);
    Ok(ServerSource::Http {
        url: template(url, variables, asked).into(),
        headers: key_values(remote.get("headers"), asked),
        transport,
        oauth: None,
    })
}

fn read_package(package: &Value, asked: &mut Asked) -> Result<ServerSource, String> {
    let kind = text(package, "registryType").or_else(|| text(package, "registry_type")).unwrap_or("?");
    let transport = package.get("transport").and_then(|t| text(t, "type")).unwrap_or("stdio");
    if transport != "stdio" {
        return Err(format!("its {kind} package speaks {transport}, and has to be started by hand"));
    }
    let identifier = text(package, "identifier").ok_or("a package has no `identifier`")?;
    // A word that begins like an option would be read as one by whatever runs the package.
    if identifier.starts_with('-') {
        return Err(format!("its {kind} package has no name"));
    }
    let literal = |text: &str| Symbolic::literal(text).as_str().to_owned();
    let (identifier, version) = (literal(identifier), text(package, "version").map(literal));
    let (identifier, version) = (identifier.as_str(), version.as_deref());
    let at = |sign: &str| version.map_or(identifier.to_owned(), |v| format!("{identifier}{sign}{v}"));
    let env = key_values(
        package.get("environmentVariables").or_else(|| package.get("environment_variables")),
        asked,
    );
    let run = arguments(package, "runtimeArguments", "runtime_arguments", asked);
    let own = arguments(package, "packageArguments", "package_arguments", asked);
    let has = |flag: &str| run.iter().any(|word| word == flag);
    let (program, mut words): (&str, Vec<String>) = match kind {
        "npm" => ("npx", if has("-y") || has("--yes") { Vec::new() } else { vec!["-y".to_owned()] }),
        "pypi" => ("uvx", Vec::new()),
        "nuget" => ("dnx", Vec::new()),
        "oci" => {
            let mut words: Vec<String> = ["run", "-i", "--rm"].map(str::to_owned).to_vec();
            // The engine hands a variable on where only its name is given.
            for name in env.keys().filter(|name| !run.iter().any(|word| word.contains(name.as_str()))) {
                words.extend(["-e".to_owned(), name.clone()]);
            }
            ("docker", words)
        }
        other => return Err(format!("its {other} package cannot be run without installing it by hand")),
    };
    let repeated = kind == "oci" && run.first().is_some_and(|word| word == "run");
    words.extend(run.iter().skip(usize::from(repeated)).cloned());
    match kind {
        "nuget" => {
            words.extend([at("@"), "--yes".to_owned()]);
            if !own.is_empty() {
                words.push("--".to_owned());
            }
        }
        "oci" if identifier.rsplit('/').next().is_some_and(|last| last.contains([':', '@'])) => {
            words.push(identifier.to_owned());
        }
        "oci" => words.push(at(":")),
        _ => words.push(at("@")),
    }
    words.extend(own);
    if version.is_none() && kind != "oci" {
        asked
            .notes
            .push("its package has no version: what it lists may change with every release".to_owned());
    }
    Ok(ServerSource::Stdio {
        program: program.into(),
        args: words.into_iter().map(Symbolic::from).collect(),
        env,
        cwd: None,
    })
}

/// A member under either spelling of its name.
fn either<'a>(value: &'a Value, camel: &str, snake: &str) -> Option<&'a Value> {
    value.get(camel).or_else(|| value.get(snake))
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}

fn says(value: &Value, camel: &str, snake: &str) -> bool {
    either(value, camel, snake).and_then(Value::as_bool).unwrap_or_default()
}

/// Command-line arguments: what has a value, a default, or must be given.
fn arguments(package: &Value, camel: &str, snake: &str, asked: &mut Asked) -> Vec<String> {
    let literal = |text: &str| Symbolic::literal(text).as_str().to_owned();
    let mut words = Vec::new();
    for argument in either(package, camel, snake).and_then(Value::as_array).into_iter().flatten() {
        let flag = text(argument, "name");
        let hint = text(argument, "valueHint").or_else(|| text(argument, "value_hint"));
        let called = flag.or(hint).unwrap_or("argument");
        let value = input(argument, called, asked);
        match (text(argument, "type"), flag, value) {
            (Some("named"), Some(flag), Some(value)) => words.extend([literal(flag), value]),
            // A switch, unless it asks for a value that nobody has to give.
            (Some("named"), Some(flag), None) if says(argument, "isRequired", "is_required") => {
                words.push(literal(flag));
            }
            (Some("named"), _, _) => {}
            (_, _, Some(value)) => words.push(value),
            (_, _, None) => {}
        }
    }
    words
}

/// Variables or headers by name.
fn key_values(list: Option<&Value>, asked: &mut Asked) -> BTreeMap<String, Symbolic> {
    let entries = list.and_then(Value::as_array).into_iter().flatten();
    let named = entries.filter_map(|entry| {
        let name = text(entry, "name").filter(|name| !name.contains(['=', '\0']))?;
        let optional = !says(entry, "isRequired", "is_required");
        // What may be left out is left out, until its variable is set.
        let value = input(entry, name, asked)
            .or_else(|| optional.then(|| format!("${{{}:-}}", asked.variable(name))))?;
        Some((name.to_owned(), Symbolic::from(value)))
    });
    named.collect()
}

/// What an input says: its fixed value, a reference with its default, or a reference alone where it must be given.
fn input(input: &Value, called: &str, asked: &mut Asked) -> Option<String> {
    let variables = input.get("variables").and_then(Value::as_object);
    if let Some(value) = text(input, "value") {
        return Some(template(value, variables, asked));
    }
    let name = asked.variable(called);
    let plain = |text: &str| !text.contains('}');
    match text(input, "default").filter(|text| plain(text)) {
        Some(default) if !says(input, "isSecret", "is_secret") => Some(format!("${{{name}:-{default}}}")),
        Some(_) | None if says(input, "isRequired", "is_required") => {
            asked.notes.push(match text(input, "description") {
                Some(about) => format!("it needs the variable `{name}`: {}", one_line(about)),
                None => format!("it needs the variable `{name}`"),
            });
            Some(format!("${{{name}}}"))
        }
        Some(_) | None => None,
    }
}

/// A text with `{name}` in it: what `variables` describe becomes a reference, everything else stays.
fn template(text: &str, variables: Option<&Map<String, Value>>, asked: &mut Asked) -> String {
    let mut out = String::new();
    let mut rest = Symbolic::literal(text).as_str().to_owned();
    while let Some(at) = rest.find('{') {
        let known = rest[at + 1..].split_once('}').and_then(|(name, after)| {
            let described = variables?.get(name)?;
            Some((name.to_owned(), described, after.to_owned()))
        });
        match known {
            Some((name, described, after)) => {
                out.push_str(&rest[..at]);
                let reference = format!("${{{}}}", asked.variable(&name));
                out.push_str(&input(described, &name, asked).unwrap_or(reference));
                rest = after;
            }
            None => {
                out.push_str(&rest[..=at]);
                rest = rest[at + 1..].to_owned();
            }
        }
    }
    out + &rest
}

/// The beginning of what somebody wrote about an input.
fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(120).collect()
}
