//! Servers, their listings and tools.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use crate::{
    app::view,
    catalog::alias::{AliasHost, Warning},
    contract::Digests,
    json::Digest,
    name::ServerName,
    snapshot::{Evidence, Outcome, Provenance},
};

/// A server at a glance.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerSummary {
    name: ServerName,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<Listing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_ok: Option<Listing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<DateTime<Utc>>,
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
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Server {
    name: ServerName,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<DateTime<Utc>>,
    listings: Vec<Listing>,
    tools: Vec<Tool>,
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
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    id: i64,
    at: DateTime<Utc>,
    outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<usize>,
    provenance: Provenance,
    evidence: Evidence,
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
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    name: String,
    digests: Digests,
    aliases: BTreeMap<AliasHost, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
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
