//! Catalogs, versions and drafts.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Pointer, schema};
use crate::{
    app::view,
    catalog::{
        self, CatalogVersion, Compatibility, ContractVersion, DraftStatus, EnvironmentPolicy, Policy,
        ReleaseStatus, Selection, ServerPin, policy,
    },
    contract::Digests,
    diff::{Report, Verdict},
    json::Digest,
    name::{CatalogName, EnvironmentName, ServerName},
};

/// A catalog at a glance.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogSummary {
    #[schema(value_type = schema::CatalogName)]
    name: CatalogName,
    #[schema(value_type = Vec<schema::ServerName>)]
    servers: Vec<ServerName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::CatalogVersion>, nullable = false)]
    latest: Option<CatalogVersion>,
    pending: Vec<PendingDraft>,
}

/// A draft that waits.
#[derive(Serialize, ToSchema)]
pub struct PendingDraft {
    id: i64,
    #[schema(value_type = schema::Level)]
    verdict: Verdict,
}

impl From<view::CatalogSummary> for CatalogSummary {
    fn from(c: view::CatalogSummary) -> Self {
        Self {
            name: c.catalog.name,
            servers: c.catalog.servers.into_iter().map(|server| server.name).collect(),
            latest: c.latest,
            pending: c.pending.into_iter().map(|(id, verdict)| PendingDraft { id, verdict }).collect(),
        }
    }
}

/// A catalog with everything that leads further.
#[derive(Serialize, ToSchema)]
pub struct Catalog {
    #[schema(value_type = schema::CatalogName)]
    name: CatalogName,
    #[schema(value_type = schema::Policy)]
    policy: Policy,
    /// What environments demand beyond that, in the order in which versions go through them.
    environments: Vec<CatalogEnvironment>,
    servers: Vec<CatalogServer>,
    versions: Vec<VersionSummary>,
    drafts: Vec<DraftSummary>,
    live: Vec<Pointer>,
}

/// An environment of a catalog.
#[derive(Serialize, ToSchema)]
pub struct CatalogEnvironment {
    #[schema(value_type = schema::EnvironmentName)]
    name: EnvironmentName,
    #[schema(value_type = schema::EnvironmentPolicy)]
    policy: EnvironmentPolicy,
}

/// A server of a catalog.
#[derive(Serialize, ToSchema)]
pub struct CatalogServer {
    #[schema(value_type = schema::ServerName)]
    name: ServerName,
    /// Globs of the tools that belong to the catalog, those after a `!` left out; all belong to it where there is none.
    #[schema(value_type = Vec<String>)]
    tools: Selection,
}

/// In the order in which versions go through them; by name where they have none.
fn in_order(catalog: &catalog::Catalog) -> Vec<CatalogEnvironment> {
    let names =
        policy::order(&catalog.environments).unwrap_or_else(|_| catalog.environments.keys().collect());
    let of = |name: &EnvironmentName| {
        let policy = catalog.environments.get(name).cloned().unwrap_or_default();
        CatalogEnvironment { name: name.clone(), policy }
    };
    names.into_iter().map(of).collect()
}

impl From<view::CatalogPage> for Catalog {
    fn from(c: view::CatalogPage) -> Self {
        let environments = in_order(&c.catalog);
        let servers = c.catalog.servers.into_iter();
        Self {
            name: c.catalog.name,
            policy: c.catalog.policy,
            environments,
            servers: servers.map(|s| CatalogServer { name: s.name, tools: s.tools }).collect(),
            versions: c.versions.into_iter().map(VersionSummary::from).collect(),
            drafts: c.drafts.into_iter().map(DraftSummary::from).collect(),
            live: c.pointers.into_iter().map(Pointer::from).collect(),
        }
    }
}

/// A version without its members.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionSummary {
    #[schema(value_type = schema::CatalogVersion)]
    version: CatalogVersion,
    #[schema(value_type = schema::Digest)]
    digest: Digest,
    tools: usize,
    approved_by: String,
    approved_at: DateTime<Utc>,
    reason: String,
}

impl From<view::VersionRow> for VersionSummary {
    fn from(v: view::VersionRow) -> Self {
        Self {
            version: v.version,
            digest: v.digest,
            tools: v.tools,
            approved_by: v.approved_by,
            approved_at: v.approved_at,
            reason: v.reason,
        }
    }
}

