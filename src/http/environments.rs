//! Environments: where they point, and the moves.

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{
    Error,
    catalogs::ListQuery,
    conditional::{Generation, bytes, generation_tag, of_bytes, tagged},
    cursor::List,
    extract::{Body, By, IdempotencyKey, Path, Query},
    idempotency::REPLAYED,
    wire::{self, schema},
};
use crate::{
    app::{App, AppError, Kind, MoveRequest, Overrides, ReleaseRequest, lists::MoveKey},
    catalog::{CatalogVersion, Move, MoveKind},
    name::{CatalogName, EnvironmentName},
};

/// Lists environments, by name and catalog.
///
/// Each with what is live, what is held, where it may go and where it was.
#[utoipa::path(
    get, path = "/api/v1/environments", tag = "environments", params(ListQuery),
    responses((status = 200, description = "A page of environments.", body = wire::Items<wire::Environment>)),
    extensions(("x-problems" = json!([]))),
)]
pub(super) async fn list_environments(
    State(app): State<App>,
    Query(query): Query<ListQuery>,
    uri: Uri,
) -> Result<Response, Error> {
    let list = List::new("environments", uri, query.limit, query.cursor.as_deref())?;
    let page = app.environments_page(&list.slice).await?;
    Ok(list.answer::<_, wire::Environment>(page))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CatalogQuery {
    /// Only for this catalog.
    #[param(value_type = Option<schema::CatalogName>)]
    catalog: Option<CatalogName>,
}

/// Reads one environment, an item for each catalog that was ever live there.
///
/// Where that is one (or one is asked for), the ETag begins with its generation, which is what a move is made from.
#[utoipa::path(
    get, path = "/api/v1/environments/{environment}", tag = "environments",
    params(("environment" = schema::EnvironmentName, Path, description = "The environment's name.", example = "production"), CatalogQuery),
    responses((status = 200, description = "The environment.", body = wire::Items<wire::Environment>)),
    extensions(("x-problems" = json!(["unknown-environment", "never-promoted"]))),
)]
pub(super) async fn get_environment(
    State(app): State<App>,
    Path(environment): Path<EnvironmentName>,
    Query(query): Query<CatalogQuery>,
) -> Result<Response, Error> {
    let mut pages = app.environment(&environment).await?;
    if let Some(catalog) = &query.catalog {
        pages.retain(|p| p.pointer.catalog == *catalog);
        if pages.is_empty() {
            let message = format!("catalog `{catalog}` was never live in environment `{environment}`");
            return Err(AppError::new(Kind::NotFound, "never-promoted", message).into());
        }
    }
    let generation = match pages.as_slice() {
        [page] => Some(page.pointer.generation),
        _ => None,
    };
    let bytes = bytes(&wire::Items::<wire::Environment>::of(pages))?;
    let tag = generation.map_or_else(|| of_bytes(&bytes), |generation| generation_tag(generation, &bytes));
    Ok(tagged(&tag, "application/json", bytes))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct MovesQuery {
    /// Only of this catalog.
    #[param(value_type = Option<schema::CatalogName>)]
    catalog: Option<CatalogName>,
    /// How many at most.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// Lists the moves of an environment, the newest first.
#[utoipa::path(
    get, path = "/api/v1/environments/{environment}/moves", tag = "environments",
    params(("environment" = schema::EnvironmentName, Path, description = "The environment's name.", example = "production"), MovesQuery),
    responses((status = 200, description = "A page of moves.", body = wire::Items<wire::Move>)),
    extensions(("x-problems" = json!(["unknown-environment", "never-promoted"]))),
)]
pub(super) async fn list_moves(
    State(app): State<App>,
    Path(environment): Path<EnvironmentName>,
    Query(query): Query<MovesQuery>,
    uri: Uri,
) -> Result<Response, Error> {
    let name = format!("environments/{environment}/moves");
    let list = List::<MoveKey>::new(name, uri, query.limit, query.cursor.as_deref())?;
    let page = app.moves_page(&environment, query.catalog.as_ref(), &list.slice).await?;
    Ok(list.answer::<_, wire::Move>(page))
}

