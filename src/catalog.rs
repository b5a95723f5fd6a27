//! Catalogs: named sets of contracts, their immutable versions, drafts, and the pointers of environments.
//!
//! It decides what a draft holds, which contractVersion a contract gets and what a catalogVersion
//! is called. Time is an argument.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod alias;
pub mod announced;
pub mod bundle;
pub mod chain;
pub mod check;
pub mod document;
pub mod draft;
pub mod event;
pub mod policy;
pub mod review;
pub mod selection;
pub mod server;
pub mod sign;
pub mod statement;
pub mod suggest;
pub mod verify;
pub mod version;
pub mod webhook;

use std::{collections::BTreeMap, fmt};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use announced::LetGo;
pub use policy::{EnvironmentPolicy, Policy};
pub use selection::Selection;
pub use server::{ServerSource, ServerSpec};
pub use version::{CatalogVersion, ContractVersion};

use crate::{
    access,
    contract::Digests,
    diff::{Report, Verdict},
    json::Digest,
    name::{CatalogName, EnvironmentName, ServerName},
    snapshot::Provenance,
};

/// How a contract relates to the one before it, as catalog documents say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compatibility {
    /// The first contract of this tool here.
    Initial,
    /// The same contract.
    Unchanged,
    /// Callers of the contract before can go on.
    BackwardCompatible,
    /// Breaks no schema, may change what happens.
    Risky,
    /// Some caller breaks.
    Breaking,
    /// Not proved either way.
    Undecided,
}

impl Compatibility {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Unchanged => "unchanged",
            Self::BackwardCompatible => "backward-compatible",
            Self::Risky => "risky",
            Self::Breaking => "breaking",
            Self::Undecided => "undecided",
        }
    }
}

/// Where a tool stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseStatus {
    /// In use.
    #[default]
    Active,
    /// Announced to go.
    Deprecated,
    /// Not yet promised.
    Experimental,
}

impl ReleaseStatus {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Deprecated => "deprecated",
            Self::Experimental => "experimental",
        }
    }
}

/// One tool in a catalog version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// The server; absent where a hand-written document does not say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerName>,
    /// The tool's name.
    pub tool: String,
    /// Semver of its contract.
    pub contract_version: ContractVersion,
    /// How it relates to the contract before it.
    pub compatibility: Compatibility,
    /// Where it stands in its life.
    #[serde(default)]
    pub status: ReleaseStatus,
    /// What it is, exactly; absent where a hand-written document does not pin it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub digests: Option<Digests>,
}

/// The server release that the contracts of a catalog version came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerPin {
    /// The server.
    pub server: ServerName,
    /// The snapshot its contracts were taken from.
    pub snapshot: Digest,
    /// How that snapshot was obtained.
    pub provenance: Provenance,
}

impl ServerPin {
    /// The release in words: package or endpoint, the version that the server gives itself, and the revision that was
    /// spoken.
    #[must_use]
    pub fn release(&self) -> String {
        let Provenance { target, package, protocol_version, .. } = &self.provenance;
        let mut words = match package {
            Some(package) => package.to_string(),
            None => target.clone(),
        };
        if let Some(version) = self.provenance.server_version() {
            words = format!("{words}, version {version}");
        }
        if let Some(revision) = protocol_version {
            words = format!("{words}, MCP {revision}");
        }
        words
    }
}

/// What a catalog version is: an ordered set of members and the server releases they came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// The canonicalisation policy under which the members' digests were made.
    pub digest_policy: String,
    /// In the document's order; by server, then tool, in a draft's.
    pub members: Vec<Member>,
    /// The releases, by server.
    #[serde(default)]
    pub servers: Vec<ServerPin>,
}

impl Default for Content {
    fn default() -> Self {
        Self::new(Vec::new(), Vec::new())
    }
}

impl Content {
    /// A content whose digests were made by this toolpact.
    #[must_use]
    pub fn new(members: Vec<Member>, servers: Vec<ServerPin>) -> Self {
        Self { digest_policy: crate::contract::POLICY.to_owned(), members, servers }
    }

    /// The catalog's digest: over its members by server, then tool. When and where a server was asked does not count.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut members: Vec<&Member> = self.members.iter().collect();
        members.sort_by(|a, b| (&a.server, &a.tool).cmp(&(&b.server, &b.tool)));
        Digest::of(&serde_json::to_value(&members).unwrap_or(Value::Null))
    }

    /// Whether both pin the same contracts; what they call them, and how they came to be, does not count.
    #[must_use]
    pub fn same_contracts(&self, other: &Self) -> bool {
        let pins = |content: &Self| {
            let mut pins: Vec<_> = content
                .members
                .iter()
                .map(|m| (m.server.clone(), m.tool.clone(), m.digests.as_ref().map(|d| d.raw.clone())))
                .collect();
            pins.sort();
            pins
        };
        pins(self) == pins(other)
    }
}