/// A draft without its content.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DraftSummary {
    id: i64,
    #[schema(value_type = schema::DraftStatus)]
    status: DraftStatus,
    #[schema(value_type = schema::Level)]
    verdict: Verdict,
    #[schema(value_type = schema::Digest)]
    digest: Digest,
    created_by: String,
    created_at: DateTime<Utc>,
}

impl From<view::DraftRow> for DraftSummary {
    fn from(d: view::DraftRow) -> Self {
        Self {
            id: d.id,
            status: d.status,
            verdict: d.verdict,
            digest: d.digest,
            created_by: d.created_by,
            created_at: d.created_at,
        }
    }
}

/// One tool of a version or draft.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::ServerName>, nullable = false)]
    server: Option<ServerName>,
    tool: String,
    #[schema(value_type = schema::ContractVersion)]
    contract_version: ContractVersion,
    #[schema(value_type = schema::Compatibility)]
    compatibility: Compatibility,
    #[schema(value_type = schema::ReleaseStatus)]
    status: ReleaseStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Digests>, nullable = false)]
    digests: Option<Digests>,
    /// The raw digest in the spelling of SEP-3140 (draft).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    content_hash: Option<String>,
}

impl From<catalog::Member> for Member {
    fn from(m: catalog::Member) -> Self {
        Self {
            server: m.server,
            tool: m.tool,
            contract_version: m.contract_version,
            compatibility: m.compatibility,
            status: m.status,
            content_hash: m.digests.as_ref().map(|d| d.raw.content_hash()),
            digests: m.digests,
        }
    }
}

/// An approved version.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    #[schema(value_type = schema::CatalogName)]
    catalog: CatalogName,
    #[schema(value_type = schema::CatalogVersion)]
    version: CatalogVersion,
    #[schema(value_type = schema::Digest)]
    digest: Digest,
    /// The canonicalisation policy under which the members' digests were made.
    digest_policy: String,
    members: Vec<Member>,
    #[schema(value_type = Vec<schema::ServerPin>)]
    servers: Vec<ServerPin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    draft: Option<i64>,
    approved_by: String,
    approved_at: DateTime<Utc>,
    reason: String,
}

impl From<catalog::Version> for Version {
    fn from(v: catalog::Version) -> Self {
        Self {
            catalog: v.catalog,
            version: v.version,
            digest: v.digest,
            digest_policy: v.content.digest_policy,
            members: v.content.members.into_iter().map(Member::from).collect(),
            servers: v.content.servers,
            draft: v.draft,
            approved_by: v.approved_by,
            approved_at: v.approved_at,
            reason: v.reason,
        }
    }
}

/// A draft with its report.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    id: i64,
    #[schema(value_type = schema::CatalogName)]
    catalog: CatalogName,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::CatalogVersion>, nullable = false)]
    base: Option<CatalogVersion>,
    #[schema(value_type = schema::DraftStatus)]
    status: DraftStatus,
    #[schema(value_type = schema::Digest)]
    digest: Digest,
    /// The canonicalisation policy under which the members' digests were made.
    digest_policy: String,
    members: Vec<Member>,
    #[schema(value_type = Vec<schema::ServerPin>)]
    servers: Vec<ServerPin>,
    #[schema(value_type = schema::Report)]
    report: Report,
    /// Reports against older versions, where the policy looks further back than the newest.
    #[schema(value_type = Vec<schema::Report>)]
    earlier: Vec<Report>,
    created_by: String,
    created_at: DateTime<Utc>,
    /// Who changed since what it holds; authors as well.
    edited_by: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    decision: Option<Decision>,
}

/// How a draft ended.
#[derive(Serialize, ToSchema)]
pub struct Decision {
    by: String,
    at: DateTime<Utc>,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::CatalogVersion>, nullable = false)]
    version: Option<CatalogVersion>,
}

impl From<catalog::Draft> for Draft {
    fn from(d: catalog::Draft) -> Self {
        let (reason, version) = (d.reason, d.version);
        let decided = d.decided_by.zip(d.decided_at);
        Self {
            id: d.id,
            catalog: d.catalog,
            base: d.base,
            status: d.status,
            digest: d.digest,
            digest_policy: d.content.digest_policy,
            members: d.content.members.into_iter().map(Member::from).collect(),
            servers: d.content.servers,
            report: d.report,
            earlier: d.earlier,
            created_by: d.created_by,
            created_at: d.created_at,
            edited_by: d.edited_by,
            decision: decided.map(|(by, at)| Decision { by, at, reason, version }),
        }
    }
}
