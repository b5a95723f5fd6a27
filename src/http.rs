//! The HTTP API under `/api/v1`: the route table, grouped by caller, and the layers that the API and the pages share.
//!
//! A thin face: it reads a request strictly, calls one use case and translates the answer. It never decides anything
//! and never touches the store. Who calls is `api` for now, or `api:NAME` as the caller says: tokens come later, and then
//! prove the name.

mod catalogs;
mod codes;
mod conditional;
mod cursor;
mod decisions;
mod diffs;
mod docs;
mod drafts;
mod environments;
pub mod error;
mod events;
mod extract;
mod freezes;
mod health;
mod idempotency;
mod layers;
mod live;
pub mod openapi;
mod request_id;
mod reviews;
mod servers;
mod settings;
pub mod wire;

use std::sync::LazyLock;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    http::Method,
    middleware::{Next, from_fn_with_state},
    response::Response,
    routing::{any, get},
};
use utoipa::OpenApi as _;
use utoipa_axum::{
    router::{OpenApiRouter, UtoipaMethodRouterExt as _},
    routes,
};

pub use error::Error;
pub use layers::layers;

use crate::app::App;

/// Two tool lists fit in this, unless they are among the largest that are read from a server: those are for the command
/// line, which has no other callers to think of.
const DIFF_BYTES: usize = 16 << 20;

/// What the audit log calls a caller of the API who says no name.
const ACTOR: &str = "api";

/// The API. What no route matches under `/api` is a problem document; everything else is the pages' business.
pub fn router(app: App) -> Router {
    let strangers = Router::new()
        .route("/api", any(error::unknown_route))
        .route("/api/", any(error::unknown_route))
        .route("/api/{*rest}", any(error::unknown_route));
    TABLE
        .0
        .clone()
        .merge(strangers)
        .method_not_allowed_fallback(error::wrong_method)
        .layer(from_fn_with_state(app.clone(), once_or_not_at_all))
        .merge(Router::new().route("/api/docs", get(docs::show_docs)))
        .with_state(app)
}

/// What is answered, and how it is described: one and the same table, made once.
static TABLE: LazyLock<(Router<App>, utoipa::openapi::OpenApi)> =
    LazyLock::new(|| routes().split_for_parts());

/// The table, grouped by caller.
fn routes() -> OpenApiRouter<App> {
    let readers = OpenApiRouter::with_openapi(openapi::Info::openapi())
        .routes(routes!(servers::list_servers))
        .routes(routes!(servers::get_server))
        .routes(routes!(servers::list_snapshots))
        .routes(routes!(catalogs::list_catalogs))
        .routes(routes!(catalogs::get_catalog, settings::put_catalog))
        .routes(routes!(catalogs::list_versions))
        .routes(routes!(catalogs::get_version))
        .routes(routes!(environments::list_environments))
        .routes(routes!(environments::get_environment))
        .routes(routes!(environments::list_moves))
        .routes(routes!(events::list_events))
        .routes(routes!(openapi::get_openapi));

    let consumers = OpenApiRouter::new()
        .routes(routes!(live::get_live_catalog))
        .routes(routes!(diffs::verify_tools).layer(DefaultBodyLimit::max(DIFF_BYTES)));

    let builds =
        OpenApiRouter::new().routes(routes!(diffs::make_diff).layer(DefaultBodyLimit::max(DIFF_BYTES)));

    let reviewers = OpenApiRouter::new()
        .routes(routes!(drafts::list_drafts, drafts::create_draft))
        .routes(routes!(drafts::get_draft, drafts::edit_draft))
        .routes(routes!(reviews::get_review))
        .routes(routes!(reviews::create_comment))
        .routes(routes!(decisions::list_decisions, decisions::create_decisions))
        .routes(routes!(drafts::approve_draft))
        .routes(routes!(drafts::reject_draft));

    let operators = OpenApiRouter::new()
        .routes(routes!(environments::preflight_move))
        .routes(routes!(freezes::freeze_environment))
        .routes(routes!(freezes::unfreeze_environment))
        .routes(routes!(environments::promote_version))
        .routes(routes!(environments::rollback_version))
        .routes(routes!(environments::release_hold));

    let probes = OpenApiRouter::new().routes(routes!(health::get_livez)).routes(routes!(health::get_readyz));

    readers.merge(consumers).merge(builds).merge(reviewers).merge(operators).merge(probes)
}

/// A POST with a key is answered once, and what is read is left out where the caller has it.
async fn once_or_not_at_all(State(app): State<App>, request: Request, next: Next) -> Response {
    if *request.method() == Method::POST {
        return idempotency::once(State((app, most_bytes)), request, next).await;
    }
    conditional::not_modified(request, next).await
}

/// The largest body that a route reads.
fn most_bytes(path: &str) -> usize {
    if matches!(path, "/api/v1/diff" | "/api/v1/verify") { DIFF_BYTES } else { layers::BODY_BYTES }
}
