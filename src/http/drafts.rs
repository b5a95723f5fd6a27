//! Drafts and the decision on them.

use std::cmp::Reverse;

use axum::{
    Json,
    extract::State,
    http::{StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::{
    Error,
    conditional::{IfMatch, Tagged, tag},
    cursor::List,
    extract::{Body, By, DraftId, PatchBody, Path, Query},
    wire::{self, schema},
};
use crate::{
    app::{App, AppError, Kind},
    catalog::DraftStatus,
    json::Digest,
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
    Path(catalog): Path<CatalogName>,
    By { app, actor }: By,
    Body(body): Body<CreateBody>,
) -> Result<Response, Error> {
    let draft = app.draft(&catalog, &body.servers, &actor).await?;
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

/// Approves what a draft holds, which makes it a version once enough people did.
///
/// How many have to, other than those who made or edited the draft, says the catalog's policy. Every change that blocks has to
/// be accepted: by a decision, or with `acceptBreaking` here and now, for this reason.
#[utoipa::path(
    post, path = "/api/v1/catalogs/{catalog}/drafts/{draft}/approve", tag = "drafts",
    params(
        ("catalog" = schema::CatalogName, Path, description = "The catalog's name.", example = "orders"),
        ("draft" = schema::DraftNumber, Path, description = "The draft's number.", example = "d-3"),
    ),
    request_body(content = ApproveBody, example = json!({"reason": "callers have moved", "acceptBreaking": true})),
    responses(
        (status = 201, description = "The version.", body = wire::Version),
        (status = 202, description = "The approval is kept; others have to approve as well.", body = wire::Approved),
    ),
    extensions(("x-problems" = json!([
        "unknown-catalog", "unknown-draft", "draft-decided", "stale-draft", "absolute-finding", "policy-blocks",
        "change-rejected", "own-draft", "too-many-tools", "busy", "empty-reason", "invalid-reason", "stale-etag",
        "draft-edited"
    ]))),
)]
pub(super) async fn approve_draft(
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
    if_match: IfMatch,
    By { app, actor }: By,
    Body(body): Body<ApproveBody>,
) -> Result<Response, Error> {
    let seen = unchanged(&app, &catalog, draft, &if_match).await?;
    let (accept, why) = (body.accept_breaking, body.reason.as_str());
    let approved = app.approve_seen(&catalog, draft.0, Some(&seen), accept, why, &actor).await?;
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
    extensions(("x-problems" = json!([
        "unknown-catalog", "unknown-draft", "draft-decided", "empty-reason", "invalid-reason", "stale-etag",
        "draft-edited"
    ]))),
)]
pub(super) async fn reject_draft(
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
    if_match: IfMatch,
    By { app, actor }: By,
    Body(body): Body<RejectBody>,
) -> Result<Tagged<wire::Draft>, Error> {
    let seen = unchanged(&app, &catalog, draft, &if_match).await?;
    Ok(Tagged(app.reject_seen(&catalog, draft.0, Some(&seen), &body.reason, &actor).await?.into()))
}

/// One operation of a JSON Patch (RFC 6902). Paths lead into the draft: `/members/0/status`.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(super) enum PatchOperation {
    Add { path: String, value: Value },
    Remove { path: String },
    Replace { path: String, value: Value },
    Move { from: String, path: String },
    Copy { from: String, path: String },
    Test { path: String, value: Value },
}

/// Edits a pending draft by a JSON Patch (RFC 6902).
///
/// A member may be taken out, taken in again, given another `status`, or a higher `contractVersion`; what it is, and where it
/// came from, is the servers' word. The draft is judged anew, its editor is an author of it from then on, and approvals of
/// what it held before count no more.
#[utoipa::path(
    patch, path = "/api/v1/catalogs/{catalog}/drafts/{draft}", tag = "drafts",
    params(
        ("catalog" = schema::CatalogName, Path, description = "The catalog's name.", example = "orders"),
        ("draft" = schema::DraftNumber, Path, description = "The draft's number.", example = "d-3"),
    ),
    request_body(content = Vec<PatchOperation>, content_type = "application/json-patch+json", example = json!([
        {"op": "test", "path": "/members/0/tool", "value": "order_query"},
        {"op": "replace", "path": "/members/0/status", "value": "experimental"},
    ])),
    responses((status = 200, description = "The draft as it is now.", body = wire::Draft)),
    extensions(("x-problems" = json!([
        "unknown-catalog", "unknown-draft", "draft-decided", "bad-patch", "bad-edit", "nothing-changed", "no-snapshot",
        "contract-not-stored", "stale-etag", "draft-edited"
    ]))),
)]
pub(super) async fn edit_draft(
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
    if_match: IfMatch,
    By { app, actor }: By,
    PatchBody(patch): PatchBody<PatchOperation>,
) -> Result<Tagged<wire::Draft>, Error> {
    let seen = unchanged(&app, &catalog, draft, &if_match).await?;
    let patch = serde_json::to_value(&patch)
        .map_err(|e| AppError::new(Kind::Internal, "internal", format!("a patch is no JSON: {e}")))?;
    Ok(Tagged(app.edit(&catalog, draft.0, Some(&seen), &patch, &actor).await?.into()))
}

/// Refuses a decision on another state of a draft than the one that was read. What the draft holds in that state.
async fn unchanged(
    app: &App,
    catalog: &CatalogName,
    draft: DraftId,
    seen: &IfMatch,
) -> Result<Digest, Error> {
    let now = app.get_draft(catalog, draft.0).await?;
    let digest = now.digest.clone();
    seen.check(&format!("draft `d-{}`", draft.0), &tag(&wire::Draft::from(now))?)?;
    Ok(digest)
}
