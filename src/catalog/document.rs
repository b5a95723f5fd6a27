//! Catalog documents: YAML in, YAML out, errors with line numbers.
//!
//! A document says what a catalog is (policy, servers) or what one version of it holds (tools), or both. The bare form
//! with nothing but `catalogVersion` and `tools` is a whole document; what a document leaves out is never invented when
//! it is written again. Files are read and written elsewhere.

pub(crate) mod node;
mod policy;
pub(crate) mod source;
mod write;

use std::collections::BTreeMap;

use serde_yaml as yaml;

use self::node::{At, Fault, Fields, Node};
use super::{
    CatalogVersion, Compatibility, Content, ContractVersion, EnvironmentPolicy, Member, Policy,
    ReleaseStatus, Selection, ServerPin, ServerSource, Version, suggest::did_you_mean,
};
use crate::{
    contract::{self, Digests},
    json::Digest,
    name::{CatalogName, EnvironmentName, ServerName},
    snapshot::Provenance,
};

/// The largest document that is read; real ones are a few hundred bytes a tool.
pub const MAX_BYTES: usize = 1 << 20;
/// Brackets open at once; documents need two. The YAML parser takes seconds over thousands of them.
pub const MAX_BRACKETS: usize = 32;

/// What a catalog document says.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Whose document; the bare form leaves it to the file's name.
    pub catalog: Option<CatalogName>,
    /// The version that `tools` are.
    pub version: Option<CatalogVersion>,
    /// What blocks.
    pub policy: Option<Policy>,
    /// What environments demand beyond that.
    pub environments: Option<BTreeMap<EnvironmentName, EnvironmentPolicy>>,
    /// The servers, in the document's order.
    pub servers: Vec<Server>,
    /// The canonicalisation policy of the tools' digests; always the current one in a document that was read.
    pub digest_policy: String,
    /// What the version holds; absent in a document that only sets up a catalog.
    pub tools: Option<Vec<Member>>,
}

/// A server in a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// Its name.
    pub name: ServerName,
    /// Where it is found.
    pub source: Option<ServerSource>,
    /// Which of its tools belong to the catalog; what was selected before where absent.
    pub selection: Option<Selection>,
    /// The snapshot that the version's contracts came from.
    pub snapshot: Option<Digest>,
    /// The version that the server gave itself then.
    pub version: Option<String>,
    /// The protocol revision that was spoken then.
    pub protocol: Option<String>,
}

/// What is wrong with a document, and where. Shown as `12:5: unknown key ..`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct DocumentError {
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// Lower case, no final period.
    pub message: String,
}

const TOP: [&str; 6] = ["catalog", "catalogVersion", "policy", "environments", "servers", "tools"];
const SERVER: [&str; 11] = [
    "command",
    "env",
    "cwd",
    "url",
    "headers",
    "transport",
    "oauth",
    "tools",
    "snapshot",
    "version",
    "protocol",
];
const TOOL: [&str; 6] = ["name", "server", "contractVersion", "compatibility", "status", "digests"];
const DIGESTS: [&str; 4] = ["policy", "raw", "contract", "presentation"];

/// Reads a document.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn read(text: &str) -> Result<Document, DocumentError> {
    let root = tree(text)?;
    document(&At::root(&root)).map_err(|fault| node::locate(text, fault))
}

/// The YAML of a document or of anything else that is read as strictly.
///
/// # Errors
/// Where it is no YAML, or too large or nested too deep to be read.
pub(crate) fn tree(text: &str) -> Result<Node, DocumentError> {
    let at_start = |message: String| DocumentError { line: 1, column: 1, message };
    if text.len() > MAX_BYTES {
        return Err(at_start(format!("the document has {} bytes, the limit is {MAX_BYTES}", text.len())));
    }
    if let Some(error) = too_many_brackets(text) {
        return Err(error);
    }
    yaml::from_str(text).map_err(|e| {
        let place = e.location();
        let whole = e.to_string();
        // The place is ours to print, in front.
        let message = whole.split(" at line ").next().unwrap_or(&whole).to_owned();
        DocumentError {
            line: place.as_ref().map_or(1, yaml::Location::line),
            column: place.as_ref().map_or(1, yaml::Location::column),
            message,
        }
    })
}

impl Document {
    /// The document as YAML.
    #[must_use]
    pub fn write(&self) -> String {
        write::document(self)
    }

    /// The content of the version that this document holds, if it holds one. `label` says where pins come from.
    #[must_use]
    pub fn content(&self, label: &str) -> Option<Content> {
        let members = self.tools.clone()?;
        let mut servers: Vec<ServerPin> = self.servers.iter().filter_map(|s| s.pin(label)).collect();
        servers.sort_by(|a, b| a.server.cmp(&b.server));
        Some(Content::new(members, servers))
    }

