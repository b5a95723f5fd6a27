//! Drafts and the decision on them.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use super::{
    ACTOR, Error,
    extract::{Body, DraftId, Path},
    wire,
};
use crate::{
    app::App,
    name::{CatalogName, ServerName},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateBody {
    #[serde(default)]
    servers: Vec<ServerName>,
}

/// Makes a draft from the latest snapshots of the catalog's servers.
pub(super) async fn create_draft(
    State(app): State<App>,
    Path(catalog): Path<CatalogName>,
    Body(body): Body<CreateBody>,
) -> Result<Response, Error> {
    let draft = app.draft(&catalog, &body.servers, ACTOR).await?;
    let location = format!("/api/v1/catalogs/{}/drafts/{}", draft.catalog, draft.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(wire::Draft::from(draft))).into_response())
}

/// One draft with its report.
pub(super) async fn get_draft(
    State(app): State<App>,
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
) -> Result<Json<wire::Draft>, Error> {
    Ok(Json(app.get_draft(&catalog, draft.0).await?.into()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ApproveBody {
    reason: String,
    #[serde(default)]
    accept_breaking: bool,
}

/// Makes a draft an approved version.
pub(super) async fn approve_draft(
    State(app): State<App>,
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
    Body(body): Body<ApproveBody>,
) -> Result<Response, Error> {
    let approved = app.approve(&catalog, draft.0, body.accept_breaking, &body.reason, ACTOR).await?;
    let Some(version) = approved.version else {
        return Ok((StatusCode::ACCEPTED, Json(wire::Approved::from(approved))).into_response());
    };
    let location = format!("/api/v1/catalogs/{}/versions/{}", version.catalog, version.version);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(wire::Version::from(version)))
        .into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RejectBody {
    reason: String,
}

/// Refuses a draft, for good.
pub(super) async fn reject_draft(
    State(app): State<App>,
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
    Body(body): Body<RejectBody>,
) -> Result<Json<wire::Draft>, Error> {
    Ok(Json(app.reject(&catalog, draft.0, &body.reason, ACTOR).await?.into()))
}
