//! `toolpact.lock`: the tools that callers rely on, as text that git merges and people read.
//!
//! One block a server, one block a tool, blank lines between them; servers and tools by name, the members of every object
//! by name, so that the same tools are the same text whoever lists them. A tool stands in it as the server sent it, with
//! its digests: what was changed by hand is seen. Two branches that change different tools change different blocks.

mod read;
mod write;

use std::collections::BTreeMap;

use chrono::NaiveDate;
use serde::Serialize;

pub use read::{LockError, is_one, read, read_unchecked};

use crate::{
    catalog::{ServerSource, announced},
    contract::{Contract, ContractError, Digests},
    diff::Side,
    name::ServerName,
    snapshot::RawTool,
};

/// The version of the form. A file of a later one is refused, never half understood.
pub const FORMAT: u32 = 1;
/// What it is called where nobody says otherwise.
pub const FILE: &str = "toolpact.lock";

/// A lockfile.
#[derive(Debug, Clone, Default)]
pub struct Lock {
    /// By name.
    pub servers: Vec<LockedServer>,
}

/// One server in it.
#[derive(Debug, Clone)]
pub struct LockedServer {
    /// Its name.
    pub name: ServerName,
    /// How it is started or found, where no other file says it.
    pub source: Option<ServerSource>,
    /// The version that it declared when it was locked.
    pub version: Option<String>,
    /// By name.
    pub tools: Vec<LockedTool>,
    /// The line on which it begins, from 1; 0 before it is written.
    pub line: usize,
}

/// One tool.
#[derive(Debug, Clone)]
pub struct LockedTool {
    /// The tool.
    pub contract: Contract,
    /// Its digests.
    pub digests: Digests,
    /// What the tool announced to go (a pointer into it, empty for the tool itself), and the day on which that was first
    /// locked.
    pub announced: BTreeMap<String, NaiveDate>,
    /// The line on which it begins, from 1; 0 before it is written.
    pub line: usize,
}

/// Why a list cannot be locked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unlockable {
    /// A tool has no contract.
    #[error(transparent)]
    Tool(#[from] ContractError),
    /// Two tools have one name.
    #[error("tool `{0}` is listed twice; a list names a tool once")]
    Twice(String),
}

/// What would change in a lockfile: names of tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Changes {
    /// Not in it yet.
    pub added: Vec<String>,
    /// In it with another content.
    pub changed: Vec<String>,
    /// In it, and no longer listed.
    pub removed: Vec<String>,
}

impl Changes {
    /// Whether nothing would.
    #[must_use]
    pub fn are_none(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

impl Lock {
    /// The server of this name.
    #[must_use]
    pub fn server(&self, name: &ServerName) -> Option<&LockedServer> {
        self.servers.iter().find(|s| &s.name == name)
    }

    /// Puts a server in the place of the one of its name.
    pub fn put(&mut self, server: LockedServer) {
        self.servers.retain(|s| s.name != server.name);
        self.servers.push(server);
        self.servers.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// The file.
    #[must_use]
    pub fn write(&self) -> String {
        write::lock(self)
    }

    /// As a side of a diff.
    #[must_use]
    pub fn side(&self, label: &str) -> Side {
        let contracts = |s: &LockedServer| s.tools.iter().map(|t| t.contract.clone()).collect();
        let servers = self.servers.iter().map(|s| (Some(s.name.clone()), contracts(s))).collect();
        Side { label: label.to_owned(), servers }
    }

    /// The line of a tool; of its server where it is not in it, and the first where neither is.
    #[must_use]
    pub fn line_of(&self, server: &str, tool: &str) -> usize {
        let Some(server) = self.servers.iter().find(|s| s.name.as_str() == server) else { return 1 };
        let line = server.tools.iter().find(|t| t.contract.name == tool).map_or(server.line, |t| t.line);
        line.max(1)
    }
}

impl LockedServer {
    /// What a server lists, locked on this day. What was announced before keeps its day.
    ///
    /// # Errors
    /// Where a tool has no contract, or two have one name.
    pub fn of(
        name: ServerName,
        tools: &[RawTool],
        before: Option<&Self>,
        today: NaiveDate,
    ) -> Result<Self, Unlockable> {
        let mut locked: Vec<LockedTool> = Vec::with_capacity(tools.len());
        for tool in tools {
            let contract = Contract::of(&RawTool { index: tool.index, raw: write::canonical(tool) })?;
            let known = before.and_then(|b| b.tools.iter().find(|t| t.contract.name == contract.name));
            let announced = announced::places(contract.tool())
                .into_iter()
                .map(|place| {
                    let day = known.and_then(|t| t.announced.get(&place)).copied();
                    (place, day.unwrap_or(today))
                })
                .collect();
            let digests = contract.digests().clone();
            locked.push(LockedTool { contract, digests, announced, line: 0 });
        }
        locked.sort_by(|a, b| a.contract.name.cmp(&b.contract.name));
        if let Some(pair) = locked.windows(2).find(|pair| pair[0].contract.name == pair[1].contract.name) {
            return Err(Unlockable::Twice(pair[0].contract.name.clone()));
        }
        Ok(Self { name, source: None, version: None, tools: locked, line: 0 })
    }

    /// What changes where this takes the place of another.
    #[must_use]
    pub fn changes(&self, before: Option<&Self>) -> Changes {
        let mut changes = Changes::default();
        let known = before.map_or(&[] as &[LockedTool], |b| &b.tools);
        let name = |t: &LockedTool| t.contract.name.clone();
        for tool in &self.tools {
            match known.iter().find(|t| t.contract.name == tool.contract.name) {
                None => changes.added.push(name(tool)),
                Some(before) if before.digests.raw != tool.digests.raw => changes.changed.push(name(tool)),
                Some(_) => {}
            }
        }
        let gone = known.iter().filter(|t| self.tools.iter().all(|n| n.contract.name != t.contract.name));
        changes.removed = gone.map(name).collect();
        changes
    }
}
