//! Catalogs and their versions.

use std::cmp::Reverse;

use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, Uri, header},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{
    Error,
    conditional::{Tagged, bytes, of_bytes, settings_tag, tagged},
    cursor::List,
    extract::{Path, Query},
    wire::{self, schema},
};
use crate::{
    app::{App, view::CatalogPage},
    catalog::CatalogVersion,
    name::CatalogName,
};

/// What every list takes.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// How many at most.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub(super) limit: Option<usize>,
    /// The `next` of the page before.
    pub(super) cursor: Option<String>,
}

/// Lists catalogs, by name.
///
/// Each with its newest version and the drafts that wait for a decision.
#[utoipa::path(
    get, path = "/api/v1/catalogs", tag = "catalogs", params(ListQuery),
    responses((status = 200, description = "A page of catalogs.", body = wire::Items<wire::CatalogSummary>)),
    extensions(("x-problems" = json!([]))),
)]
pub(super) async fn list_catalogs(
    State(app): State<App>,
    Query(query): Query<ListQuery>,
    uri: Uri,
) -> Result<Response, Error> {
    let list = List::new("catalogs", uri, query.limit, query.cursor.as_deref())?;
    let page = app.catalogs_page(&list.slice).await?;
    Ok(list.answer::<_, wire::CatalogSummary>(page))
}

/// Reads one catalog, with all that it is set to, its versions and drafts, and where it is live.
///
/// The ETag begins with what it is set to, which is what a change is made from.
#[utoipa::path(
    get, path = "/api/v1/catalogs/{catalog}", tag = "catalogs",
    params(("catalog" = schema::CatalogName, Path, description = "The catalog's name.", example = "orders")),
    responses((status = 200, description = "The catalog.", body = wire::Catalog)),
    extensions(("x-problems" = json!(["unknown-catalog"]))),
)]
pub(super) async fn get_catalog(
    State(app): State<App>,
    Path(catalog): Path<CatalogName>,
) -> Result<Response, Error> {
    page(app.catalog(&catalog).await?)
}

/// A catalog under the tag from which it is changed.
pub(super) fn page(catalog: CatalogPage) -> Result<Response, Error> {
    let settings = catalog.catalog.digest();
    let bytes = bytes(&wire::Catalog::from(catalog))?;
    Ok(tagged(&settings_tag(&settings, &bytes), "application/json", bytes))
}

/// Lists the versions of a catalog, the newest first.
#[utoipa::path(
    get, path = "/api/v1/catalogs/{catalog}/versions", tag = "catalogs",
    params(("catalog" = schema::CatalogName, Path, description = "The catalog's name.", example = "orders"), ListQuery),
    responses((status = 200, description = "A page of versions.", body = wire::Items<wire::VersionSummary>)),
    extensions(("x-problems" = json!(["unknown-catalog"]))),
)]
pub(super) async fn list_versions(
    State(app): State<App>,
    Path(catalog): Path<CatalogName>,
    Query(query): Query<ListQuery>,
    uri: Uri,
) -> Result<Response, Error> {
    let name = format!("catalogs/{catalog}/versions");
    let list = List::<Reverse<CatalogVersion>>::new(name, uri, query.limit, query.cursor.as_deref())?;
    let page = app.versions_page(&catalog, &list.slice).await?;
    Ok(list.answer::<_, wire::VersionSummary>(page))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct VersionQuery {
    /// In which form; without it, what `Accept` asks for.
    #[param(inline)]
    format: Option<Format>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    Json,
    Yaml,
}

/// Reads one version, as JSON or as the document that imports it again.
#[utoipa::path(
    get, path = "/api/v1/catalogs/{catalog}/versions/{version}", tag = "catalogs",
    params(
        ("catalog" = schema::CatalogName, Path, description = "The catalog's name.", example = "orders"),
        ("version" = schema::CatalogVersion, Path, description = "The version's number.", example = "2026.11.30"),
        VersionQuery,
    ),
    responses((status = 200, description = "The version.", content(
        (wire::Version = "application/json"),
        (serde_json::Value = "application/yaml"),
    ))),
    extensions(("x-problems" = json!(["unknown-catalog", "unknown-version"]))),
)]
pub(super) async fn get_version(
    State(app): State<App>,
    Path((catalog, version)): Path<(CatalogName, CatalogVersion)>,
    Query(query): Query<VersionQuery>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let accept = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let mut response = match query.format {
        None if !accept.contains("yaml") => json_version(&app, &catalog, version).await?,
        Some(Format::Json) => json_version(&app, &catalog, version).await?,
        None | Some(Format::Yaml) => {
            let document = app.export(&catalog, Some(version)).await?;
            let mut response = tagged(&of_bytes(document.as_bytes()), "application/yaml", document);
            let name = format!("inline; filename=\"{catalog}-{version}.yaml\"");
            if let Ok(name) = HeaderValue::from_str(&name) {
                response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
            }
            response
        }
    };
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

async fn json_version(app: &App, catalog: &CatalogName, version: CatalogVersion) -> Result<Response, Error> {
    Ok(Tagged(wire::Version::from(app.version(catalog, version).await?)).into_response())
}
