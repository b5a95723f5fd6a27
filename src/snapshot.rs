//! What one server said in `tools/list`, verbatim, for one authorization context and protocol revision, at one time.
//!
//! Second in the flow: [`Listing`] is how a listing ended, whatever the end; a [`Snapshot`] exists only for one that
//! ended well. Nothing here interprets a tool: that is `contract`'s work.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod surface;

use std::{any::Any, fmt, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use crate::{
    json::{self, Digest, ParseError},
    name::ServerName,
};

pub use surface::{SurfaceDiff, SurfaceKind, SurfaceListing};

/// How a listing ended. Only [`Outcome::Ok`] is ever diffed: a failed listing never reads as "tools removed".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every page was read and every tool is readable.
    Ok,
    /// Some pages were read, then the listing failed.
    Partial,
    /// The server answered with a JSON-RPC error.
    Error,
    /// The server answered with something that is no tools list.
    Malformed,
    /// The server wants credentials, or better ones.
    AuthRequired,
    /// No answer: not started, gone, refused, or an HTTP error.
    Unavailable,
    /// The time budget ran out.
    Timeout,
    /// A size limit was met.
    TooLarge,
    /// Two listings in a row differed.
    Unstable,
}

impl Outcome {
    /// Every outcome, for tests and filters.
    pub const ALL: [Self; 9] = [
        Self::Ok,
        Self::Partial,
        Self::Error,
        Self::Malformed,
        Self::AuthRequired,
        Self::Unavailable,
        Self::Timeout,
        Self::TooLarge,
        Self::Unstable,
    ];

    /// The word used in documents and the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Partial => "partial",
            Self::Error => "error",
            Self::Malformed => "malformed",
            Self::AuthRequired => "auth_required",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::TooLarge => "too_large",
            Self::Unstable => "unstable",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is kept of each thing that a server says of itself beside its tools. Instructions that a model can make use of
/// have some kilobytes.
pub const MAX_ABOUT_BYTES: usize = 64 << 10;

/// How the list was obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A child process, line by line.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE, the transport of 2024-11-05.
    Sse,
    /// A saved answer.
    File,
}

/// MCP's two ways to begin (specification 2026-07-28, basic/versioning).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Era {
    /// Up to 2025-11-25: `initialize` first.
    Legacy,
    /// From 2026-07-28: stateless, every request carries `_meta`.
    Modern,
}

/// Everything a list depends on beside time (PROTOCOL: a list may vary by revision, capabilities and authorization).
/// Holds no secret that is known as one: header values, a URL's user info and query, and arguments whose names call
/// them secret are left out before they come here; environment values never come here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// How it was obtained.
    pub transport: Transport,
    /// The command line without secret values, the URL without user info and query, or the file.
    pub target: String,
    /// The package that a command runs, where it is a runner of packages (`npx`, `uvx`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub package: Option<Package>,
    /// The era that was spoken; absent for a file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub era: Option<Era>,
    /// The protocol revision agreed on, an opaque string.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub protocol_version: Option<String>,
    /// The capabilities we declared; lists depend on them.
    pub client_capabilities: Value,
    /// The name of the authorization context.
    pub auth_context: String,
    /// `serverInfo` as the server sent it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_info: Option<Value>,
    /// `capabilities` as the server sent them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capabilities: Option<Value>,
    /// `instructions` as the server sent them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub instructions: Option<String>,
    /// `ttlMs` of the first page (2026-07-28 and later).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ttl_ms: Option<u64>,
    /// `cacheScope` of the first page (2026-07-28 and later).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cache_scope: Option<String>,
}

/// A package of a public registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Package {
    /// Whose package.
    pub registry: Registry,
    /// Its name there.
    pub name: String,
    /// The version that the command asks for; absent where it takes what is newest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requested: Option<String>,
    /// The version that ran, where it could be read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match self.version.as_ref().or(self.requested.as_ref()) {
            Some(version) => write!(f, "@{version}"),
            None => Ok(()),
        }
    }
}

/// A public registry of packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Registry {
    /// npm.
    Npm,
    /// PyPI.
    Pypi,
}

