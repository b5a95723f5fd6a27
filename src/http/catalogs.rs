//! Catalogs and their versions.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use super::{
    Error,
    extract::{Path, Query},
    wire,
};
use crate::{app::App, catalog::CatalogVersion, name::CatalogName};

/// Every catalog, by name.
pub(super) async fn list_catalogs(
    State(app): State<App>,
) -> Result<Json<wire::Items<wire::CatalogSummary>>, Error> {
    Ok(Json(wire::Items::of(app.catalogs().await?)))
}

/// One catalog with its versions and drafts.
pub(super) async fn get_catalog(
    State(app): State<App>,
    Path(catalog): Path<CatalogName>,
) -> Result<Json<wire::Catalog>, Error> {
    Ok(Json(app.catalog(&catalog).await?.into()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VersionQuery {
    format: Option<Format>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    Json,
    Yaml,
}

/// One version, as JSON or as the document that imports it again.
pub(super) async fn get_version(
    State(app): State<App>,
    Path((catalog, version)): Path<(CatalogName, CatalogVersion)>,
    Query(query): Query<VersionQuery>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let accept = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    match query.format {
        None if !accept.contains("yaml") => {}
        Some(Format::Json) => {}
        None | Some(Format::Yaml) => {
            let document = app.export(&catalog, Some(version)).await?;
            let name = format!("inline; filename=\"{catalog}-{version}.yaml\"");
            let headers =
                [(header::CONTENT_TYPE, "application/yaml".to_owned()), (header::CONTENT_DISPOSITION, name)];
            return Ok((headers, document).into_response());
        }
    }
    Ok(Json(wire::Version::from(app.version(&catalog, version).await?)).into_response())
}
