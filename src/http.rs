//! The HTTP API under `/api/v1`: the route table, grouped by caller, and the layers that the API and the pages share.
//!
//! A thin face: it reads a request strictly, calls one use case and translates the answer. It never decides anything
//! and never touches the store. Who calls, and whether they may, says `guard`; each route names what it needs.

mod catalogs;
mod checks;
mod codes;
mod conditional;
mod connections;
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
mod metrics;
pub mod openapi;
mod reviews;
mod servers;
mod settings;
mod signatures;
mod table;
mod teams;
mod tokens;
mod webhooks;
pub mod wire;

use std::sync::LazyLock;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    http::Method,
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse as _, Response},
    routing::{any, get},
};
use utoipa_axum::{router::UtoipaMethodRouterExt as _, routes};

pub use connections::{Bounds, serve};
pub use error::Error;
pub use layers::{layers, service};

use self::table::{Routes, Table};
use crate::{
    access::Right::{Administer, Configure, Draft, Promote, Read, Review, RollBack},
    app::App,
    guard::{
        self,
        Need::{self, Anybody, Nobody, Right},
        Reach::{Catalog, Environment, Everything, Nothing, WholeEnvironment},
        Row,
    },
};

/// Two tool lists fit in this, unless they are among the largest that are read from a server: those are for the command
/// line, which has no other callers to think of.
const DIFF_BYTES: usize = 16 << 20;

/// The API. What no route matches under `/api` is a problem document; everything else is the pages' business.
pub fn router(app: App) -> Router {
    metrics::begin();
    let strangers = Router::new()
        .route("/api", any(error::unknown_route))
        .route("/api/", any(error::unknown_route))
        .route("/api/{*rest}", any(error::unknown_route))
        .layer(from_fn(known));
    TABLE
        .router
        .clone()
        .merge(strangers)
        .method_not_allowed_fallback(error::wrong_method)
        .layer(from_fn_with_state(app.clone(), once_or_not_at_all))
        .merge(Router::new().route("/api/docs", get(docs::show_docs)).layer(from_fn(known)))
        .merge(Router::new().route("/metrics", get(metrics::get_metrics)).layer(from_fn(reads_all)))
        .with_state(app)
}

/// What is answered, how it is described, and what it needs: one and the same table, made once.
static TABLE: LazyLock<Table> = LazyLock::new(|| routes().made());

/// What each route needs, for whoever holds it against the callers that there are.
#[must_use]
pub fn needs() -> &'static [Row] {
    &TABLE.rows
}