impl Provenance {
    /// The provenance of a saved answer.
    #[must_use]
    pub fn file(name: &str) -> Self {
        Self {
            transport: Transport::File,
            target: name.to_owned(),
            package: None,
            era: None,
            protocol_version: None,
            client_capabilities: Value::Object(serde_json::Map::new()),
            auth_context: "default".to_owned(),
            server_info: None,
            capabilities: None,
            instructions: None,
            ttl_ms: None,
            cache_scope: None,
        }
    }

    /// Cuts what the server says of itself to [`MAX_ABOUT_BYTES`] each, for it is kept with every listing and every
    /// draft; says what was cut.
    #[must_use]
    pub fn cut(&mut self) -> Vec<String> {
        let mut cuts = Vec::new();
        let mut note = |name: &str, bytes: usize, how: &str| {
            cuts.push(format!("`{name}` has {bytes} bytes, the limit is {MAX_ABOUT_BYTES}; it was {how}"));
        };
        for (name, value) in [("serverInfo", &mut self.server_info), ("capabilities", &mut self.capabilities)]
        {
            let bytes = value.as_ref().map_or(0, |v| v.to_string().len());
            if bytes > MAX_ABOUT_BYTES {
                *value = None;
                note(name, bytes, "left out");
            }
        }
        for (name, text) in [
            ("instructions", &mut self.instructions),
            ("protocolVersion", &mut self.protocol_version),
            ("cacheScope", &mut self.cache_scope),
        ] {
            let Some(text) = text.as_mut().filter(|t| t.len() > MAX_ABOUT_BYTES) else { continue };
            note(name, text.len(), "cut");
            text.truncate(text.floor_char_boundary(MAX_ABOUT_BYTES));
        }
        cuts
    }

    /// `serverInfo.version`, where the server says one.
    #[must_use]
    pub fn server_version(&self) -> Option<&str> {
        self.server_info.as_ref()?.get("version")?.as_str()
    }
}

/// What was seen of a listing beside its tools: enough to explain a failure to a person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Evidence {
    /// One sentence: what happened. Lower case, no final period; empty for `ok`.
    pub message: String,
    /// What to do next; may be empty.
    pub help: String,
    /// Lines on stdout that are no JSON-RPC (the specification forbids them): how many.
    pub stray_lines: usize,
    /// The first of them, cut to 200 characters each.
    pub stray_samples: Vec<String>,
    /// The end of stderr.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr_tail: String,
    /// Exit code of the process, where it ended by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// HTTP status, where one was the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// `Retry-After`, as sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<String>,
    /// The JSON-RPC error, as sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpc_error: Option<Value>,
    /// Deviations from the protocol that did not hinder the listing, a sentence each.
    pub warnings: Vec<String>,
    /// Pages read.
    pub pages: usize,
    /// Bytes of all pages.
    pub bytes: usize,
    /// Wall time until the answer was complete, in milliseconds: server start included, its end not.
    pub elapsed_ms: u64,
}

/// Bytes of JSON that make about one token for the models of today. An estimate for comparing servers, never for a bill: each
/// model counts otherwise.
const BYTES_OF_A_TOKEN: usize = 4;

impl Evidence {
    /// About how many tokens the list costs a model that is shown all of it as it was sent: its bytes by four.
    #[must_use]
    pub fn estimated_tokens(&self) -> usize {
        self.bytes.div_ceil(BYTES_OF_A_TOKEN)
    }

    /// Changes every text in it that a server may have written.
    pub fn each_text(&mut self, change: &impl Fn(&mut String)) {
        for text in [&mut self.message, &mut self.help, &mut self.stderr_tail] {
            change(text);
        }
        let lists = self.stray_samples.iter_mut().chain(&mut self.warnings).chain(&mut self.retry_after);
        lists.for_each(change);
        self.rpc_error.iter_mut().for_each(|error| each_text(error, change));
    }
}

impl Provenance {
    /// Changes every text in it that a server wrote.
    pub fn each_text(&mut self, change: &impl Fn(&mut String)) {
        self.instructions.iter_mut().for_each(change);
        let said = self.server_info.iter_mut().chain(&mut self.capabilities);
        said.for_each(|value| each_text(value, change));
    }
}

