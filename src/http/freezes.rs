//! Freezes: where nothing moves for now, but for an emergency.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    Error,
    extract::{Body, By, Path},
    wire::{self, schema},
};
use crate::name::{CatalogName, EnvironmentName};

/// A freeze, or its end.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FreezeBody {
    /// Only this catalog; all that are live there where absent.
    #[schema(value_type = Option<schema::CatalogName>)]
    catalog: Option<CatalogName>,
    /// Why, for whoever reads the history.
    #[schema(pattern = r"\S")]
    reason: String,
}

/// Freezes an environment, or one catalog in it.
///
/// Nothing is promoted there and nothing rolled back until it is unfrozen; a rollback that says that it is an `emergency` goes on.
#[utoipa::path(
    post, path = "/api/v1/environments/{environment}/freeze", tag = "environments",
    params(("environment" = schema::EnvironmentName, Path, description = "The environment's name.", example = "staging")),
    request_body(content = FreezeBody, example = json!({"reason": "the week of the sale"})),
    responses((status = 201, description = "The freeze.", body = wire::Freeze)),
    extensions(("x-problems" = json!(["unknown-environment", "unknown-catalog", "frozen-already", "empty-reason", "invalid-reason"]))),
)]
pub(super) async fn freeze_environment(
    Path(environment): Path<EnvironmentName>,
    By { app, actor }: By,
    Body(body): Body<FreezeBody>,
) -> Result<Response, Error> {
    let freeze = app.freeze(&environment, body.catalog.as_ref(), &body.reason, &actor).await?;
    Ok((StatusCode::CREATED, Json(wire::Freeze::from(freeze))).into_response())
}

/// Ends a freeze.
///
/// Each freeze ends by itself: that of one catalog is another one than that of the whole environment.
#[utoipa::path(
    post, path = "/api/v1/environments/{environment}/unfreeze", tag = "environments",
    params(("environment" = schema::EnvironmentName, Path, description = "The environment's name.", example = "staging")),
    request_body(content = FreezeBody, example = json!({"reason": "the sale is over"})),
    responses((status = 204, description = "It is not frozen any more.")),
    extensions(("x-problems" = json!(["not-frozen", "empty-reason", "invalid-reason"]))),
)]
pub(super) async fn unfreeze_environment(
    Path(environment): Path<EnvironmentName>,
    By { app, actor }: By,
    Body(body): Body<FreezeBody>,
) -> Result<StatusCode, Error> {
    app.unfreeze(&environment, body.catalog.as_ref(), &body.reason, &actor).await?;
    Ok(StatusCode::NO_CONTENT)
}