/// A catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Catalog {
    /// Its name.
    pub name: CatalogName,
    /// What blocks.
    pub policy: Policy,
    /// What environments demand beyond that. One that is not here takes every approved version.
    pub environments: BTreeMap<EnvironmentName, EnvironmentPolicy>,
    /// The servers whose tools it holds.
    pub servers: Vec<CatalogServer>,
}

impl Catalog {
    /// What tells one state of its settings from another.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&serde_json::to_value(self).unwrap_or(Value::Null))
    }

    /// The policy that a move to an environment is judged by: its own where the environment demands nothing.
    #[must_use]
    pub fn policy_in(&self, environment: &EnvironmentName) -> Policy {
        let demands = self.environments.get(environment);
        demands.map_or_else(|| self.policy.clone(), |demands| demands.over(&self.policy))
    }
}

/// A server of a catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CatalogServer {
    /// Its name.
    pub name: ServerName,
    /// Where it is found, if that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source: Option<ServerSource>,
    /// Which of its tools belong to the catalog.
    #[serde(skip_serializing_if = "Selection::is_all", default)]
    pub tools: Selection,
}

impl CatalogServer {
    /// All tools of a server.
    #[must_use]
    pub fn all(name: ServerName) -> Self {
        Self { name, source: None, tools: Selection::default() }
    }
}

/// An approved, immutable version of a catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// Whose version.
    pub catalog: CatalogName,
    /// Its number.
    pub version: CatalogVersion,
    /// Over its members.
    pub digest: Digest,
    /// What it holds.
    pub content: Content,
    /// The draft it was; absent for an imported document.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub draft: Option<i64>,
    /// Who approved it.
    pub approved_by: String,
    /// Why.
    pub reason: String,
    /// When.
    pub approved_at: DateTime<Utc>,
}

/// What became of a draft. All but `Pending` are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DraftStatus {
    /// Waits for a review.
    Pending,
    /// Became a version.
    Approved,
    /// Refused.
    Rejected,
    /// A newer snapshot made a newer draft.
    Superseded,
}

impl DraftStatus {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Superseded => "superseded",
        }
    }
}

/// A catalog version being prepared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    /// Its number, shown as `d-31`.
    pub id: i64,
    /// Whose draft.
    pub catalog: CatalogName,
    /// The version it was compared with; absent for the first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub base: Option<CatalogVersion>,
    /// What it would hold.
    pub content: Content,
    /// The digest of that.
    pub digest: Digest,
    /// What changed since `base`, judged under the catalog's policy when the draft was made.
    pub report: Report,
    /// What changed since older versions, where the policy looks [further back](policy::Against): of each contract that
    /// `base` has no more.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub earlier: Vec<Report>,
    /// What became of it.
    pub status: DraftStatus,
    /// Who made it.
    pub created_by: String,
    /// When.
    pub created_at: DateTime<Utc>,
    /// Who edited it since.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub edited_by: Vec<String>,
    /// Who decided, when decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decided_by: Option<String>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decided_at: Option<DateTime<Utc>>,
    /// The reason given; empty while pending.
    #[serde(default)]
    pub reason: String,
    /// The version it became.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<CatalogVersion>,
}

impl Draft {
    /// Its report, and those against older versions.
    pub fn reports(&self) -> impl Iterator<Item = &Report> {
        std::iter::once(&self.report).chain(&self.earlier)
    }

    /// Whether this person had a part in what it holds, by their own hand or by that of a pipeline or agent of theirs.
    #[must_use]
    pub fn is_author(&self, actor: &str) -> bool {
        let person = access::person(actor);
        std::iter::once(&self.created_by)
            .chain(&self.edited_by)
            .any(|author| access::person(author) == person)
    }
}

/// Where an environment points for one catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentPointer {
    /// The environment.
    pub environment: EnvironmentName,
    /// The catalog.
    pub catalog: CatalogName,
    /// What is live.
    pub version: CatalogVersion,
    /// The digest of what is live.
    pub digest: Digest,
    /// Counts the moves, from 1. Zero means "nothing was ever live here" and is what the first promotion expects.
    pub generation: i64,
    /// The version that the newest unreleased rollback left; refused until released. Earlier ones may be held too.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hold: Option<CatalogVersion>,
    /// Who moved it last.
    pub moved_by: String,
    /// When.
    pub moved_at: DateTime<Utc>,
}

/// How a pointer moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MoveKind {
    /// To an approved version.
    Promote,
    /// To one that was live there before.
    Rollback,
}