fn each_text(value: &mut Value, change: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(members) => {
            let taken = std::mem::take(members);
            members.extend(taken.into_iter().map(|(mut name, mut member)| {
                change(&mut name);
                each_text(&mut member, change);
                (name, member)
            }));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Listing {
    /// Changes every text in it that a server may have written, but for what it lists: that is kept as it came.
    pub fn each_text(&mut self, change: &impl Fn(&mut String)) {
        self.evidence.each_text(change);
        self.provenance.each_text(change);
        self.surfaces.iter_mut().for_each(|surface| change(&mut surface.message));
    }
}

impl Listing {
    /// Whether what it lists holds this text, plain or as JSON writes it.
    #[must_use]
    pub fn lists(&self, text: &str) -> bool {
        let written = Value::from(text).to_string();
        let written = written.trim_matches('"');
        let mut items = self.tools.iter().chain(self.surfaces.iter().flat_map(|surface| &surface.items));
        items.any(|item| item.raw.get().contains(text) || item.raw.get().contains(written))
    }
}

/// One tool as received.
#[derive(Debug, Clone)]
pub struct RawTool {
    /// Position in the list, from 0, across pages.
    pub index: usize,
    /// The exact text the server sent for this tool; shared, because lists can be long.
    pub raw: Arc<RawValue>,
}

/// One item of any list as received.
pub type RawItem = RawTool;

/// How one listing ended, and what it brought.
#[derive(Debug, Clone)]
pub struct Listing {
    /// How it ended.
    pub outcome: Outcome,
    /// What was seen.
    pub evidence: Evidence,
    /// What the list depends on.
    pub provenance: Provenance,
    /// The tools; complete only where `outcome` is `ok`.
    pub tools: Vec<RawTool>,
    /// What else the server declares to have, each read or not; empty where `outcome` is not `ok`.
    pub surfaces: Vec<SurfaceListing>,
    /// What goes with it for as long as somebody has it.
    pub held: Held,
}

/// Something that is given back when the last of whom it was lent to is gone: the room that a listing takes.
#[derive(Clone, Default)]
pub struct Held(Option<Arc<dyn Any + Send + Sync>>);

impl Held {
    /// Holds this.
    #[must_use]
    pub fn by(thing: Arc<dyn Any + Send + Sync>) -> Self {
        Self(Some(thing))
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Held" } else { "Nothing" })
    }
}

/// A complete, readable list of one server's tools.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Whose tools.
    pub server: ServerName,
    /// What the list depends on.
    pub provenance: Provenance,
    /// The tools in the server's order.
    pub tools: Vec<RawTool>,
    /// Over the raw digests of the tools, in order.
    pub digest: Digest,
}

impl Snapshot {
    /// A snapshot of these tools.
    #[must_use]
    pub fn new(server: ServerName, provenance: Provenance, tools: Vec<RawTool>) -> Self {
        let digest = digest_of_list(&tools);
        Self { server, provenance, tools, digest }
    }
}

/// Over the raw digests of the items, in order.
#[must_use]
pub fn digest_of_list(items: &[RawItem]) -> Digest {
    Digest::of(&items.iter().map(|item| Value::String(raw_digest(item.raw.get()).to_string())).collect())
}

/// The raw digest of one tool: its canonical JSON, every field included. Text that is no JSON value we can hold
/// (nested too deep, too large) is digested as it stands.
#[must_use]
pub fn raw_digest(raw: &str) -> Digest {
    match json::parse(raw) {
        Ok(value) => digest_of_tool(raw, &value, !json::inexact_numbers(raw).is_empty()),
        Err(_) => Digest::of_bytes(raw.as_bytes()),
    }
}

/// The same, for a tool that was read already.
#[must_use]
pub fn digest_of_tool(raw: &str, value: &Value, inexact: bool) -> Digest {
    // Numbers that a double rounds would make different texts look the same.
    if inexact { Digest::of_bytes(raw.as_bytes()) } else { Digest::of(value) }
}

/// Why a saved answer is no tools list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// Not JSON, or too deep.
    #[error(transparent)]
    Json(#[from] ParseError),
    /// A JSON-RPC error was saved instead of a result.
    #[error("holds a JSON-RPC error instead of a tools list: {0}")]
    RpcError(String),
    /// JSON, but no tools list.
    #[error(
        "is not a tools list: {0}; expected {{\"tools\":[...]}}, a JSON-RPC response, or a bare array of tools"
    )]
    NotAList(String),
    /// One page of several.
    #[error("is only one page of a longer list (it has a `nextCursor`); save the whole list")]
    OnePage,
    /// Larger than [`MAX_FILE_BYTES`].
    #[error("has {0} bytes, the limit is {MAX_FILE_BYTES}")]
    TooLarge(usize),
}

