//! Environments: where they point, what is live there, and the moves.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use super::{
    ACTOR, Error,
    extract::{Body, Generation, IdempotencyKey, Path, Query},
    wire,
};
use crate::{
    app::{App, AppError, Kind, MoveRequest, Overrides, view},
    catalog::{CatalogVersion, Move},
    name::{CatalogName, EnvironmentName},
};

/// Every environment and catalog.
pub(super) async fn list_environments(
    State(app): State<App>,
) -> Result<Json<wire::Items<wire::Environment>>, Error> {
    Ok(Json(wire::Items::of(app.environments().await?)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CatalogQuery {
    catalog: Option<CatalogName>,
}

/// One environment. Where one catalog lives there (or is asked for), its generation is the ETag.
pub(super) async fn get_environment(
    State(app): State<App>,
    Path(environment): Path<EnvironmentName>,
    Query(query): Query<CatalogQuery>,
) -> Result<Response, Error> {
    let pages = pages(&app, &environment, query.catalog.as_ref()).await?;
    let generation = match pages.as_slice() {
        [page] => Some(page.pointer.generation),
        _ => None,
    };
    let answer = Json(wire::Items::<wire::Environment>::of(pages));
    Ok(match generation {
        Some(generation) => ([(header::ETAG, generation_tag(generation))], answer).into_response(),
        None => answer.into_response(),
    })
}

/// What is live: the members of the version the environment points to, for whoever serves tools by it.
pub(super) async fn get_live_catalog(
    State(app): State<App>,
    Path(environment): Path<EnvironmentName>,
    Query(query): Query<CatalogQuery>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let pages = pages(&app, &environment, query.catalog.as_ref()).await?;
    let [page] = pages.as_slice() else {
        let names: Vec<_> = pages.iter().map(|p| format!("`{}`", p.pointer.catalog)).collect();
        let message =
            format!("environment `{environment}` holds {} catalogs: {}", names.len(), names.join(", "));
        return Err(AppError::new(Kind::Invalid, "ambiguous-catalog", message)
            .help("add `?catalog=NAME`")
            .into());
    };
    let etag = format!("\"{}\"", page.pointer.digest);
    let caching = [(header::ETAG, etag.clone()), (header::CACHE_CONTROL, "no-cache".to_owned())];
    let known = headers.get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if known.split(',').map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag) {
        return Ok((StatusCode::NOT_MODIFIED, caching).into_response());
    }
    let version = app.version(&page.pointer.catalog, page.pointer.version).await?;
    Ok((caching, Json(wire::Version::from(version))).into_response())
}

async fn pages(
    app: &App,
    environment: &EnvironmentName,
    catalog: Option<&CatalogName>,
) -> Result<Vec<view::EnvironmentPage>, Error> {
    let mut pages = app.environment(environment).await?;
    if let Some(catalog) = catalog {
        pages.retain(|p| p.pointer.catalog == *catalog);
        if pages.is_empty() {
            let message = format!("catalog `{catalog}` was never live in environment `{environment}`");
            return Err(AppError::new(Kind::NotFound, "never-promoted", message).into());
        }
    }
    Ok(pages)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct MoveBody {
    catalog: Option<CatalogName>,
    version: CatalogVersion,
    reason: String,
    /// Promotions only: go on where the servers serve something else, and record what.
    #[serde(default)]
    record_probe: bool,
    /// Rollbacks only: go on whatever freezes and the policy say.
    #[serde(default)]
    emergency: bool,
}

impl MoveBody {
    fn request(self, environment: EnvironmentName, generation: i64, key: Option<String>) -> MoveRequest {
        MoveRequest {
            environment,
            catalog: self.catalog,
            version: self.version,
            generation,
            reason: self.reason,
            actor: ACTOR.to_owned(),
            idempotency_key: key,
            overrides: Overrides { record_probe: self.record_probe, emergency: self.emergency },
        }
    }
}

/// Moves the pointer to an approved version.
pub(super) async fn promote_version(
    State(app): State<App>,
    Path(environment): Path<EnvironmentName>,
    Generation(generation): Generation,
    IdempotencyKey(key): IdempotencyKey,
    Body(body): Body<MoveBody>,
) -> Result<Response, Error> {
    Ok(moved(app.promote(&body.request(environment, generation, key)).await?))
}

/// Moves the pointer back to a version that was live there before.
pub(super) async fn rollback_version(
    State(app): State<App>,
    Path(environment): Path<EnvironmentName>,
    Generation(generation): Generation,
    IdempotencyKey(key): IdempotencyKey,
    Body(body): Body<MoveBody>,
) -> Result<Response, Error> {
    Ok(moved(app.rollback(&body.request(environment, generation, key)).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReleaseBody {
    catalog: Option<CatalogName>,
    version: Option<CatalogVersion>,
    reason: String,
}

/// Lets a held version be promoted again.
pub(super) async fn release_hold(
    State(app): State<App>,
    Path(environment): Path<EnvironmentName>,
    Generation(generation): Generation,
    Body(body): Body<ReleaseBody>,
) -> Result<StatusCode, Error> {
    app.release_hold(&environment, body.catalog.as_ref(), body.version, generation, &body.reason, ACTOR)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

fn moved(done: Move) -> Response {
    ([(header::ETAG, generation_tag(done.generation))], Json(wire::Move::from(done))).into_response()
}

fn generation_tag(generation: i64) -> String {
    format!("\"{generation}\"")
}
