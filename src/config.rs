//! What people have already: the configuration files of MCP hosts, and registries, read into server specs.
//!
//! A shell beside `mcp` and `store`. Files are handed in as text; only `registry` talks to anybody. What is read is
//! foreign: it is bounded, kept symbolic ([`Symbolic`](crate::catalog::server::Symbolic)) and never executed, and what
//! looks like a secret is replaced by a reference before anybody can store it.

mod clear;
mod entry;
mod hosts;
mod jsonc;
pub mod registry;
mod spring;
mod variables;

use std::fmt;

pub use clear::clear;
pub use hosts::{Options, read};

use crate::{catalog::ServerSpec, name::ServerName};

/// The largest file that is read; those of people have some kilobytes.
pub const MAX_BYTES: usize = 4 << 20;

/// Whose configuration a file is. It decides what a bare `url` and a `$` mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// Claude Desktop and Claude Code: `mcpServers`.
    Claude,
    /// VS Code: `servers` and `inputs`.
    VsCode,
    /// Cursor: `mcpServers`, `${env:NAME}`.
    Cursor,
    /// Gemini CLI: `httpUrl` is Streamable HTTP, `url` is SSE; `$VAR`.
    Gemini,
    /// Windsurf: `serverUrl`.
    Windsurf,
    /// ModelScope: `streamable_http`.
    ModelScope,
    /// AgentScope: `tools.json` of the Java harness, `stdio_mcp` and `http_mcp` of the Python one.
    AgentScope,
    /// Spring AI: `application.yaml`, `.properties`, or the JSON that its `servers-configuration` names.
    Spring,
    /// A registry's `server.json`.
    Registry,
}

impl Host {
    /// Every host.
    pub const ALL: [Self; 9] = [
        Self::Claude,
        Self::VsCode,
        Self::Cursor,
        Self::Gemini,
        Self::Windsurf,
        Self::ModelScope,
        Self::AgentScope,
        Self::Spring,
        Self::Registry,
    ];

    /// The word by which it is chosen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::VsCode => "vscode",
            Self::Cursor => "cursor",
            Self::Gemini => "gemini",
            Self::Windsurf => "windsurf",
            Self::ModelScope => "modelscope",
            Self::AgentScope => "agentscope",
            Self::Spring => "spring",
            Self::Registry => "registry",
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a file or a registry names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Whose file it was read as.
    pub host: Host,
    /// The servers, in the file's order, no name twice.
    pub servers: Vec<Entry>,
    /// What stands there and is no server that can be registered: its name, and why.
    pub skipped: Vec<(String, String)>,
}

/// A server, and what its reader should know about how it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The server; holds no secret that is known as one.
    pub spec: ServerSpec,
    /// One sentence each, lower case, no final period, no secret.
    pub notes: Vec<String>,
}

/// Why a file is no list of servers. Never quotes a value: it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not the syntax that it should have.
    #[error("{line}:{column}: {message}")]
    Syntax {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// Too large to be a configuration.
    #[error("it has more than {MAX_BYTES} bytes, the limit for a configuration")]
    TooLarge,
    /// Nothing in it names servers.
    #[error("it names no MCP servers: expected {0}")]
    NoServers(&'static str),
    /// One server's entry makes no sense.
    #[error("server `{server}`: {message}")]
    Entry {
        /// The server as the file calls it.
        server: String,
        /// What is wrong.
        message: String,
    },
    /// Two entries would have one name here.
    #[error("servers `{first}` and `{second}` would both be called `{name}`")]
    Clash {
        /// As the file calls it.
        first: String,
        /// As the file calls it.
        second: String,
        /// The name here.
        name: ServerName,
    },
}

/// Puts entries together under names that this database can have: adapted where they must be, refused where two would be
/// one.
fn named(found: Vec<(String, entry::Read)>, host: Host) -> Result<Found, ConfigError> {
    let mut all = Found { host, servers: Vec::new(), skipped: Vec::new() };
    let mut names: Vec<(ServerName, String)> = Vec::new();
    for (text, read) in found {
        let (source, mut notes) = match read {
            entry::Read::Source(source, notes) => (source, notes),
            entry::Read::Skipped(why) => {
                all.skipped.push((text, why));
                continue;
            }
        };
        let Some(name) = ServerName::adapted(&text) else {
            let message = "its name has no letter or digit of ASCII; give it another in the file".to_owned();
            return Err(ConfigError::Entry { server: text, message });
        };
        if let Some((_, first)) = names.iter().find(|(known, _)| *known == name) {
            return Err(ConfigError::Clash { first: first.clone(), second: text, name });
        }
        if name.as_str() != text {
            notes.insert(
                0,
                format!("it is called `{name}` here, for `{text}` has what no name here may have"),
            );
        }
        let mut spec = ServerSpec::new(name.clone(), *source);
        notes.extend(clear(&mut spec));
        // What is imported was written by others: it may name variables, but run nothing and read nothing here.
        if let Some(acting) = spec.references().into_iter().find(|reference| reference.acts()) {
            let why = format!(
                "it refers to `{acting}`, and what is imported runs no command and reads no file; write it with \
                 `toolpact servers add` or in a catalog document, or a variable in its place"
            );
            all.skipped.push((text, why));
            continue;
        }
        names.push((name, text));
        all.servers.push(Entry { spec, notes });
    }
    Ok(all)
}
