//! Checks of builds.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Standing, schema};
use crate::{
    app::checks,
    catalog::{CatalogVersion, Policy, check},
    diff::{Report, Verdict},
    name::{CatalogName, EnvironmentName, ServerName},
    store,
};

/// Where a build came from, as it says itself.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BuildContext {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    repository: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    branch: Option<String>,
    /// The number of its pull or merge request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pull_request: Option<String>,
}

impl From<check::BuildContext> for BuildContext {
    fn from(c: check::BuildContext) -> Self {
        let check::BuildContext { repository, commit, branch, pull_request } = c;
        Self { repository, commit, branch, pull_request }
    }
}

/// A check at a glance.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckSummary {
    id: i64,
    #[schema(value_type = schema::CatalogName)]
    catalog: CatalogName,
    #[schema(value_type = schema::EnvironmentName)]
    environment: EnvironmentName,
    /// What was live there.
    #[schema(value_type = schema::CatalogVersion)]
    version: CatalogVersion,
    context: BuildContext,
    #[schema(value_type = schema::Level)]
    verdict: Verdict,
    created_by: String,
    created_at: DateTime<Utc>,
}

impl From<store::CheckRow> for CheckSummary {
    fn from(c: store::CheckRow) -> Self {
        Self {
            id: c.id,
            catalog: c.catalog,
            environment: c.environment,
            version: c.version,
            context: c.context.into(),
            verdict: c.verdict,
            created_by: c.created_by,
            created_at: c.created_at,
        }
    }
}

/// A version that a server, or a tool of it, declared in what is live.
#[derive(Serialize, ToSchema)]
pub struct LiveRelease {
    #[schema(value_type = schema::ServerName)]
    server: ServerName,
    /// Where the tool declares one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tool: Option<String>,
    version: String,
}

impl From<checks::Release> for LiveRelease {
    fn from(r: checks::Release) -> Self {
        Self { server: r.server, tool: r.tool, version: r.version }
    }
}

/// What a build offers, held against what is live.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// Its number; absent where it was not registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id: Option<i64>,
    /// The path of its page, where its changes are decided on; absent where it was not registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    page: Option<String>,
    #[schema(value_type = schema::CatalogName)]
    catalog: CatalogName,
    #[schema(value_type = schema::EnvironmentName)]
    environment: EnvironmentName,
    /// What was live there.
    #[schema(value_type = schema::CatalogVersion)]
    version: CatalogVersion,
    #[schema(value_type = Vec<schema::ServerName>)]
    servers: Vec<ServerName>,
    context: BuildContext,
    /// Whether no change stands in the way, as things stand now.
    passes: bool,
    /// The policy of the environment.
    #[schema(value_type = schema::Policy)]
    policy: Policy,
    /// What changes for whoever uses the environment.
    #[schema(value_type = schema::Report)]
    report: Report,
    /// The same against what was live before that, where the policy looks further back.
    #[schema(value_type = Vec<schema::Report>)]
    earlier: Vec<Report>,
    /// Each change once.
    standing: Vec<Standing>,
    /// The versions that the servers declared in what is live.
    releases: Vec<LiveRelease>,
    created_by: String,
    created_at: DateTime<Utc>,
}

impl From<checks::Checked> for Check {
    fn from(c: checks::Checked) -> Self {
        let (id, passes) = (c.registered(), c.blocking() == 0);
        let checks::Checked { check, policy, standing, releases, overtaken: _ } = c;
        Self {
            id,
            page: id.map(|id| format!("/checks/{id}")),
            catalog: check.catalog,
            environment: check.environment,
            version: check.version,
            servers: check.servers,
            context: check.context.into(),
            passes,
            policy,
            report: check.report,
            earlier: check.earlier,
            standing: standing.into_iter().map(Standing::from).collect(),
            releases: releases.into_iter().map(LiveRelease::from).collect(),
            created_by: check.created_by,
            created_at: check.created_at,
        }
    }
}
