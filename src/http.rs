//! The HTTP API under `/api/v1`: the route table, grouped by caller, and the layers that the API and the pages share.
//!
//! A thin face: it reads a request strictly, calls one use case and translates the answer. It never decides anything
//! and never touches the store. Who calls is always `api` for now: tokens come later, and then name the actor here.

mod catalogs;
mod diffs;
mod drafts;
mod environments;
pub mod error;
mod events;
mod extract;
mod health;
mod layers;
mod servers;
pub mod wire;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{any, get, post},
};

pub use error::Error;
pub use layers::layers;

use crate::app::App;

/// Two tool lists fit in this, unless they are among the largest that are read from a server: those are for the command
/// line, which has no other callers to think of.
const DIFF_BYTES: usize = 16 << 20;

/// What the audit log calls a caller of the API until tokens name one.
const ACTOR: &str = "api";

/// The API. What no route matches under `/api` is a problem document; everything else is the pages' business.
pub fn router(app: App) -> Router {
    let readers = Router::new()
        .route("/api/v1/servers", get(servers::list_servers))
        .route("/api/v1/servers/{server}", get(servers::get_server))
        .route("/api/v1/catalogs", get(catalogs::list_catalogs))
        .route("/api/v1/catalogs/{catalog}", get(catalogs::get_catalog))
        .route("/api/v1/catalogs/{catalog}/versions/{version}", get(catalogs::get_version))
        .route("/api/v1/environments", get(environments::list_environments))
        .route("/api/v1/environments/{environment}", get(environments::get_environment))
        .route("/api/v1/events", get(events::list_events));

    let consumers = Router::new()
        .route("/api/v1/environments/{environment}/catalog", get(environments::get_live_catalog));

    let builds = Router::new()
        .route("/api/v1/diff", post(diffs::make_diff).layer(DefaultBodyLimit::max(DIFF_BYTES)))
        .route("/api/v1/catalogs/{catalog}/drafts", post(drafts::create_draft));

    let reviewers = Router::new()
        .route("/api/v1/catalogs/{catalog}/drafts/{draft}", get(drafts::get_draft))
        .route("/api/v1/catalogs/{catalog}/drafts/{draft}/approve", post(drafts::approve_draft))
        .route("/api/v1/catalogs/{catalog}/drafts/{draft}/reject", post(drafts::reject_draft));

    let operators = Router::new()
        .route("/api/v1/environments/{environment}/promote", post(environments::promote_version))
        .route("/api/v1/environments/{environment}/rollback", post(environments::rollback_version))
        .route("/api/v1/environments/{environment}/release-hold", post(environments::release_hold));

    let probes =
        Router::new().route("/livez", get(health::get_livez)).route("/readyz", get(health::get_readyz));

    let strangers = Router::new()
        .route("/api", any(error::unknown_route))
        .route("/api/", any(error::unknown_route))
        .route("/api/{*rest}", any(error::unknown_route));

    readers
        .merge(consumers)
        .merge(builds)
        .merge(reviewers)
        .merge(operators)
        .merge(probes)
        .merge(strangers)
        .method_not_allowed_fallback(error::wrong_method)
        .with_state(app)
}
