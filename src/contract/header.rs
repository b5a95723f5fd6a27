//! Parameters that clients mirror into HTTP headers: `x-mcp-header` (MCP 2026-07-28, basic/transports/streamable-http,
//! custom headers from tool parameters). A client of that transport sends the value of such a parameter a second time as
//! `Mcp-Param-{name}`, and a server refuses a call whose header is missing or says something else.

use std::collections::{HashMap, hash_map::Entry};

use serde_json::{Map, Value};

use super::form::{Below, below};
use crate::json::Pointer;

/// The keyword that names a header.
pub(super) const KEYWORD: &str = "x-mcp-header";

/// What one `inputSchema` says of headers.
#[derive(Debug, Clone, Default)]
pub struct Headers {
    /// What is mirrored, in the schema's order.
    pub mirrored: Vec<Mirrored>,
    /// What a client of Streamable HTTP must not accept: where there is any, it leaves the whole tool out of its list.
    pub violations: Vec<Violation>,
}

/// A parameter with its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirrored {
    /// The parameter's schema.
    pub at: Pointer,
    /// The parameter: `filter.region`.
    pub parameter: String,
    /// The header's name without `Mcp-Param-`, as written; names that differ in case are one.
    pub header: String,
}

impl Mirrored {
    /// Where in the arguments the parameter is: it is reached by `properties` alone.
    #[must_use]
    pub fn in_arguments(&self) -> Pointer {
        self.at.steps().skip(1).step_by(2).fold(Pointer::root(), |at, name| at.join(&name))
    }
}

/// A place that the specification forbids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// What offends: the annotation, or the parameter's `type`.
    pub at: Pointer,
    /// What is wrong with it, to be read behind "`x-mcp-header`".
    pub reason: String,
}

impl Headers {
    /// Reads a schema as it was written: clients do not normalise it either.
    #[must_use]
    pub fn of(input_schema: &Value) -> Self {
        let mut reading = Reading::default();
        reading.schema(input_schema, &Pointer::root(), Some(""));
        reading.found
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mirrored.is_empty() && self.violations.is_empty()
    }
}

#[derive(Default)]
struct Reading {
    found: Headers,
    /// The parameter of each header, by the header's name in lower case.
    taken: HashMap<String, String>,
}

impl Reading {
    /// `parameter` is where in the arguments this schema speaks; nothing, where it is reached by more than `properties`.
    fn schema(&mut self, schema: &Value, at: &Pointer, parameter: Option<&str>) {
        let Value::Object(members) = schema else { return };
        if let Some(name) = members.get(KEYWORD) {
            // The arguments as a whole are no parameter.
            let parameter = parameter.filter(|_| at != &Pointer::root());
            self.annotation(name, members.get("type"), at, parameter);
        }
        for (keyword, value) in members {
            let here = at.join(keyword);
            match (below(keyword), value) {
                (Some(Below::Map | Below::MapOfSchemaOrNames), Value::Object(map)) => {
                    for (name, sub) in map {
                        let inner = parameter.filter(|_| keyword == "properties").map(|outer| match outer {
                            "" => name.clone(),
                            outer => format!("{outer}.{name}"),
                        });
                        self.schema(sub, &here.join(name), inner.as_deref());
                    }
                }
                (Some(Below::List | Below::SchemaOrList), Value::Array(items)) => {
                    for (i, sub) in items.iter().enumerate() {
                        self.schema(sub, &here.join(i), None);
                    }
                }
                (Some(_), sub) => self.schema(sub, &here, None),
                (None, _) => {}
            }
        }
    }

    fn annotation(&mut self, name: &Value, kind: Option<&Value>, at: &Pointer, parameter: Option<&str>) {
        let annotation = at.join(KEYWORD);
        let mut forbid = |at: Pointer, reason: String| self.found.violations.push(Violation { at, reason });
        let Some(parameter) = parameter else {
            return forbid(
                annotation,
                "stands where no parameter is reached by `properties` alone".to_owned(),
            );
        };
        let Value::String(header) = name else {
            return forbid(annotation, format!("of parameter `{parameter}` is no string"));
        };
        if !is_token(header) {
            return forbid(annotation, format!("of parameter `{parameter}` is no name of an HTTP header"));
        }
        // As clients read it: one type, by its name. A fraction has no single way to be written.
        if !kind.and_then(Value::as_str).is_some_and(|t| matches!(t, "string" | "integer" | "boolean")) {
            let reason =
                format!("stands at parameter `{parameter}`, whose type is not string, integer or boolean");
            return forbid(at.join("type"), reason);
        }
        match self.taken.entry(header.to_ascii_lowercase()) {
            Entry::Occupied(other) => {
                let other = other.get();
                forbid(
                    annotation,
                    format!("of parameter `{parameter}` names the header of parameter `{other}` again"),
                );
            }
            Entry::Vacant(free) => {
                free.insert(parameter.to_owned());
                let (parameter, header) = (parameter.to_owned(), header.clone());
                self.found.mirrored.push(Mirrored { at: at.clone(), parameter, header });
            }
        }
    }
}

/// The schema without its annotations: what is left says which arguments are accepted.
#[must_use]
pub fn without_headers(schema: &Value) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    let mut out = Map::new();
    for (keyword, value) in members.iter().filter(|(keyword, _)| *keyword != KEYWORD) {
        let value = match (below(keyword), value) {
            (Some(Below::Map | Below::MapOfSchemaOrNames), Value::Object(map)) => {
                Value::Object(map.iter().map(|(name, sub)| (name.clone(), without_headers(sub))).collect())
            }
            (Some(Below::List | Below::SchemaOrList), Value::Array(items)) => {
                Value::Array(items.iter().map(without_headers).collect())
            }
            (Some(_), sub) => without_headers(sub),
            (None, value) => value.clone(),
        };
        out.insert(keyword.clone(), value);
    }
    Value::Object(out)
}

/// A token of HTTP (RFC 9110, 5.6.2).
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}
