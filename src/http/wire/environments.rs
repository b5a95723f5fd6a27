//! Environments and their moves.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;
use crate::{
    app::view,
    catalog::{self, CatalogVersion, Grounds, MoveKind, ServerPin},
    diff::Report,
    json::Digest,
    name::{CatalogName, EnvironmentName},
};

/// Where an environment points.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pointer {
    #[schema(value_type = schema::EnvironmentName)]
    environment: EnvironmentName,
    #[schema(value_type = schema::CatalogName)]
    catalog: CatalogName,
    #[schema(value_type = schema::CatalogVersion)]
    version: CatalogVersion,
    #[schema(value_type = schema::Digest)]
    digest: Digest,
    generation: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::CatalogVersion>, nullable = false)]
    hold: Option<CatalogVersion>,
    moved_by: String,
    moved_at: DateTime<Utc>,
}

impl From<catalog::EnvironmentPointer> for Pointer {
    fn from(p: catalog::EnvironmentPointer) -> Self {
        Self {
            environment: p.environment,
            catalog: p.catalog,
            version: p.version,
            digest: p.digest,
            generation: p.generation,
            hold: p.hold,
            moved_by: p.moved_by,
            moved_at: p.moved_at,
        }
    }
}

/// An environment's pointer for one catalog, with where it may go and where it was.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Environment {
    #[serde(flatten)]
    pointer: Pointer,
    #[schema(value_type = Vec<schema::CatalogVersion>)]
    holds: Vec<CatalogVersion>,
    #[schema(value_type = Vec<schema::CatalogVersion>)]
    promotable: Vec<CatalogVersion>,
    #[schema(value_type = Vec<schema::CatalogVersion>)]
    rollback_targets: Vec<CatalogVersion>,
    /// What keeps the pointer from moving for now.
    freezes: Vec<Freeze>,
    history: Vec<Move>,
}

impl From<view::EnvironmentPage> for Environment {
    fn from(e: view::EnvironmentPage) -> Self {
        Self {
            pointer: e.pointer.into(),
            holds: e.holds,
            promotable: e.promotable,
            rollback_targets: e.rollback_targets,
            freezes: e.freezes.into_iter().map(Freeze::from).collect(),
            history: e.history.into_iter().map(Move::from).collect(),
        }
    }
}

/// One move of a pointer.
#[derive(Serialize, ToSchema)]
pub struct Move {
    #[schema(value_type = schema::EnvironmentName)]
    environment: EnvironmentName,
    #[schema(value_type = schema::CatalogName)]
    catalog: CatalogName,
    generation: i64,
    #[schema(value_type = schema::MoveKind)]
    kind: MoveKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::CatalogVersion>, nullable = false)]
    from: Option<CatalogVersion>,
    #[schema(value_type = schema::CatalogVersion)]
    to: CatalogVersion,
    reason: String,
    actor: String,
    at: DateTime<Utc>,
    #[schema(value_type = schema::Grounds)]
    grounds: Grounds,
}

impl From<catalog::Move> for Move {
    fn from(m: catalog::Move) -> Self {
        Self {
            environment: m.environment,
            catalog: m.catalog,
            generation: m.generation,
            kind: m.kind,
            from: m.from,
            to: m.to,
            reason: m.reason,
            actor: m.actor,
            at: m.at,
            grounds: m.grounds,
        }
    }
}

/// An environment, or one catalog in it, where nothing moves for now.
#[derive(Serialize, ToSchema)]
pub struct Freeze {
    #[schema(value_type = schema::EnvironmentName)]
    environment: EnvironmentName,
    /// The only catalog that is frozen there; all where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::CatalogName>, nullable = false)]
    catalog: Option<CatalogName>,
    reason: String,
    actor: String,
    at: DateTime<Utc>,
}

impl From<catalog::Freeze> for Freeze {
    fn from(f: catalog::Freeze) -> Self {
        Self { environment: f.environment, catalog: f.catalog, reason: f.reason, actor: f.actor, at: f.at }
    }
}

/// One thing that has to be so before a pointer moves.
#[derive(Serialize, ToSchema)]
pub struct Gate {
    /// Which; the code of the refusal as well.
    #[schema(examples("policy-blocks"))]
    code: &'static str,
    passed: bool,
    /// Whether the move goes on though it is not passed.
    overridden: bool,
    /// What was found.
    message: String,
    /// What to do where it is not so.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    help: String,
}

impl From<view::GateCheck> for Gate {
    fn from(g: view::GateCheck) -> Self {
        Self { code: g.code, passed: g.passed, overridden: g.overridden, message: g.message, help: g.help }
    }
}

/// Everything that a move would be judged on.
#[derive(Serialize, ToSchema)]
pub struct Preflight {
    #[schema(value_type = schema::MoveKind)]
    kind: MoveKind,
    #[schema(value_type = schema::EnvironmentName)]
    environment: EnvironmentName,
    #[schema(value_type = schema::CatalogName)]
    catalog: CatalogName,
    /// What is live; absent before the first promotion.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::CatalogVersion>, nullable = false)]
    from: Option<CatalogVersion>,
    #[schema(value_type = schema::CatalogVersion)]
    to: CatalogVersion,
    /// The digest of that.
    #[schema(value_type = schema::Digest)]
    digest: Digest,
    generation: i64,
    /// Whether no gate stands in the way.
    passes: bool,
    gates: Vec<Gate>,
    /// What changes for whoever uses the environment; of a rollback, what is lost by going back. Absent for a first
    /// promotion, and where a contract of either version is not known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Report>, nullable = false)]
    report: Option<Report>,
    /// The same against what was there before that, where the policy looks further back.
    #[schema(value_type = Vec<schema::Report>)]
    earlier: Vec<Report>,
    /// What the move would keep with it.
    #[schema(value_type = schema::Grounds)]
    grounds: Grounds,
    /// The server releases that belong to the target.
    #[schema(value_type = Vec<schema::ServerPin>)]
    servers: Vec<ServerPin>,
}

impl From<view::Preflight> for Preflight {
    fn from(p: view::Preflight) -> Self {
        Self {
            kind: p.kind,
            environment: p.environment,
            catalog: p.catalog,
            from: p.from,
            to: p.to,
            digest: p.digest,
            generation: p.generation,
            passes: !p.gates.iter().any(view::GateCheck::blocks),
            gates: p.gates.into_iter().map(Gate::from).collect(),
            report: p.report,
            earlier: p.earlier,
            grounds: p.grounds,
            servers: p.servers,
        }
    }
}