/// The largest saved answer that is read; the same cap as for a live server's whole list.
pub const MAX_FILE_BYTES: usize = 64 << 20;

/// What a saved answer holds beside the tools.
#[derive(Debug, Clone, Default)]
pub struct SavedList {
    /// The tools in order, byte for byte.
    pub tools: Vec<RawTool>,
    /// `server` where the file names one (our own exports and collections do).
    pub server: Option<String>,
    /// `serverInfo`, where present.
    pub server_info: Option<Value>,
    /// `protocolVersion`, where present.
    pub protocol_version: Option<String>,
}

/// Reads a saved `tools/list` answer: `{"tools":[…]}`, a JSON-RPC response around it, or a bare array.
///
/// # Errors
/// [`FileError`] says what the text is instead.
pub fn read_saved(text: &str) -> Result<SavedList, FileError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Doc<'a> {
        #[serde(borrow)]
        tools: Option<&'a RawValue>,
        #[serde(borrow)]
        result: Option<&'a RawValue>,
        error: Option<Value>,
        next_cursor: Option<Value>,
        server: Option<Value>,
        server_info: Option<Value>,
        protocol_version: Option<String>,
    }
    if text.len() > MAX_FILE_BYTES {
        return Err(FileError::TooLarge(text.len()));
    }
    let text = text.trim_start_matches('\u{feff}').trim();
    let syntax = |e: serde_json::Error| FileError::Json(ParseError::Syntax(e.to_string()));
    if text.starts_with('[') {
        return Ok(SavedList { tools: split(text)?, ..SavedList::default() });
    }
    if !text.starts_with('{') {
        serde_json::from_str::<&RawValue>(text).map_err(syntax)?;
        return Err(FileError::NotAList("it is neither an object nor an array".to_owned()));
    }
    let doc: Doc<'_> = serde_json::from_str(text).map_err(syntax)?;
    if let Some(error) = doc.error {
        return Err(FileError::RpcError(error.to_string()));
    }
    if let (None, Some(result)) = (doc.tools, doc.result) {
        return read_saved(result.get());
    }
    if doc.next_cursor.is_some_and(|c| !c.is_null()) {
        return Err(FileError::OnePage);
    }
    let tools = doc.tools.ok_or_else(|| FileError::NotAList("it has no `tools`".to_owned()))?;
    if !tools.get().starts_with('[') {
        return Err(FileError::NotAList("`tools` is no array".to_owned()));
    }
    Ok(SavedList {
        tools: split(tools.get())?,
        server: doc.server.and_then(|s| s.as_str().map(str::to_owned)),
        server_info: doc.server_info,
        protocol_version: doc.protocol_version,
    })
}

/// Cuts a JSON array into its elements without touching a byte of them.
///
/// # Errors
/// [`FileError::Json`] where the text is no array.
pub fn split(array: &str) -> Result<Vec<RawTool>, FileError> {
    Ok(split_up_to(array, usize::MAX)?.0)
}

/// The same for the first elements, no more than `most`; and how many there are.
///
/// # Errors
/// [`FileError::Json`] where the text is no array.
pub fn split_up_to(array: &str, most: usize) -> Result<(Vec<RawTool>, usize), FileError> {
    let syntax = |e: serde_json::Error| FileError::Json(ParseError::Syntax(e.to_string()));
    let mut text = serde_json::Deserializer::from_str(array);
    let split = text.deserialize_seq(Elements { most }).map_err(syntax)?;
    text.end().map_err(syntax)?;
    Ok(split)
}

/// Takes the elements of an array one at a time, so that what is not kept takes no room.
struct Elements {
    most: usize,
}

impl<'de> Visitor<'de> for Elements {
    type Value = (Vec<RawTool>, usize);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let (mut items, mut count) = (Vec::new(), 0);
        while let Some(raw) = elements.next_element::<&RawValue>()? {
            if count < self.most {
                items.push(RawTool { index: count, raw: raw.to_owned().into() });
            }
            count += 1;
        }
        Ok((items, count))
    }
}