/// A move.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct MoveBody {
    /// May be left out where there is only one.
    #[schema(value_type = Option<schema::CatalogName>)]
    catalog: Option<CatalogName>,
    /// Where to.
    #[schema(value_type = schema::CatalogVersion)]
    version: CatalogVersion,
    /// Why, for whoever reads the history.
    #[schema(pattern = r"\S")]
    reason: String,
    /// Promotions only: go on where the servers serve something else, and record what.
    #[serde(default)]
    record_probe: bool,
    /// Rollbacks only: go on whatever freezes and the policy say.
    #[serde(default)]
    emergency: bool,
}

impl MoveBody {
    fn request(
        self,
        environment: EnvironmentName,
        generation: i64,
        actor: String,
        key: Option<String>,
    ) -> MoveRequest {
        MoveRequest {
            environment,
            catalog: self.catalog,
            version: self.version,
            generation,
            reason: self.reason,
            actor,
            idempotency_key: key,
            overrides: Overrides { record_probe: self.record_probe, emergency: self.emergency },
        }
    }
}

/// Moves the pointer to an approved version.
///
/// From the generation that the caller saw; `"0"` where nothing was ever live. What has to be so for it says `…/preflight`; a
/// refusal names in `gates` all that is not.
#[utoipa::path(
    post, path = "/api/v1/environments/{environment}/promote", tag = "environments",
    params(("environment" = schema::EnvironmentName, Path, description = "The environment's name.", example = "staging")),
    request_body(content = MoveBody, example = json!({"version": "2026.11.30", "reason": "try the additions"})),
    responses((status = 200, description = "The move; its generation is what the next one is made from.", body = wire::Move)),
    extensions(("x-problems" = json!([
        "unknown-environment", "unknown-catalog", "catalog-needed", "stale-generation", "empty-reason", "invalid-reason",
        "unknown-version", "already-live", "held", "emergency-promotion", "frozen", "order", "approvals", "too-many-tools",
        "contracts-unknown", "policy-blocks", "not-served", "busy"
    ]))),
)]
pub(super) async fn promote_version(
    Path(environment): Path<EnvironmentName>,
    Generation(generation): Generation,
    By { app, actor }: By,
    IdempotencyKey(key): IdempotencyKey,
    Body(body): Body<MoveBody>,
) -> Result<Response, Error> {
    let again = is_answered(&app, key.as_deref()).await?;
    Ok(moved(app.promote(&body.request(environment, generation, actor, key)).await?, again))
}

/// Moves the pointer back to a version that was live there before.
///
/// The version that is left is held: it is not promoted again until the hold is released. What is lost by going back, and
/// which servers belong to the target, says `…/preflight`.
#[utoipa::path(
    post, path = "/api/v1/environments/{environment}/rollback", tag = "environments",
    params(("environment" = schema::EnvironmentName, Path, description = "The environment's name.", example = "staging")),
    request_body(content = MoveBody, example = json!({"version": "2026.11.30", "reason": "orders fail since 14:00"})),
    responses((status = 200, description = "The move; its generation is what the next one is made from.", body = wire::Move)),
    extensions(("x-problems" = json!([
        "unknown-environment", "unknown-catalog", "catalog-needed", "stale-generation", "empty-reason", "invalid-reason",
        "unknown-version", "already-live", "never-live", "held", "frozen", "policy-blocks", "busy"
    ]))),
)]
pub(super) async fn rollback_version(
    Path(environment): Path<EnvironmentName>,
    Generation(generation): Generation,
    By { app, actor }: By,
    IdempotencyKey(key): IdempotencyKey,
    Body(body): Body<MoveBody>,
) -> Result<Response, Error> {
    let again = is_answered(&app, key.as_deref()).await?;
    Ok(moved(app.rollback(&body.request(environment, generation, actor, key)).await?, again))
}

