//! The pages: rendered here, whole. One file per page. The one script adds keys to what works without it.
//!
//! A thin face, as the API is: it reads a form, calls one use case and shows the answer; it never touches the store.
//! Whatever a server wrote is hostile: it is escaped, its invisible characters are made visible (`text`), it is cut
//! where it is endless, and it never becomes a link or an image. Each page names what it needs of whoever looks at it; who
//! is not signed in is sent to do so.

mod assets;
mod catalogs;
mod checks;
mod decisions;
mod diffs;
mod drafts;
mod environments;
mod error;
mod events;
#[expect(unreachable_pub, reason = "`filter_fn` writes a public type for each filter")]
mod filters;
mod history;
mod import;
mod lines;
mod moves;
mod overview;
mod page;
mod policy;
mod progress;
mod releases;
mod report;
mod review;
mod rules;
mod search;
mod servers;
mod session;
mod table;
mod teams;
mod text;
mod tokens;
mod tools;
mod versions;
mod waivers;
mod webhooks;

use std::sync::LazyLock;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{HeaderName, HeaderValue, header},
    routing::{get, post},
};
use tower_http::set_header::SetResponseHeaderLayer;

use self::table::Pages;
use crate::{
    access::Right::{Administer, Configure, Draft, Promote, Read, Review, RollBack},
    app::App,
    guard::{
        Need::{Anybody, Nobody, Right},
        Reach::{Catalog, Environment, Everything, Nothing, WholeEnvironment},
        Row,
    },
};

/// Nothing but our own stylesheet, script and mark is loaded, and forms go nowhere else.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; \
     frame-ancestors 'none'; base-uri 'none'";

