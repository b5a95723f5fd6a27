//! Checks of builds: registered by pipelines, looked up by people.

use std::cmp::Reverse;

use axum::{
    Json,
    http::{StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::{
    Error,
    conditional::Tagged,
    cursor::List,
    extract::{Body, By, Object, Path, Query},
    wire::{self, schema},
};
use crate::{
    app::checks::CheckRequest,
    catalog::check::BuildContext,
    diff::Verdict,
    name::{CatalogName, EnvironmentName, ServerName},
    store::CheckQuery,
};

/// The longest part of where a build came from, in bytes: a URL of a repository, the name of a branch.
const LONGEST: usize = 400;

/// A part of where a build came from.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct Said(String);

impl TryFrom<String> for Said {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        if (1..=LONGEST).contains(&text.len()) && !text.chars().any(char::is_control) {
            Ok(Self(text))
        } else {
            Err(format!("this has not 1 to {LONGEST} bytes, or holds a control character"))
        }
    }
}

/// Where a build came from; for readers, and never judged by.
#[derive(Deserialize, Default, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct BuildBody {
    /// `acme/orders`, or a URL.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 400)]
    repository: Option<Said>,
    #[schema(value_type = Option<String>, min_length = 1, max_length = 400)]
    commit: Option<Said>,
    #[schema(value_type = Option<String>, min_length = 1, max_length = 400)]
    branch: Option<Said>,
    /// The number of its pull or merge request.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 400)]
    pull_request: Option<Said>,
}

/// A server, as the build offers it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct OfferedBody {
    /// As the catalog calls it.
    #[schema(value_type = schema::ServerName)]
    server: ServerName,
    // Kept as text: digests and number checks need the bytes as sent.
    /// The answer to `tools/list`: its result, a JSON-RPC response around it, or a bare array of tools.
    #[schema(value_type = serde_json::Value)]
    listing: Box<RawValue>,
}

/// What a build offers, and where it would be used.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CheckBody {
    #[schema(value_type = schema::EnvironmentName)]
    environment: EnvironmentName,
    /// May be left out where one catalog that is live there holds the servers.
    #[schema(value_type = Option<schema::CatalogName>)]
    catalog: Option<CatalogName>,
    /// Each once, 1 to 100 of them.
    #[schema(value_type = Vec<OfferedBody>)]
    servers: Vec<Object<OfferedBody>>,
    /// Where the build came from.
    #[schema(value_type = Option<BuildBody>)]
    context: Option<Object<BuildBody>>,
    /// Whether nothing is to be kept.
    #[serde(default)]
    #[schema(required = false)]
    dry_run: bool,
}

/// Holds what a build offers against what is live, and registers that as a check.
///
/// Judged by the policy of the environment, also against what was live before where that looks back. What was decided of a change
/// counts by its fingerprint, so that a build which was blocked passes once its changes are accepted. The same build against the
/// same version is registered once. With `dryRun` nothing is kept.
#[utoipa::path(
    post, path = "/api/v1/checks", tag = "checks",
    request_body(content = CheckBody, example = json!({
        "environment": "production",
        "servers": [{"server": "orders", "listing": {"tools": [{"name": "order_query", "inputSchema": {"type": "object"}}]}}],
        "context": {"repository": "acme/orders", "commit": "3f9c2d1", "branch": "rename-state", "pullRequest": "42"},
    })),
    responses(
        (status = 200, description = "The check, which was not kept.", body = wire::Check),
        (status = 201, description = "The check, as it stands now.", body = wire::Check),
    ),
    extensions(("x-problems" = json!([
        "not-json", "not-a-tools-list", "one-page", "too-large", "unreadable-tool", "bad-servers", "unknown-environment",
        "unknown-catalog", "never-promoted", "ambiguous-catalog", "catalog-needed", "server-not-pinned", "no-contracts",
        "contract-not-stored"
    ]))),
)]
pub(super) async fn create_check(
    By { app, actor }: By,
    Body(body): Body<CheckBody>,
) -> Result<Response, Error> {
    let CheckBody { environment, catalog, servers, context, dry_run } = body;
    let BuildBody { repository, commit, branch, pull_request } =
        context.map(|Object(context)| context).unwrap_or_default();
    let said = |said: Option<Said>| said.map(|said| said.0);
    let context = BuildContext {
        repository: said(repository),
        commit: said(commit),
        branch: said(branch),
        pull_request: said(pull_request),
    };
    let servers = servers.into_iter().map(|Object(offered)| (offered.server, offered.listing)).collect();
    let request = CheckRequest { catalog, environment, servers, context, dry_run, actor };
    let checked = app.make_check(request).await?;
    let Some(id) = checked.registered() else {
        return Ok(Json(wire::Check::from(checked)).into_response());
    };
    let location = format!("/api/v1/checks/{id}");
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(wire::Check::from(checked)))
        .into_response())
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ChecksQuery {
    /// Only of this catalog.
    #[param(value_type = Option<schema::CatalogName>)]
    catalog: Option<CatalogName>,
    /// Only against this environment.
    #[param(value_type = Option<schema::EnvironmentName>)]
    environment: Option<EnvironmentName>,
    /// Only of builds of this repository, as they wrote it.
    #[param(value_type = Option<String>)]
    repository: Option<Said>,
    /// Only of builds of this branch.
    #[param(value_type = Option<String>)]
    branch: Option<Said>,
    /// Only with this verdict.
    #[param(value_type = Option<schema::Level>)]
    verdict: Option<Verdict>,
    /// How many at most.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// Lists checks of builds, the newest first.
///
/// Whoever has a scope sees those in it.
#[utoipa::path(
    get, path = "/api/v1/checks", tag = "checks", params(ChecksQuery),
    responses((status = 200, description = "A page of checks.", body = wire::Items<wire::CheckSummary>)),
    extensions(("x-problems" = json!([]))),
)]
pub(super) async fn list_checks(
    By { app, .. }: By,
    Query(query): Query<ChecksQuery>,
    uri: Uri,
) -> Result<Response, Error> {
    let list = List::<Reverse<i64>>::new("checks", uri, query.limit, query.cursor.as_deref())?;
    let ChecksQuery { catalog, environment, repository, branch, verdict, .. } = query;
    let (repository, branch) = (repository.map(|said| said.0), branch.map(|said| said.0));
    let query = CheckQuery { catalog, environment, repository, branch, verdict };
    let page = app.checks_page(&query, &list.slice).await?;
    Ok(list.answer::<_, wire::CheckSummary>(page))
}

/// Reads one check, as it stands now: what was decided since is in it.
#[utoipa::path(
    get, path = "/api/v1/checks/{check}", tag = "checks",
    params(("check" = schema::CheckNumber, Path, description = "The check's number.", example = "7")),
    responses((status = 200, description = "The check.", body = wire::Check)),
    extensions(("x-problems" = json!(["unknown-check", "check-pruned"]))),
)]
pub(super) async fn get_check(
    By { app, .. }: By,
    Path(check): Path<i64>,
) -> Result<Tagged<wire::Check>, Error> {
    Ok(Tagged(app.get_check(check).await?.into()))
}