/// A move that is not made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct PreflightBody {
    /// How it would move.
    #[schema(value_type = schema::MoveKind)]
    kind: MoveKind,
    /// May be left out where there is only one.
    #[schema(value_type = Option<schema::CatalogName>)]
    catalog: Option<CatalogName>,
    /// Where to.
    #[schema(value_type = schema::CatalogVersion)]
    version: CatalogVersion,
    /// As of the move.
    #[serde(default)]
    record_probe: bool,
    /// As of the move.
    #[serde(default)]
    emergency: bool,
}

/// Says what a move would be judged on, and moves nothing.
///
/// What stands in its way is told by the gates that are neither `passed` nor `overridden`. Registered servers are asked what they
/// serve where the environment demands it and nothing else stands in the way. A move that makes no sense is refused as the move
/// itself is.
#[utoipa::path(
    post, path = "/api/v1/environments/{environment}/preflight", tag = "environments",
    params(("environment" = schema::EnvironmentName, Path, description = "The environment's name.", example = "staging")),
    request_body(content = PreflightBody, example = json!({"kind": "promote", "version": "2026.11.30"})),
    responses((status = 200, description = "What the move would be judged on.", body = wire::Preflight)),
    extensions(("x-problems" = json!([
        "unknown-environment", "unknown-catalog", "catalog-needed", "stale-generation", "unknown-version", "already-live",
        "never-live", "held", "emergency-promotion"
    ]))),
)]
pub(super) async fn preflight_move(
    Path(environment): Path<EnvironmentName>,
    Generation(generation): Generation,
    By { app, actor }: By,
    Body(body): Body<PreflightBody>,
) -> Result<Json<wire::Preflight>, Error> {
    let PreflightBody { kind, catalog, version, record_probe, emergency } = body;
    let request = MoveRequest {
        environment,
        catalog,
        version,
        generation,
        reason: String::new(),
        actor,
        idempotency_key: None,
        overrides: Overrides { record_probe, emergency },
    };
    Ok(Json(app.preflight(kind, &request).await?.into()))
}

/// The release of a hold.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReleaseBody {
    /// May be left out where there is only one.
    #[schema(value_type = Option<schema::CatalogName>)]
    catalog: Option<CatalogName>,
    /// May be left out where only one is held.
    #[schema(value_type = Option<schema::CatalogVersion>)]
    version: Option<CatalogVersion>,
    /// Why, for whoever reads the history.
    #[schema(pattern = r"\S")]
    reason: String,
}

/// Lets a held version be promoted again.
#[utoipa::path(
    post, path = "/api/v1/environments/{environment}/release-hold", tag = "environments",
    params(("environment" = schema::EnvironmentName, Path, description = "The environment's name.", example = "staging")),
    request_body(content = ReleaseBody, example = json!({"reason": "what was wrong is mended"})),
    responses((status = 204, description = "It is not held any more.")),
    extensions(("x-problems" = json!(["unknown-environment", "unknown-catalog", "catalog-needed", "stale-generation", "empty-reason", "invalid-reason", "never-live", "not-held", "version-needed"]))),
)]
pub(super) async fn release_hold(
    Path(environment): Path<EnvironmentName>,
    Generation(generation): Generation,
    By { app, actor }: By,
    IdempotencyKey(key): IdempotencyKey,
    Body(body): Body<ReleaseBody>,
) -> Result<Response, Error> {
    let again = is_answered(&app, key.as_deref()).await?;
    let ReleaseBody { catalog, version, reason } = body;
    let request =
        ReleaseRequest { environment, catalog, version, generation, reason, actor, idempotency_key: key };
    app.release_hold(&request).await?;
    Ok(replayed(StatusCode::NO_CONTENT.into_response(), again))
}

/// Whether something was done under this key before, so that its answer is a repetition.
async fn is_answered(app: &App, key: Option<&str>) -> Result<bool, Error> {
    match key {
        Some(key) => Ok(app.is_answered(key).await?),
        None => Ok(false),
    }
}

fn moved(done: Move, again: bool) -> Response {
    let tag = format!("\"{}\"", done.generation);
    replayed(([(header::ETAG, tag)], Json(wire::Move::from(done))).into_response(), again)
}

fn replayed(mut response: Response, again: bool) -> Response {
    if again {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}
