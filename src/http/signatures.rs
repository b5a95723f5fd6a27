//! What was signed of versions and moves.

use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    Error,
    conditional::Tagged,
    extract::{By, Path, Query},
    wire::{self, schema},
};
use crate::{
    catalog::CatalogVersion,
    name::{CatalogName, EnvironmentName},
};

/// Reads what was signed of a version when it was approved or imported.
///
/// Each is a DSSE envelope of an ed25519 key; `toolpact verify-catalog` checks them. Without a key there is none.
#[utoipa::path(
    get, path = "/api/v1/catalogs/{catalog}/versions/{version}/signature", tag = "catalogs",
    params(
        ("catalog" = schema::CatalogName, Path, description = "The catalog's name.", example = "orders"),
        ("version" = schema::CatalogVersion, Path, description = "The version's number.", example = "2026.11.30"),
    ),
    responses((status = 200, description = "What was signed.", body = wire::Items<wire::Signature>)),
    extensions(("x-problems" = json!(["unknown-catalog", "unknown-version"]))),
)]
pub(super) async fn list_version_signatures(
    By { app, .. }: By,
    Path((catalog, version)): Path<(CatalogName, CatalogVersion)>,
) -> Result<Response, Error> {
    let signed = app.version_signatures(&catalog, version).await?;
    Ok(Tagged(wire::Items::<wire::Signature>::of(signed)).into_response())
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PointerQuery {
    /// Only of this catalog.
    #[param(value_type = Option<schema::CatalogName>)]
    catalog: Option<CatalogName>,
}

/// Reads what was signed of the moves that brought an environment's pointers where they are.
///
/// Each names the catalog, the version with its digest, and the generation. Without a key there is none.
#[utoipa::path(
    get, path = "/api/v1/environments/{environment}/signature", tag = "environments",
    params(("environment" = schema::EnvironmentName, Path, description = "The environment's name.", example = "production"), PointerQuery),
    responses((status = 200, description = "What was signed.", body = wire::Items<wire::Signature>)),
    extensions(("x-problems" = json!(["unknown-environment"]))),
)]
pub(super) async fn list_pointer_signatures(
    By { app, .. }: By,
    Path(environment): Path<EnvironmentName>,
    Query(query): Query<PointerQuery>,
) -> Result<Response, Error> {
    let signed = app.pointer_signatures(&environment, query.catalog.as_ref()).await?;
    Ok(Tagged(wire::Items::<wire::Signature>::of(signed)).into_response())
}
