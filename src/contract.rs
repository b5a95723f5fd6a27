//! Snapshot to contracts: the part of each tool that callers rely on, and its three digests.
//!
//! Third in the flow. *raw* detects, *contract* versions, *presentation* is reviewed because it drives the model's
//! choice. Notation never counts: see [`normal`].
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod form;
pub mod header;

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock, OnceLock},
};

pub use form::{Below, WORDS, below, normal_schema, references, subschemas, words};
use header::Headers;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    json::{self, Digest, ParseError},
    snapshot::{RawTool, Snapshot, digest_of_tool},
};

/// The version of the canonicalisation policy. It is stored beside every digest: a change of policy must never look
/// like drift, nor silently approve anything.
pub const POLICY: &str = "tp1";

/// The digests of one tool under [`POLICY`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digests {
    /// Everything, exactly as received.
    pub raw: Digest,
    /// Name, schemas and annotations, notation removed.
    pub contract: Digest,
    /// Title, descriptions and icons.
    pub presentation: Digest,
}

/// One tool's contract.
#[derive(Debug, Clone)]
pub struct Contract {
    /// The tool's name, as the server spells it.
    pub name: String,
    /// Position in the server's list, from 0.
    pub index: usize,
    /// The exact text the server sent.
    text: Arc<RawValue>,
    /// The tool as a value, its normal form and its digests, made when first asked for: tools whose texts are the same
    /// need none of them.
    tool: OnceLock<Value>,
    normal: OnceLock<Value>,
    digests: OnceLock<Digests>,
    inexact: OnceLock<Vec<Box<str>>>,
    headers: OnceLock<Headers>,
}

/// Why a listed tool has no contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tool {tool} {cause}")]
pub struct ContractError {
    /// The tool, by name in backticks where it has one, by position otherwise.
    pub tool: String,
    /// What is wrong with it.
    pub cause: String,
}

impl Contract {
    /// Reads one tool.
    ///
    /// # Errors
    /// Where the tool is no object, has no string name, its `inputSchema` is missing or no object, or it nests too
    /// deep or holds too much. Everything else is kept and judged later.
    pub fn of(raw: &RawTool) -> Result<Self, ContractError> {
        let text = raw.raw.get();
        let contract = |name: String, tool: OnceLock<Value>| Self {
            name,
            index: raw.index,
            text: Arc::clone(&raw.raw),
            tool,
            normal: OnceLock::new(),
            digests: OnceLock::new(),
            inexact: OnceLock::new(),
            headers: OnceLock::new(),
        };
        if let Some(name) = plain_name(text) {
            return Ok(contract(name, OnceLock::new()));
        }
        let at = || format!("number {}", raw.index + 1);
        let tool = json::parse(text).map_err(|e| ContractError {
            tool: name_of(text).map_or_else(at, |n| format!("`{n}`")),
            cause: match e {
                ParseError::TooDeep { found } => {
                    format!("nests {found} levels deep, the limit is {}", json::MAX_DEPTH)
                }
                error @ ParseError::TooMany { .. } => error.to_string(),
                ParseError::Syntax(e) => format!("is not valid JSON: {e}"),
            },
        })?;
        let Value::Object(members) = &tool else {
            return Err(ContractError { tool: at(), cause: "is no object".to_owned() });
        };
        let name = match members.get("name") {
            Some(Value::String(name)) if !name.is_empty() => name.clone(),
            Some(other) => {
                return Err(ContractError {
                    tool: at(),
                    cause: format!("has the name {other}; a name is a non-empty string"),
                });
            }
            None => return Err(ContractError { tool: at(), cause: "has no `name`".to_owned() }),
        };
        let fail = |cause: &str| ContractError { tool: format!("`{name}`"), cause: cause.to_owned() };
        match members.get("inputSchema") {
            Some(Value::Object(_)) => {}
            Some(_) => return Err(fail("has an `inputSchema` that is no object")),
            None => return Err(fail("has no `inputSchema`")),
        }
        if let Some(output) = members.get("outputSchema")
            && !output.is_object()
            && !output.is_null()
        {
            return Err(fail("has an `outputSchema` that is no object"));
        }
        Ok(contract(name, OnceLock::from(tool)))
    }