/// The pages, their forms, stylesheet and script; whatever else is asked for gets a page that helps.
pub fn router(app: App) -> Router {
    TABLE
        .router
        .clone()
        .method_not_allowed_fallback(error::wrong_method)
        .fallback(error::unknown_page)
        .layer(fixed(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY))
        .layer(fixed(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .layer(fixed(header::REFERRER_POLICY, "no-referrer"))
        .with_state(app)
}

/// What each page and form needs, for whoever holds it against the callers that there are.
#[must_use]
pub fn needs() -> &'static [Row] {
    &TABLE.rows
}

static TABLE: LazyLock<Pages> = LazyLock::new(pages);

fn pages() -> Pages {
    let look = Right(Read, Everything);
    let look_at_catalog = Right(Read, Catalog);
    let decide = Right(Review, Catalog);
    let administer = Right(Administer, Everything);

    Pages::new()
        .page(look, "/", get(overview::show_overview))
        .page(look, "/servers", get(servers::show_servers))
        .page(look, "/servers/{server}", get(servers::show_server))
        .page(look, "/servers/{server}/tools/{tool}", get(tools::show_tool))
        .page(look, "/catalogs", get(catalogs::show_catalogs))
        .page(look_at_catalog, "/catalogs/{catalog}", get(catalogs::show_catalog))
        .page(look_at_catalog, "/catalogs/{catalog}/versions/{version}", get(versions::show_version))
        .page(
            look_at_catalog,
            "/catalogs/{catalog}/versions/{version}/promote",
            get(versions::plan_promotion),
        )
        .page(look_at_catalog, "/catalogs/{catalog}/drafts/{draft}", get(drafts::show_draft))
        // Of which catalog and environment a check is, the use case knows and asks.
        .page(Right(Read, Nothing), "/checks", get(checks::show_checks))
        .page(Right(Read, Nothing), "/checks/{check}", get(checks::show_check))
        .form(Right(Review, Nothing), "/checks/{check}/decide", post(checks::decide_check))
        .page(look, "/environments", get(environments::show_environments))
        .page(
            Right(Read, WholeEnvironment),
            "/environments/{environment}",
            get(environments::show_environment),
        )
        .page(Right(Read, Environment), "/environments/{environment}/preflight", get(moves::show_preflight))
        .page(look, "/diff", get(diffs::show_diff))
        .page(look, "/events", get(events::show_events))
        .page(Anybody, "/rules", get(rules::show_rules))
        .page(Anybody, "/rules/{rule}", get(rules::show_rule))
        // Decisions.
        .form(decide, "/catalogs/{catalog}/drafts/{draft}/approve", post(drafts::approve_draft))
        .form(decide, "/catalogs/{catalog}/drafts/{draft}/reject", post(drafts::reject_draft))
        .form(decide, "/catalogs/{catalog}/drafts/{draft}/decide", post(decisions::decide_change))
        .form(
            Right(Draft, Catalog),
            "/catalogs/{catalog}/drafts/{draft}/comments",
            post(decisions::comment_draft),
        )
        .form(
            Right(Promote, Environment),
            "/environments/{environment}/promote",
            post(moves::promote_version),
        )
        .form(
            Right(RollBack, Environment),
            "/environments/{environment}/rollback",
            post(moves::rollback_version),
        )
        .form(
            Right(Promote, Environment),
            "/environments/{environment}/release-hold",
            post(environments::release_hold),
        )
        .form(
            Right(RollBack, Environment),
            "/environments/{environment}/freeze",
            post(environments::freeze_environment),
        )
        .form(
            Right(Promote, Environment),
            "/environments/{environment}/unfreeze",
            post(environments::unfreeze_environment),
        )
        // Signing in and out.
        .page(Nobody, "/login", get(session::show_login))
        .form(Nobody, "/login", post(session::sign_in))
        .page(Nobody, "/login/link", get(session::follow_link).head(error::wrong_method))
        .page(Nobody, "/login/oidc", get(session::begin_oidc).head(error::wrong_method))
        .page(Nobody, "/login/oidc/callback", get(session::finish_oidc).head(error::wrong_method))
        .form(Nobody, "/logout", post(session::sign_out))
        // What the page that signs people in is made of.
        .page(Nobody, "/assets/app.css", get(assets::get_stylesheet))
        .page(Nobody, "/assets/app.js", get(assets::get_script))
        .page(Nobody, "/assets/mark.svg", get(assets::get_mark))
        // Tokens, which the use cases show to their owners as well, teams and webhooks.
        .page(Anybody, "/tokens", get(tokens::show_tokens))
        .form(Anybody, "/tokens", post(tokens::create_token))
        .form(Anybody, "/tokens/{token}/revoke", post(tokens::revoke_token))
        .page(look, "/teams", get(teams::show_teams))
        .form(administer, "/teams", post(teams::put_team))
        .form(administer, "/teams/{team}/remove", post(teams::remove_team))
        .page(administer, "/webhooks", get(webhooks::show_webhooks))
        .form(administer, "/webhooks", post(webhooks::create_webhook))
        .page(administer, "/webhooks/{webhook}", get(webhooks::show_webhook))
        .form(administer, "/webhooks/{webhook}/ping", post(webhooks::ping_webhook))
        .form(administer, "/webhooks/{webhook}/state/{state}", post(webhooks::set_state))
        .form(administer, "/webhooks/{webhook}/rotate", post(webhooks::rotate_webhook))
        .form(administer, "/webhooks/{webhook}/remove", post(webhooks::remove_webhook))
        .form(administer, "/webhooks/{webhook}/deliveries/{delivery}/resend", post(webhooks::resend_delivery))
        .page(look, "/waivers", get(waivers::show_waivers))
        .page(look_at_catalog, "/catalogs/{catalog}/policy", get(policy::show_policy))
        .form(Right(Configure, Catalog), "/catalogs/{catalog}/policy", post(policy::set_policy))
        .page(look, "/search", get(search::show_search))
        .page(look, "/servers/{server}/tools/{tool}/history", get(history::show_history))
        .form(Right(Configure, Everything), "/servers", post(servers::add_server))
        .page(Right(Configure, Everything), "/import", get(import::show_import))
        .form(
            Right(Configure, Everything),
            "/import",
            post(import::import_servers).layer(DefaultBodyLimit::max(import::MAX_BYTES)),
        )
        .form(Right(Draft, Everything), "/servers/{server}/snapshot", post(servers::snapshot_server))
}

fn fixed(name: HeaderName, value: &'static str) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value))
}
