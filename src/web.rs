//! The pages: rendered here, whole, without scripts. One file per page.
//!
//! A thin face, as the API is: it reads a form, calls one use case and shows the answer; it never touches the store.
//! Whatever a server wrote is hostile: it is escaped, its invisible characters are made visible (`text`), it is cut
//! where it is endless, and it never becomes a link or an image. Who clicks is always `web` until people sign in.

mod assets;
mod catalogs;
mod diffs;
mod drafts;
mod environments;
mod error;
mod events;
#[expect(unreachable_pub, reason = "`filter_fn` writes a public type for each filter")]
mod filters;
mod overview;
mod page;
mod report;
mod rules;
mod servers;
mod text;
mod tools;
mod versions;

use axum::{
    Router,
    http::{HeaderName, HeaderValue, header},
    routing::{get, post},
};
use tower_http::set_header::SetResponseHeaderLayer;

use crate::app::App;

/// What the audit log calls somebody at a page until people sign in.
const ACTOR: &str = "web";

/// Nothing but our own stylesheet and mark is loaded, and forms go nowhere else.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; \
     frame-ancestors 'none'; base-uri 'none'";

/// The pages, their forms and their stylesheet; whatever else is asked for gets a page that helps.
pub fn router(app: App) -> Router {
    let pages = Router::new()
        .route("/", get(overview::show_overview))
        .route("/servers", get(servers::show_servers))
        .route("/servers/{server}", get(servers::show_server))
        .route("/servers/{server}/tools/{tool}", get(tools::show_tool))
        .route("/catalogs", get(catalogs::show_catalogs))
        .route("/catalogs/{catalog}", get(catalogs::show_catalog))
        .route("/catalogs/{catalog}/versions/{version}", get(versions::show_version))
        .route("/catalogs/{catalog}/drafts/{draft}", get(drafts::show_draft))
        .route("/environments", get(environments::show_environments))
        .route("/environments/{environment}", get(environments::show_environment))
        .route("/diff", get(diffs::show_diff))
        .route("/events", get(events::show_events))
        .route("/rules", get(rules::show_rules))
        .route("/rules/{rule}", get(rules::show_rule));

    let forms = Router::new()
        .route("/catalogs/{catalog}/drafts/{draft}/approve", post(drafts::approve_draft))
        .route("/catalogs/{catalog}/drafts/{draft}/reject", post(drafts::reject_draft))
        .route("/catalogs/{catalog}/versions/{version}/promote", post(versions::promote_first))
        .route("/environments/{environment}/promote", post(environments::promote_version))
        .route("/environments/{environment}/rollback", post(environments::rollback_version))
        .route("/environments/{environment}/release-hold", post(environments::release_hold));

    let assets = Router::new()
        .route("/assets/app.css", get(assets::get_stylesheet))
        .route("/assets/mark.svg", get(assets::get_mark));

    pages
        .merge(forms)
        .merge(assets)
        .method_not_allowed_fallback(error::wrong_method)
        .fallback(error::unknown_page)
        .layer(fixed(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY))
        .layer(fixed(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .layer(fixed(header::REFERRER_POLICY, "no-referrer"))
        .with_state(app)
}

fn fixed(name: HeaderName, value: &'static str) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value))
}