    /// The document of a version of this catalog: the bare form where nothing more is known than the bare form says.
    #[must_use]
    pub fn of(catalog: &super::Catalog, version: Option<&Version>) -> Self {
        let content = version.map(|v| &v.content);
        let bare = version.is_some()
            && catalog.servers.is_empty()
            && catalog.policy == Policy::default()
            && catalog.environments.is_empty()
            && content.is_some_and(|c| {
                c.servers.is_empty() && c.members.iter().all(|m| m.server.is_none() && m.digests.is_none())
            });
        let mut servers: Vec<Server> = catalog
            .servers
            .iter()
            .map(|server| Server {
                name: server.name.clone(),
                source: server.source.clone(),
                selection: (!server.tools.is_all()).then(|| server.tools.clone()),
                snapshot: None,
                version: None,
                protocol: None,
            })
            .collect();
        for pin in content.map(|c| c.servers.as_slice()).unwrap_or_default() {
            let pinned = Server::pinned(pin);
            match servers.iter_mut().find(|s| s.name == pin.server) {
                Some(server) => {
                    let (source, selection) = (server.source.take(), server.selection.take());
                    *server = Server { source, selection, ..pinned };
                }
                None => servers.push(pinned),
            }
        }
        Self {
            catalog: (!bare).then(|| catalog.name.clone()),
            version: version.map(|v| v.version),
            policy: (!bare).then(|| catalog.policy.clone()),
            environments: (!catalog.environments.is_empty()).then(|| catalog.environments.clone()),
            servers,
            digest_policy: content.map_or_else(|| contract::POLICY.to_owned(), |c| c.digest_policy.clone()),
            tools: content.map(|c| c.members.clone()),
        }
    }
}

impl Server {
    fn pinned(pin: &ServerPin) -> Self {
        Self {
            name: pin.server.clone(),
            source: None,
            selection: None,
            snapshot: Some(pin.snapshot.clone()),
            version: pin.provenance.server_version().map(str::to_owned),
            protocol: pin.provenance.protocol_version.clone(),
        }
    }

    fn pin(&self, label: &str) -> Option<ServerPin> {
        let mut provenance = Provenance::file(label);
        provenance.protocol_version.clone_from(&self.protocol);
        provenance.server_info = self.version.as_ref().map(|v| serde_json::json!({ "version": v }));
        Some(ServerPin { server: self.name.clone(), snapshot: self.snapshot.clone()?, provenance })
    }
}