    /// The tool as a value; unknown fields included.
    #[must_use]
    pub fn tool(&self) -> &Value {
        // `of` saw to it that it is an object.
        self.tool.get_or_init(|| json::parse(self.text()).unwrap_or_default())
    }

    /// The normal form that the contract digest is over.
    #[must_use]
    pub fn normal(&self) -> &Value {
        self.normal.get_or_init(|| {
            let (mut normal, mut inexact) = (normal(self.members()), self.inexact_numbers().to_vec());
            // The digest goes through doubles (RFC 8785), which round these: they are written out.
            if let (Value::Object(members), false) = (&mut normal, inexact.is_empty()) {
                inexact.sort_unstable();
                members.insert("inexactNumbers".to_owned(), json!(inexact));
            }
            normal
        })
    }

    /// The digests.
    #[must_use]
    pub fn digests(&self) -> &Digests {
        self.digests.get_or_init(|| Digests {
            raw: digest_of_tool(self.text(), self.tool(), !self.inexact_numbers().is_empty()),
            contract: Digest::of(self.normal()),
            presentation: Digest::of(&presentation(self.members())),
        })
    }

    /// The same with its digests, and without what was built to make them: many times the text of a long list.
    #[must_use]
    pub fn digested(mut self) -> Self {
        _ = self.digests();
        (self.tool, self.normal) = (OnceLock::new(), OnceLock::new());
        self
    }

    /// The exact text that the server sent.
    #[must_use]
    pub fn text(&self) -> &str {
        self.text.get()
    }

    /// The tool as it was handed in, to the letter.
    #[must_use]
    pub fn raw_text(&self) -> &str {
        self.text()
    }

    fn members(&self) -> &Map<String, Value> {
        static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        self.tool().as_object().unwrap_or(&NOTHING)
    }

    /// The numbers of the tool's text that a double does not keep, as the server wrote them, in its order.
    #[must_use]
    pub fn inexact_numbers(&self) -> &[Box<str>] {
        self.inexact.get_or_init(|| json::inexact_numbers(self.text()).into_iter().map(Box::from).collect())
    }

    /// Whether the server said the very same of both tools: whether their raw digests are equal.
    #[must_use]
    pub fn same_raw(&self, other: &Self) -> bool {
        // Comparing costs less than digesting; a text of inexact numbers is digested as it stands.
        self.same_text(other)
            || json::equal(self.tool(), other.tool())
                && self.inexact_numbers().is_empty()
                && other.inexact_numbers().is_empty()
    }

    /// Whether the contract digests are equal.
    #[must_use]
    pub fn same_contract(&self, other: &Self) -> bool {
        // Comparing costs less than digesting, and tells the same where a double keeps every number.
        match self.inexact_numbers().is_empty() && other.inexact_numbers().is_empty() {
            true => json::equal(self.normal(), other.normal()),
            false => self.digests().contract == other.digests().contract,
        }
    }

    /// Whether the presentation digests are equal.
    #[must_use]
    pub fn same_presentation(&self, other: &Self) -> bool {
        json::canonical(&presentation(self.members())) == json::canonical(&presentation(other.members()))
    }

    /// The same, to the letter.
    #[must_use]
    pub fn same_text(&self, other: &Self) -> bool {
        self.text() == other.text()
    }

    /// `inputSchema` as received.
    #[must_use]
    pub fn input_schema(&self) -> &Value {
        // `of` saw to it that it is there.
        self.tool().get("inputSchema").unwrap_or(&Value::Null)
    }

    /// `outputSchema` as received, where the tool promises one.
    #[must_use]
    pub fn output_schema(&self) -> Option<&Value> {
        self.tool().get("outputSchema").filter(|s| s.is_object())
    }

    /// What `inputSchema` says of HTTP headers.
    #[must_use]
    pub fn headers(&self) -> &Headers {
        self.headers.get_or_init(|| {
            // Where the keyword is not in the text, and nothing is written by its code, no place has to be looked at.
            let may = [header::KEYWORD, "\\u"].iter().any(|sign| self.text().contains(sign));
            if may { Headers::of(self.input_schema()) } else { Headers::default() }
        })
    }

    /// The description, or nothing.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.tool().get("description").and_then(Value::as_str)
    }
}