/// The table, grouped by caller.
fn routes() -> Routes {
    const ADMINISTER: Need = Right(Administer, Everything);
    let everything = Right(Read, Everything);
    let catalog = Right(Read, Catalog);
    let judge = Right(Read, Nothing);
    let draft = Right(Draft, Catalog);
    let review = Right(Review, Catalog);

    Routes::new()
        // Readers.
        .at(everything, routes!(servers::list_servers))
        .at(everything, routes!(servers::get_server))
        .at(everything, routes!(servers::list_snapshots))
        .at(everything, routes!(catalogs::list_catalogs))
        .at(catalog, routes!(catalogs::get_catalog))
        .at(Right(Configure, Catalog), routes!(settings::put_catalog))
        .at(catalog, routes!(catalogs::list_versions))
        .at(catalog, routes!(catalogs::get_version))
        .at(catalog, routes!(signatures::list_version_signatures))
        .at(everything, routes!(environments::list_environments))
        .at(Right(Read, WholeEnvironment), routes!(environments::get_environment))
        .at(Right(Read, WholeEnvironment), routes!(environments::list_moves))
        .at(Right(Read, WholeEnvironment), routes!(signatures::list_pointer_signatures))
        .at(everything, routes!(events::list_events))
        .at(everything, routes!(events::stream_events))
        .at(Anybody, routes!(openapi::get_openapi))
        // Hosts.
        .at(Right(Read, Environment), routes!(live::get_live_catalog))
        .at(judge, routes!(diffs::verify_tools).layer(DefaultBodyLimit::max(DIFF_BYTES)))
        // Builds.
        .at(judge, routes!(diffs::make_diff).layer(DefaultBodyLimit::max(DIFF_BYTES)))
        .at(Right(Draft, Nothing), routes!(checks::create_check).layer(DefaultBodyLimit::max(DIFF_BYTES)))
        // The use case leaves out what lies outside of the caller's scope.
        .at(judge, routes!(checks::list_checks))
        .at(judge, routes!(checks::get_check))
        // Authors and reviewers.
        .at(catalog, routes!(drafts::list_drafts))
        .at(draft, routes!(drafts::create_draft))
        .at(catalog, routes!(drafts::get_draft))
        .at(draft, routes!(drafts::edit_draft))
        .at(catalog, routes!(reviews::get_review))
        .at(draft, routes!(reviews::create_comment))
        .at(catalog, routes!(decisions::list_decisions))
        .at(review, routes!(decisions::create_decisions))
        .at(review, routes!(drafts::approve_draft))
        .at(review, routes!(drafts::reject_draft))
        // Operators.
        .at(Right(Read, Environment), routes!(environments::preflight_move))
        .at(Right(RollBack, Environment), routes!(freezes::freeze_environment))
        .at(Right(Promote, Environment), routes!(freezes::unfreeze_environment))
        .at(Right(Promote, Environment), routes!(environments::promote_version))
        .at(Right(RollBack, Environment), routes!(environments::rollback_version))
        .at(Right(Promote, Environment), routes!(environments::release_hold))
        // Everybody, about themselves; admins, about everybody.
        .at(Anybody, routes!(tokens::get_caller))
        .at(Anybody, routes!(tokens::list_tokens))
        .at(Anybody, routes!(tokens::create_token))
        .at(Anybody, routes!(tokens::get_token))
        .at(Anybody, routes!(tokens::revoke_token))
        .at(everything, routes!(teams::list_teams))
        .at(everything, routes!(teams::get_team))
        .at(ADMINISTER, routes!(teams::put_team))
        .at(ADMINISTER, routes!(teams::remove_team))
        .at(ADMINISTER, routes!(webhooks::list_webhooks))
        .at(ADMINISTER, routes!(webhooks::create_webhook))
        .at(ADMINISTER, routes!(webhooks::get_webhook))
        .at(ADMINISTER, routes!(webhooks::change_webhook))
        .at(ADMINISTER, routes!(webhooks::remove_webhook))
        .at(ADMINISTER, routes!(webhooks::rotate_webhook))
        .at(ADMINISTER, routes!(webhooks::ping_webhook))
        .at(ADMINISTER, routes!(webhooks::list_deliveries))
        .at(ADMINISTER, routes!(webhooks::resend_delivery))
        // Probes.
        .at(Nobody, routes!(health::get_livez))
        .at(Nobody, routes!(health::get_readyz))
}

/// A POST with a key is answered once, and what is read is left out where the caller has it.
async fn once_or_not_at_all(State(app): State<App>, request: Request, next: Next) -> Response {
    // What writes nothing is done again as well as told again, and its answers are large.
    let path = request.uri().path();
    let judges = matches!(path, "/api/v1/diff" | "/api/v1/verify") || path.ends_with("/preflight");
    if *request.method() == Method::POST && judges {
        return match idempotency::key(request.headers()) {
            Ok(_) => next.run(request).await,
            Err(e) => e.into_response(),
        };
    }
    if *request.method() == Method::POST {
        return idempotency::once(State((app, most_bytes)), request, next).await;
    }
    conditional::not_modified(request, next).await
}

/// What stands beside the table lets through whoever is known.
async fn known(request: Request, next: Next) -> Response {
    guard::needs(Anybody, request, next, table::denied).await
}

/// The same for whoever may look at everything.
async fn reads_all(request: Request, next: Next) -> Response {
    guard::needs(Right(Read, Everything), request, next, table::denied).await
}

/// The largest body that a route reads.
fn most_bytes(path: &str) -> usize {
    let is_large = matches!(path, "/api/v1/diff" | "/api/v1/verify" | "/api/v1/checks");
    if is_large { DIFF_BYTES } else { layers::BODY_BYTES }
}
