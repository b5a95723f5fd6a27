//! Servers, their listings and tools.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::schema;
use crate::{
    app::view,
    catalog::alias::{AliasHost, Warning},
    contract::Digests,
    json::Digest,
    name::ServerName,
    snapshot::{Evidence, Outcome, Provenance},
};

/// A server at a glance.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerSummary {
    #[schema(value_type = schema::ServerName)]
    name: ServerName,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last: Option<Listing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last_ok: Option<Listing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    asked: Option<DateTime<Utc>>,
    #[schema(value_type = Vec<schema::SplitView>)]
    split_views: Vec<view::SplitView>,
}

impl From<view::ServerSummary> for ServerSummary {
    fn from(s: view::ServerSummary) -> Self {
        Self {
            name: s.name,
            source: s.source,
            last: s.last.map(Listing::from),
            last_ok: s.last_ok.map(Listing::from),
            asked: s.asked,
            split_views: s.split_views,
        }
    }
}

/// A server with its listings and the tools of the newest good one.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Server {
    #[schema(value_type = schema::ServerName)]
    name: ServerName,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    asked: Option<DateTime<Utc>>,
    listings: Vec<Listing>,
    tools: Vec<Tool>,
    #[schema(value_type = Vec<schema::SplitView>)]
    split_views: Vec<view::SplitView>,
}

impl From<view::ServerPage> for Server {
    fn from(s: view::ServerPage) -> Self {
        Self {
            name: s.name,
            source: s.source,
            asked: s.asked,
            split_views: s.split_views,
            listings: s.listings.into_iter().map(Listing::from).collect(),
            tools: s.tools.into_iter().map(Tool::from).collect(),
        }
    }
}

/// One listing and how it ended.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    id: i64,
    at: DateTime<Utc>,
    #[schema(value_type = schema::Outcome)]
    outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Digest>, nullable = false)]
    digest: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tools: Option<usize>,
    #[schema(value_type = schema::Provenance)]
    provenance: Provenance,
    #[schema(value_type = schema::Evidence)]
    evidence: Evidence,
    #[schema(value_type = Vec<schema::SurfaceRow>)]
    surfaces: Vec<view::SurfaceRow>,
    primary: bool,
}

impl From<view::ListingRow> for Listing {
    fn from(l: view::ListingRow) -> Self {
        Self {
            id: l.id,
            at: l.at,
            outcome: l.outcome,
            digest: l.digest,
            tools: l.tools,
            provenance: l.provenance,
            evidence: l.evidence,
            surfaces: l.surfaces,
            primary: l.primary,
        }
    }
}

/// A tool as received, with its digests and the names that hosts give to it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    name: String,
    #[schema(value_type = schema::Digests)]
    digests: Digests,
    #[schema(value_type = schema::Aliases)]
    aliases: BTreeMap<AliasHost, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::AliasWarning>)]
    alias_warnings: Vec<Warning>,
    tool: Value,
}

impl From<view::ToolRow> for Tool {
    fn from(t: view::ToolRow) -> Self {
        Self {
            name: t.name,
            digests: t.digests,
            aliases: t.aliases.names,
            alias_warnings: t.aliases.warnings,
            tool: t.tool,
        }
    }
}