/// The place where more than [`MAX_BRACKETS`] stand open. Brackets inside texts count too: that only refuses sooner.
fn too_many_brackets(text: &str) -> Option<DocumentError> {
    let mut open = 0usize;
    for (row, line) in text.lines().enumerate() {
        for (column, byte) in line.bytes().enumerate() {
            match byte {
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            if open > MAX_BRACKETS {
                let message = format!("more than {MAX_BRACKETS} brackets stand open, a document needs two");
                return Some(DocumentError { line: row + 1, column: column + 1, message });
            }
        }
    }
    None
}

fn document(root: &At<'_>) -> Result<Document, Fault> {
    if matches!(root.node, Node::Null) {
        return Err(root.fault("the document is empty; expected `catalogVersion` and `tools`, or `catalog`"));
    }
    let top = root.fields("a catalog document", &TOP)?;
    let servers = top.get("servers").map(|at| servers(&at)).transpose()?;
    let tools = top.get("tools").map(|at| tools(&at, servers.as_deref())).transpose()?;
    let version = top.get("catalogVersion").map(|at| catalog_version(&at)).transpose()?;
    match (&version, &tools) {
        (None, Some(_)) => return Err(top.key_fault("tools", "`tools` need a `catalogVersion` beside them")),
        (Some(_), None) => {
            return Err(top.key_fault("catalogVersion", "a `catalogVersion` needs `tools` beside it"));
        }
        (None, None) | (Some(_), Some(_)) => {}
    }
    Ok(Document {
        catalog: top.get("catalog").map(|at| at.parse("a catalog's name")).transpose()?,
        version,
        policy: top.get("policy").map(|at| policy::read(&at)).transpose()?,
        environments: top.get("environments").map(|at| policy::environments(&at)).transpose()?,
        servers: servers.unwrap_or_default(),
        digest_policy: contract::POLICY.to_owned(),
        tools,
    })
}

fn servers(at: &At<'_>) -> Result<Vec<Server>, Fault> {
    at.entries("server names with what is known of each")?
        .into_iter()
        .map(|(name, at)| {
            let name: ServerName =
                name.parse().map_err(|e: crate::name::InvalidName| at.key_fault(e.to_string()))?;
            if matches!(at.node, Node::Null) {
                return Ok(Server {
                    name,
                    source: None,
                    selection: None,
                    snapshot: None,
                    version: None,
                    protocol: None,
                });
            }
            server(name, &at.fields("a server", &SERVER)?)
        })
        .collect()
}

fn server(name: ServerName, fields: &Fields<'_>) -> Result<Server, Fault> {
    let text = |key, what| fields.get(key).map(|at| at.text(what).map(str::to_owned)).transpose();
    Ok(Server {
        name,
        source: source::read(fields)?,
        selection: fields.get("tools").map(|at| selection(&at)).transpose()?,
        snapshot: fields.get("snapshot").map(|at| at.parse("a digest")).transpose()?,
        version: text("version", "the server's version, in quotes where it looks like a number")?,
        protocol: text("protocol", "a protocol revision such as 2025-11-25")?,
    })
}

fn selection(at: &At<'_>) -> Result<Selection, Fault> {
    let mut patterns = Vec::new();
    for at in at.list("patterns of tool names, such as `search_*`")? {
        let pattern = at.text("a pattern of tool names")?.to_owned();
        Selection::try_from(vec![pattern.clone()]).map_err(|e| at.fault(e.to_string()))?;
        patterns.push(pattern);
    }
    Selection::try_from(patterns).map_err(|e| at.fault(e.to_string()))
}

fn tools(at: &At<'_>, servers: Option<&[Server]>) -> Result<Vec<Member>, Fault> {
    let mut members: Vec<Member> = Vec::new();
    for at in at.list("tools")? {
        let fields = at.fields("a tool", &TOOL)?;
        let member = member(&fields, servers)?;
        if members.iter().any(|m| m.server == member.server && m.tool == member.tool) {
            let message = format!("tool `{}` stands here twice; a tool has one entry", member.tool);
            return Err(fields.need("name")?.fault(message));
        }
        members.push(member);
    }
    Ok(members)
}

fn member(fields: &Fields<'_>, servers: Option<&[Server]>) -> Result<Member, Fault> {
    let name = fields.need("name")?;
    let tool = name.text("the tool's name")?.to_owned();
    if tool.is_empty() {
        return Err(name.fault("`name` is empty; expected the tool's name"));
    }
    let server: Option<ServerName> =
        fields.get("server").map(|at| at.parse("a server's name")).transpose()?;
    if let (Some(name), Some(known), Some(at)) = (&server, servers, fields.get("server"))
        && !known.iter().any(|s| &s.name == name)
    {
        let hint = did_you_mean(name.as_str(), known.iter().map(|s| s.name.as_str()));
        return Err(at.fault(format!("server `{name}` is not among the `servers` of this document{hint}")));
    }
    let words = [
        Compatibility::Initial,
        Compatibility::Unchanged,
        Compatibility::BackwardCompatible,
        Compatibility::Risky,
        Compatibility::Breaking,
        Compatibility::Undecided,
    ];
    let states = [ReleaseStatus::Active, ReleaseStatus::Deprecated, ReleaseStatus::Experimental];
    Ok(Member {
        server,
        tool,
        contract_version: contract_version(&fields.need("contractVersion")?)?,
        compatibility: fields.need("compatibility")?.word(&words, Compatibility::as_str)?,
        status: match fields.get("status") {
            Some(at) => at.word(&states, ReleaseStatus::as_str)?,
            None => ReleaseStatus::default(),
        },
        digests: fields.get("digests").map(|at| digests(&at)).transpose()?,
    })
}

fn catalog_version(at: &At<'_>) -> Result<CatalogVersion, Fault> {
    let version: CatalogVersion = at.parse("a date such as 2026.11.30")?;
    if version.leaves_room() {
        return Ok(version);
    }
    Err(at.fault(format!("`{version}` leaves no room for later versions; the last may be 9999.12.31.9999")))
}

fn contract_version(at: &At<'_>) -> Result<ContractVersion, Fault> {
    let version: ContractVersion = at.parse("a semantic version such as 1.2.0, or an integer such as 1")?;
    if version.leaves_room() {
        return Ok(version);
    }
    Err(at.fault(format!("`{version}` leaves no room for later versions; its numbers may have nine digits")))
}

fn digests(at: &At<'_>) -> Result<Digests, Fault> {
    let fields = at.fields("a set of digests", &DIGESTS)?;
    let policy = fields.need("policy")?;
    let made_under = policy.text("a canonicalisation policy")?;
    if made_under != contract::POLICY {
        // Digests of two policies differ without any change: reading one as the other would look like drift.
        let known = contract::POLICY;
        return Err(policy.fault(format!(
            "the digests were made under policy `{made_under}`, this toolpact reads `{known}`; snapshot the server again"
        )));
    }
    let digest = |key| fields.need(key)?.parse::<Digest>("a digest");
    Ok(Digests { raw: digest("raw")?, contract: digest("contract")?, presentation: digest("presentation")? })
}
