//! Environments and their moves.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;
use crate::{
    app::view,
    catalog::{self, CatalogVersion, MoveKind},
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
    history: Vec<Move>,
}

impl From<view::EnvironmentPage> for Environment {
    fn from(e: view::EnvironmentPage) -> Self {
        Self {
            pointer: e.pointer.into(),
            holds: e.holds,
            promotable: e.promotable,
            rollback_targets: e.rollback_targets,
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
        }
    }
}