/// The name of a tool that is seen to have a contract without being read whole; nothing where that has to be looked at.
fn plain_name(text: &str) -> Option<String> {
    // A field that stands twice is refused here, and read like every JSON object elsewhere: the last one counts.
    #[derive(Deserialize)]
    struct Outline<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
        #[serde(borrow, rename = "inputSchema")]
        input_schema: &'a RawValue,
        #[serde(borrow, rename = "outputSchema")]
        output_schema: Option<&'a RawValue>,
    }
    // An array would be read as an outline as well.
    if !text.starts_with('{') || !json::is_plain(text) {
        return None;
    }
    let outline: Outline<'_> = serde_json::from_str(text).ok()?;
    let is_object = |raw: &RawValue| raw.get().starts_with('{');
    let good = !outline.name.is_empty()
        && is_object(outline.input_schema)
        && outline.output_schema.is_none_or(is_object);
    good.then(|| outline.name.into_owned())
}

/// The contracts of a snapshot, in the server's order.
///
/// # Errors
/// Names the first tool that has no contract.
pub fn contracts(snapshot: &Snapshot) -> Result<Vec<Contract>, ContractError> {
    snapshot.tools.iter().map(Contract::of).collect()
}

/// The name in a tool's text that cannot be parsed whole (too deep).
fn name_of(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: Option<String>,
    }
    serde_json::from_str::<Named>(text).ok()?.name
}

/// The part of a tool that callers rely on, in normal form: two tools whose normal forms are equal differ in notation
/// or words only. What counts as notation: key order, order and repetition in `required`, `type` and `enum`,
/// `type: ["string"]` against `"string"`, `additionalProperties: true` or `{}` against absent (unless an `unevaluated…`
/// asks what was), empty `properties` and `required`, and the words `title`, `description`, `examples` and `$comment`.
/// Hints are their effective values.
#[must_use]
pub fn normal(tool: &Map<String, Value>) -> Value {
    let mut out = Map::new();
    for key in ["name", "inputSchema", "outputSchema"] {
        match tool.get(key) {
            Some(Value::Null) | None => {}
            Some(value) if key == "name" => _ = out.insert(key.to_owned(), value.clone()),
            Some(schema) => _ = out.insert(key.to_owned(), normal_schema(schema)),
        }
    }
    out.insert("annotations".to_owned(), effective_hints(tool.get("annotations")).to_value());
    Value::Object(out)
}

/// The hints of a tool with the protocol's defaults filled in (2025-03-26 and later, `ToolAnnotations`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    /// The tool does not modify its environment; default false.
    pub read_only: bool,
    /// It may destroy; meaningful only when not read-only; default true.
    pub destructive: bool,
    /// Repeating a call has no further effect; meaningful only when not read-only; default false.
    pub idempotent: bool,
    /// It talks to an open world; default true.
    pub open_world: bool,
}

impl Hints {
    fn to_value(self) -> Value {
        json!({
            "readOnlyHint": self.read_only, "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent, "openWorldHint": self.open_world,
        })
    }
}

/// Reads `annotations`. A hint of the wrong type counts as absent. A read-only tool destroys nothing and may be
/// repeated, whatever it says of that.
#[must_use]
pub fn effective_hints(annotations: Option<&Value>) -> Hints {
    let hint = |name: &str, default: bool| {
        annotations.and_then(|a| a.get(name)).and_then(Value::as_bool).unwrap_or(default)
    };
    let read_only = hint("readOnlyHint", false);
    Hints {
        read_only,
        destructive: !read_only && hint("destructiveHint", true),
        idempotent: read_only || hint("idempotentHint", false),
        open_world: hint("openWorldHint", true),
    }
}

/// What the model reads: title, description and icons of the tool, and the words inside its schemas by place.
#[must_use]
pub fn presentation(tool: &Map<String, Value>) -> Value {
    let mut out = Map::new();
    for key in ["title", "description", "icons"] {
        if let Some(value) = tool.get(key) {
            out.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(title) = tool.get("annotations").and_then(|a| a.get("title")) {
        out.insert("annotations/title".to_owned(), title.clone());
    }
    for key in ["inputSchema", "outputSchema"] {
        if let Some(schema) = tool.get(key) {
            words(schema, &json::Pointer::root().join(key), &mut |at, word| {
                out.insert(at.as_str().to_owned(), word.clone());
            });
        }
    }
    Value::Object(out)
}
