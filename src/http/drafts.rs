//! Drafts and the decision on them.

use std::cmp::Reverse;

use axum::{
    Json,
    extract::State,
    http::{StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{
    ACTOR, Error,
    conditional::{IfMatch, Tagged, tag},
    cursor::List,
    extract::{Body, DraftId, Path, Query},
    wire::{self, schema},
};
use crate::{
    app::App,
    catalog::DraftStatus,
    name::{CatalogName, ServerName},
};

/// What a draft is made of.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateBody {
    /// Servers that the catalog shall hold beside those that it holds; each must have a snapshot.
    #[serde(default)]
    #[schema(value_type = Vec<schema::ServerName>, required = false)]
    servers: Vec<ServerName>,
}

/// Makes a draft of a catalog from the latest snapshots of its servers.
///
/// The catalog is created where it does not exist and servers are named.
#[utoipa::path(
    post, path = "/api/v1/catalogs/{catalog}/drafts", tag = "drafts",
    params(("catalog" = schema::CatalogName, Path, description = "The catalog's name.", example = "orders")),
    request_body(content = CreateBody, example = json!({"servers": ["orders"]})),
    responses((status = 201, description = "The draft, which waits for a decision.", body = wire::Draft)),
    extensions(("x-problems" = json!([
        "unknown-catalog", "unknown-server", "no-servers", "no-snapshot", "nothing-changed", "stale-draft"
    ]))),
)]
pub(super) async fn create_draft(
    State(app): State<App>,
    Path(catalog): Path<CatalogName>,
    Body(body): Body<CreateBody>,
) -> Result<Response, Error> {
    let draft = app.draft(&catalog, &body.servers, ACTOR).await?;
    let location = format!("/api/v1/catalogs/{}/drafts/{}", draft.catalog, draft.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Tagged(wire::Draft::from(draft)))
        .into_response())
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DraftsQuery {
    /// Only those of which this became.
    #[param(value_type = Option<schema::DraftStatus>, inline)]
    status: Option<DraftStatus>,
    /// How many at most.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// Lists the drafts of a catalog, the newest first.
#[utoipa::path(
    get, path = "/api/v1/catalogs/{catalog}/drafts", tag = "drafts",
    params(("catalog" = schema::CatalogName, Path, description = "The catalog's name.", example = "orders"), DraftsQuery),
    responses((status = 200, description = "A page of drafts.", body = wire::Items<wire::DraftSummary>)),
    extensions(("x-problems" = json!(["unknown-catalog"]))),
)]
pub(super) async fn list_drafts(
    State(app): State<App>,
    Path(catalog): Path<CatalogName>,
    Query(query): Query<DraftsQuery>,
    uri: Uri,
) -> Result<Response, Error> {
    let name = format!("catalogs/{catalog}/drafts");
    let list = List::<Reverse<i64>>::new(name, uri, query.limit, query.cursor.as_deref())?;
    let page = app.drafts_page(&catalog, query.status, &list.slice).await?;
    Ok(list.answer::<_, wire::DraftSummary>(page))
}

/// Reads one draft with its report.
#[utoipa::path(
    get, path = "/api/v1/catalogs/{catalog}/drafts/{draft}", tag = "drafts",
    params(
        ("catalog" = schema::CatalogName, Path, description = "The catalog's name.", example = "orders"),
        ("draft" = schema::DraftNumber, Path, description = "The draft's number.", example = "d-3"),
    ),
    responses((status = 200, description = "The draft.", body = wire::Draft)),
    extensions(("x-problems" = json!(["unknown-catalog", "unknown-draft"]))),
)]
pub(super) async fn get_draft(
    State(app): State<App>,
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
) -> Result<Tagged<wire::Draft>, Error> {
    Ok(Tagged(app.get_draft(&catalog, draft.0).await?.into()))
}

/// An approval.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ApproveBody {
    /// Why, for whoever reads the history.
    #[schema(pattern = r"\S")]
    reason: String,
    /// Whether what the policy blocks is accepted.
    #[serde(default)]
    #[schema(required = false)]
    accept_breaking: bool,
}

/// Makes a draft an approved version, for good.
#[utoipa::path(
    post, path = "/api/v1/catalogs/{catalog}/drafts/{draft}/approve", tag = "drafts",
    params(
        ("catalog" = schema::CatalogName, Path, description = "The catalog's name.", example = "orders"),
        ("draft" = schema::DraftNumber, Path, description = "The draft's number.", example = "d-3"),
    ),
    request_body(content = ApproveBody, example = json!({"reason": "callers have moved", "acceptBreaking": true})),
    responses((status = 201, description = "The version.", body = wire::Version)),
    extensions(("x-problems" = json!([
        "unknown-catalog", "unknown-draft", "draft-decided", "stale-draft", "absolute-finding", "policy-blocks",
        "empty-reason", "stale-etag"
    ]))),
)]
pub(super) async fn approve_draft(
    State(app): State<App>,
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
    if_match: IfMatch,
    Body(body): Body<ApproveBody>,
) -> Result<Response, Error> {
    unchanged(&app, &catalog, draft, &if_match).await?;
    let approved = app.approve(&catalog, draft.0, body.accept_breaking, &body.reason, ACTOR).await?;
    let Some(version) = approved.version else {
        return Ok((StatusCode::ACCEPTED, Json(wire::Approved::from(approved))).into_response());
    };
    let location = format!("/api/v1/catalogs/{}/versions/{}", version.catalog, version.version);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(wire::Version::from(version)))
        .into_response())
}

/// A rejection.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RejectBody {
    /// Why, for whoever reads the history.
    #[schema(pattern = r"\S")]
    reason: String,
}

/// Refuses a draft, for good.
#[utoipa::path(
    post, path = "/api/v1/catalogs/{catalog}/drafts/{draft}/reject", tag = "drafts",
    params(
        ("catalog" = schema::CatalogName, Path, description = "The catalog's name.", example = "orders"),
        ("draft" = schema::DraftNumber, Path, description = "The draft's number.", example = "d-3"),
    ),
    request_body(content = RejectBody, example = json!({"reason": "keep `all`"})),
    responses((status = 200, description = "The draft as it is now.", body = wire::Draft)),
    extensions(("x-problems" = json!(["unknown-catalog", "unknown-draft", "draft-decided", "empty-reason", "stale-etag"]))),
)]
pub(super) async fn reject_draft(
    State(app): State<App>,
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
    if_match: IfMatch,
    Body(body): Body<RejectBody>,
) -> Result<Tagged<wire::Draft>, Error> {
    unchanged(&app, &catalog, draft, &if_match).await?;
    Ok(Tagged(app.reject(&catalog, draft.0, &body.reason, ACTOR).await?.into()))
}

/// Refuses a decision on another state of a draft than the one that was read.
async fn unchanged(app: &App, catalog: &CatalogName, draft: DraftId, seen: &IfMatch) -> Result<(), Error> {
    let now = wire::Draft::from(app.get_draft(catalog, draft.0).await?);
    seen.check(&format!("draft `d-{}`", draft.0), &tag(&now)?)
}