impl MoveKind {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Promote => "promote",
            Self::Rollback => "rollback",
        }
    }
}

impl fmt::Display for MoveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One move of a pointer. Only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    /// The environment.
    pub environment: EnvironmentName,
    /// The catalog.
    pub catalog: CatalogName,
    /// The generation this move made.
    pub generation: i64,
    /// How.
    pub kind: MoveKind,
    /// What was live before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<CatalogVersion>,
    /// What is live since.
    pub to: CatalogVersion,
    /// Why.
    pub reason: String,
    /// Who.
    pub actor: String,
    /// When.
    pub at: DateTime<Utc>,
    /// What it was made on.
    #[serde(default)]
    pub grounds: Grounds,
}

/// What a move was made on, as it was then.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grounds {
    /// The verdict on what changes for whoever uses the environment; absent for the first move.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<Verdict>,
    /// The decisions and waivers, by number, that let changes pass which would have blocked.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub decisions: Vec<i64>,
    /// The changes that passed because they were announced for as long as is promised, and would have blocked.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub announced: Vec<LetGo>,
    /// Who had approved the version.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub approvers: Vec<String>,
    /// What the servers were found to serve.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub probed: Vec<Probed>,
    /// The gates that stood in the way and were overridden, by code.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub overridden: Vec<String>,
    /// Whether it was an emergency.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub emergency: bool,
}

/// What a server was found to serve of what a version pins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Probed {
    /// The server that the contracts came from.
    pub server: ServerName,
    /// The registered server that was asked, where it is another.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub asked: Option<ServerName>,
    /// What was found.
    pub answer: ProbeAnswer,
    /// Pinned tools that it serves otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub changed: Vec<String>,
    /// Pinned tools that it does not serve.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub missing: Vec<String>,
    /// What happened, where it could not be asked.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub message: String,
}

/// In one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeAnswer {
    /// It serves every pinned contract; what else it serves does not matter.
    Serves,
    /// It does not.
    Differs,
    /// It could not be listed.
    Unreachable,
    /// Nobody registered it, so it cannot be asked.
    Unregistered,
}

impl ProbeAnswer {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Serves => "serves",
            Self::Differs => "differs",
            Self::Unreachable => "unreachable",
            Self::Unregistered => "unregistered",
        }
    }
}

impl Probed {
    /// One sentence.
    #[must_use]
    pub fn told(&self) -> String {
        let server = self.asked.as_ref().unwrap_or(&self.server);
        let listed = |tools: &[String]| tools.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join(", ");
        match self.answer {
            ProbeAnswer::Serves => format!("server `{server}` serves what is pinned"),
            ProbeAnswer::Unregistered => format!("server `{server}` is not registered, so nobody was asked"),
            ProbeAnswer::Unreachable => format!("server `{server}` could not be listed: {}", self.message),
            ProbeAnswer::Differs => {
                let changed =
                    (!self.changed.is_empty()).then(|| format!("serves otherwise {}", listed(&self.changed)));
                let missing =
                    (!self.missing.is_empty()).then(|| format!("does not serve {}", listed(&self.missing)));
                let both: Vec<String> = changed.into_iter().chain(missing).collect();
                format!("server `{server}` {}", both.join(" and "))
            }
        }
    }
}

/// An environment in which nothing moves for now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Freeze {
    /// The environment.
    pub environment: EnvironmentName,
    /// The only catalog that is frozen there; all where absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub catalog: Option<CatalogName>,
    /// Why.
    pub reason: String,
    /// Who froze it.
    pub actor: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// One row of the append-only, hash-chained audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Position, from 1, without gaps.
    pub seq: i64,
    /// When.
    pub at: DateTime<Utc>,
    /// Who.
    pub actor: String,
    /// What: `snapshot.recorded`, `catalog.applied`, `draft.created`, `draft.approved`, `draft.rejected`,
    /// `draft.superseded`, `draft.edited`, `draft.endorsed` (an approval that makes no version), `draft.commented`,
    /// `change.decided`, `check.registered`, `version.imported`, `server.registered`, `server.removed`, `server.split-view`,
    /// `environment.promoted`, `environment.rolled-back`, `environment.hold-released`, `environment.frozen`,
    /// `environment.unfrozen`, `store.pruned`.
    pub kind: String,
    /// The object it happened to: `server/github`, `catalog/orders`, `environment/production`, `check/7`.
    pub subject: String,
    /// The particulars.
    pub data: Value,
    /// By which way the write came in. Absent from events of before there were any, whose digests hold still.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub origin: Option<event::Origin>,
    /// The digest of the event before; of the empty text for the first.
    pub previous: Digest,
    /// Over this event's canonical form without this field.
    pub digest: Digest,
}
