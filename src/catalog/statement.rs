//! What is signed of a catalog: that a version was approved, and that a pointer was moved.
//!
//! Each statement names the event of the write that it is made with, by number and digest, and so vouches for the whole
//! log up to there. The forms are ours and stable: a member may come, none goes or changes its meaning.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    CatalogVersion, Event, Move, MoveKind, Version,
    sign::{Envelope, SigningKey, Statement},
};
use crate::{
    json::Digest,
    name::{CatalogName, EnvironmentName},
};

/// An event, and with it all before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRef {
    /// Its number.
    pub seq: i64,
    /// Its digest.
    pub digest: Digest,
}

/// That this is a version of a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionStatement {
    /// Whose version.
    pub catalog: CatalogName,
    /// Its number.
    pub version: CatalogVersion,
    /// Over its members.
    pub digest: Digest,
    /// Over all that it holds, where its contracts came from as well.
    pub content: Digest,
    /// The draft it was; absent for an imported document.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub draft: Option<i64>,
    /// Who approved or imported it.
    pub approved_by: String,
    /// Why.
    pub reason: String,
    /// When.
    pub approved_at: DateTime<Utc>,
    /// The event of that; absent only before there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub event: Option<EventRef>,
}

impl Statement for VersionStatement {
    const PAYLOAD_TYPE: &'static str = "application/vnd.toolpact.version+json";
}

impl VersionStatement {
    /// What is said of a version, but for its event.
    #[must_use]
    pub fn of(version: &Version) -> Self {
        Self {
            catalog: version.catalog.clone(),
            version: version.version,
            digest: version.digest.clone(),
            content: Digest::of(&serde_json::to_value(&version.content).unwrap_or(Value::Null)),
            draft: version.draft,
            approved_by: version.approved_by.clone(),
            reason: version.reason.clone(),
            approved_at: version.approved_at,
            event: None,
        }
    }

    /// Under which name it is kept.
    #[must_use]
    pub fn name_of(catalog: &CatalogName, version: CatalogVersion) -> String {
        format!("catalog/{catalog}@{version}")
    }
}

/// That a pointer was moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveStatement {
    /// The environment.
    pub environment: EnvironmentName,
    /// The catalog.
    pub catalog: CatalogName,
    /// The generation that the pointer reached.
    pub generation: i64,
    /// Forward or back.
    pub kind: MoveKind,
    /// The version that was left; absent for the first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<CatalogVersion>,
    /// The version that is live.
    pub to: CatalogVersion,
    /// Over the members of that.
    pub digest: Digest,
    /// Who moved it.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// When.
    pub at: DateTime<Utc>,
    /// The event of that; absent only before there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub event: Option<EventRef>,
}

impl Statement for MoveStatement {
    const PAYLOAD_TYPE: &'static str = "application/vnd.toolpact.move+json";
}

impl MoveStatement {
    /// What is said of a move to a version of this digest, but for its event.
    #[must_use]
    pub fn of(order: &Move, digest: &Digest) -> Self {
        Self {
            environment: order.environment.clone(),
            catalog: order.catalog.clone(),
            generation: order.generation,
            kind: order.kind,
            from: order.from,
            to: order.to,
            digest: digest.clone(),
            actor: order.actor.clone(),
            reason: order.reason.clone(),
            at: order.at,
            event: None,
        }
    }

    /// Under which name it is kept.
    #[must_use]
    pub fn name_of(environment: &EnvironmentName, catalog: &CatalogName, generation: i64) -> String {
        format!("environment/{environment}/{catalog}#{generation}")
    }
}

/// What is signed together with an event, once it has its place in the chain.
#[derive(Debug, Clone)]
pub struct Seal {
    /// With which key.
    pub key: SigningKey,
    /// What is said.
    pub said: Sealed,
}

/// Of which kind a statement is.
#[derive(Debug, Clone)]
pub enum Sealed {
    /// A version.
    Version(VersionStatement),
    /// A move.
    Move(MoveStatement),
}

impl Seal {
    /// Under which name it is kept.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.said {
            Sealed::Version(s) => VersionStatement::name_of(&s.catalog, s.version),
            Sealed::Move(s) => MoveStatement::name_of(&s.environment, &s.catalog, s.generation),
        }
    }

    /// The statement with its event, signed.
    #[must_use]
    pub fn made(self, event: &Event) -> Envelope {
        let event = Some(EventRef { seq: event.seq, digest: event.digest.clone() });
        match self.said {
            Sealed::Version(said) => VersionStatement { event, ..said }.signed(&self.key),
            Sealed::Move(said) => MoveStatement { event, ..said }.signed(&self.key),
        }
    }
}
