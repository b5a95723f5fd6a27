//! What a server lists, held against what is live.

use serde::Serialize;
use utoipa::ToSchema;

use super::schema;
use crate::{
    app::live,
    catalog::{CatalogVersion, verify},
    json::Digest,
    name::{CatalogName, EnvironmentName},
};

/// Whether a host may offer what a server lists.
#[derive(Serialize, ToSchema)]
pub struct Verified {
    #[schema(value_type = schema::EnvironmentName)]
    environment: EnvironmentName,
    #[schema(value_type = schema::CatalogName)]
    catalog: CatalogName,
    #[schema(value_type = schema::CatalogVersion)]
    version: CatalogVersion,
    /// The digest of what is live.
    #[schema(value_type = schema::Digest)]
    digest: Digest,
    generation: i64,
    /// The worst of all tools: `pinned` says that the list is the reviewed one, no more and no less.
    #[schema(value_type = schema::ToolState)]
    verdict: verify::ToolState,
    /// The names of the tools that may be offered to a model: those that are what was reviewed.
    offer: Vec<String>,
    /// Every tool of either side.
    #[schema(value_type = Vec<schema::VerifiedTool>)]
    tools: Vec<verify::VerifiedTool>,
}

impl From<live::Verified> for Verified {
    fn from(v: live::Verified) -> Self {
        Self {
            environment: v.pointer.environment,
            catalog: v.pointer.catalog,
            version: v.pointer.version,
            digest: v.pointer.digest,
            generation: v.pointer.generation,
            verdict: v.result.verdict,
            offer: v.result.offer,
            tools: v.result.tools,
        }
    }
}
