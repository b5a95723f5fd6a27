//! The JSON Schema of `toolpact.yaml`, for editors. Made from the lists that the reader goes by, so that neither knows a key or
//! a word that the other does not.

use serde_json::{Map, Value, json};

use super::{LEVELS, OnUnreachable, POLICY, RULE, SERVER, SERVICE, TOP, WAIVER};
use crate::{
    catalog::document::source,
    diff::{Assumption, Formats, Level, Surface, rules},
    gate::policy::{DeclaredVersion, SURFACES},
};

/// The version of what stands in it. A key more is no new version; one that goes, or means something else, is.
const VERSION: u32 = 1;

/// The schema.
#[must_use]
pub fn schema() -> Value {
    let mut schema = object(&TOP, top, &[]);
    schema["type"] = json!(["object", "null"]);
    schema["title"] = json!("toolpact.yaml: what a repository says of its gate");
    schema["$id"] = json!(format!("urn:toolpact:settings:{VERSION}"));
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema
}

/// An object with these keys and no others.
fn object(keys: &[&str], of: impl Fn(&str) -> Value, required: &[&str]) -> Value {
    let properties: Map<String, Value> = keys.iter().map(|key| ((*key).to_owned(), of(key))).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "description": description })
}

fn word<'w>(words: impl IntoIterator<Item = &'w str>, description: &str) -> Value {
    json!({ "enum": words.into_iter().collect::<Vec<_>>(), "description": description })
}

/// A name as people here give it.
fn name(description: &str) -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", "description": description })
}

/// What no key says is allowed nowhere; a test holds that there is no such key.
const NOTHING: Value = Value::Bool(false);

fn top(key: &str) -> Value {
    match key {
        "lockfile" => text("Where the lockfile is; toolpact.lock otherwise."),
        "servers" => {
            let keys: Vec<&str> = source::KEYS.into_iter().chain(SERVER).collect();
            let mut server = object(&keys, server, &[]);
            server["oneOf"] = ["command", "url", "file"].map(|key| json!({ "required": [key] })).into();
            json!({
                "type": "object",
                "propertyNames": name("A server."),
                "additionalProperties": server,
                "description": "The servers of the repository, by name.",
            })
        }
        "policy" => object(&POLICY, policy, &[]),
        "waivers" => {
            json!({ "type": "array", "items": object(&WAIVER, waiver, &["fingerprint", "reason", "expires"]) })
        }
        "service" => object(&SERVICE, service, &["url", "environment"]),
        _ => NOTHING,
    }
}

fn server(key: &str) -> Value {
    match key {
        "command" => json!({
            "type": "array", "minItems": 1, "items": { "type": "string" },
            "description": "The program and its arguments; no shell sees them.",
        }),
        "url" => text("Its endpoint over HTTP."),
        "file" => text("Its saved answer to `tools/list`."),
        "version" => text("The file in which its version is declared, such as package.json."),
        "cwd" => text("The folder in which it is started."),
        "env" | "headers" | "oauth" => json!({ "type": "object" }),
        "transport" => json!({ "type": "string" }),
        _ => NOTHING,
    }
}

fn policy(key: &str) -> Value {
    match key {
        "assume" => {
            word([Assumption::Declared, Assumption::Strict].map(Assumption::as_str), "What callers send.")
        }
        "formats" => {
            let words = [Formats::Assert, Formats::Annotate, Formats::Risky].map(Formats::as_str);
            word(words, "What a `format` is taken for.")
        }
        "fail-on" => {
            let keys: Vec<&str> = SURFACES.into_iter().map(Surface::as_str).chain(["default"]).collect();
            json!({ "anyOf": [least(), object(&keys, |_| least(), &[])] })
        }
        "rules" => {
            let mut rule = object(&RULE, rule, &["level"]);
            // A level alone would judge every change alike.
            rule["minProperties"] = json!(2);
            json!({ "type": "array", "items": rule, "description": "The first that fits holds." })
        }
        "declared-version" => {
            word(DeclaredVersion::ALL.map(DeclaredVersion::as_str), "What is made of declared versions.")
        }
        "deprecation-days" => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
        _ => NOTHING,
    }
}

/// The least level that blocks.
fn least() -> Value {
    let levels = [Level::Breaking, Level::Undecided, Level::Risky].map(Level::as_str);
    word(levels.into_iter().chain(["none"]), "The least level that blocks.")
}

fn rule(key: &str) -> Value {
    match key {
        "rule" => word(rules::all().iter().map(|rule| rule.id), "Of this rule alone."),
        "server" => name("Of this server alone."),
        "tools" => json!({
            "type": "array", "items": { "type": "string", "minLength": 1 },
            "description": "Of tools that fit these patterns; `!` before one leaves out.",
        }),
        "surface" => word(SURFACES.map(Surface::as_str), "On this surface alone."),
        "at" => text("At these places: a pattern of JSON Pointers, such as /properties/*/enum."),
        "level" => word(LEVELS.map(Level::as_str), "The level that a change has there."),
        _ => NOTHING,
    }
}

fn waiver(key: &str) -> Value {
    match key {
        "fingerprint" => json!({
            "type": "string", "pattern": "^(sha256:)?[0-9a-f]{12,64}$",
            "description": "The change, as the gate shows it.",
        }),
        "reason" | "owner" => json!({ "type": "string", "pattern": "\\S" }),
        "expires" => json!({
            "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
            "description": "The last day on which it counts.",
        }),
        _ => NOTHING,
    }
}

fn service(key: &str) -> Value {
    match key {
        "url" => text("The service that judges; its token is in TOOLPACT_TOKEN."),
        "environment" => name("Against what is live where."),
        "catalog" => name("The catalog, where several that are live there hold the servers."),
        "on-unreachable" => {
            word(OnUnreachable::ALL.map(OnUnreachable::as_str), "What is done where it cannot be reached.")
        }
        _ => NOTHING,
    }
}
