//! The pages, asked without sockets: what holds for all of them, and in the files what each form does.

mod announced;
mod browser;
mod forms;
mod hostile;
mod html;
mod policy;
mod report;
mod servers;
mod settings;

use std::{collections::BTreeSet, fs, path::Path};

use axum::http::{Method, StatusCode};

use crate::{
    ask::{Answer, answer, get},
    seed,
};

/// Every page of the story.
const PAGES: [&str; 40] = [
    "/",
    "/servers",
    "/servers/orders",
    "/servers/billing",
    "/servers/orders/tools/order_query",
    "/catalogs",
    "/catalogs/shop",
    "/catalogs/shop/versions/2026.11.28",
    "/catalogs/shop/drafts/1",
    "/catalogs/shop/drafts/4",
    "/catalogs/shop/drafts/4?assume=strict",
    "/catalogs/shop/drafts/4?show=json",
    "/catalogs/shop/drafts/4?show=patch&assume=strict",
    "/environments",
    "/environments/production",
    "/environments/staging/preflight?kind=rollback&catalog=shop&version=2026.11.26",
    "/environments/staging/preflight?kind=promote&catalog=shop&version=2026.11.26",
    "/environments/staging?catalog=shop&version=2026.11.26",
    "/diff",
    "/diff?baseline=staging&candidate=production&assume=strict",
    "/events?verify=1",
    "/rules",
    "/rules/enum-value-removed",
    "/events?kind=draft.&actor=poller",
    "/events?before=3",
    "/tokens",
    "/teams",
    "/webhooks",
    "/waivers",
    "/catalogs/shop/policy",
    "/catalogs/shop/policy?assume=strict&failOn=risky",
    "/import",
    "/servers?outcome=unavailable",
    "/servers?transport=stdio&tokens=1",
    "/servers?name=ord&after=billing",
    "/servers/orders/tools/order_query/history",
    "/checks",
    "/checks?catalog=shop&environment=production&repository=acme/orders&branch=main&verdict=breaking&before=9",
    "/search",
    "/search?q=order",
];

/// What holds for every page, whatever it shows.
fn check(path: &str, page: &Answer) {
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8", "{path}");
    html::check(path, &page.body);
    let policy = page.header("content-security-policy");
    for part in [
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ] {
        assert!(policy.contains(part), "{path}: {policy}");
    }
    assert!(!policy.contains("unsafe"), "{path}: {policy}");
    assert_eq!(page.header("x-content-type-options"), "nosniff", "{path}");
    assert_eq!(page.header("referrer-policy"), "no-referrer", "{path}");
}

#[tokio::test]
async fn every_page_renders() {
    let app = seed::story().await;
    for path in PAGES {
        let page = answer(&app, get(path)).await;
        assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.body);
        check(path, &page);
    }
}

#[tokio::test]
async fn pages_of_a_new_service_say_how_to_begin() {
    let app = seed::empty().await;
    for path in [
        "/",
        "/servers",
        "/catalogs",
        "/environments",
        "/diff",
        "/events",
        "/tokens",
        "/teams",
        "/webhooks",
        "/waivers",
        "/checks",
    ] {
        let page = answer(&app, get(path)).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        check(path, &page);
    }
    let overview = answer(&app, get("/")).await.body;
    for step in ["toolpact snapshot orders", "toolpact draft shop", "toolpact approve shop"] {
        assert!(overview.contains(step), "{step}");
    }
}

#[tokio::test]
async fn every_link_leads_somewhere() {
    let app = seed::story().await;
    let (mut seen, mut next) = (BTreeSet::new(), vec!["/".to_owned()]);
    while let Some(path) = next.pop() {
        let path = path.split('#').next().unwrap_or_default().to_owned();
        if path.is_empty() || !seen.insert(path.clone()) {
            continue;
        }
        assert!(path.starts_with('/') && !path.starts_with("//"), "`{path}` leads elsewhere");
        let page = answer(&app, get(&path)).await;
        assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.body);
        next.extend(html::values(&page.body, "href").map(|v| v.replace("&amp;", "&").replace("&#38;", "&")));
    }
    for path in ["/assets/app.css", "/rules/enum-value-removed"] {
        assert!(seen.contains(path), "{path} is not linked: {seen:?}");
    }
    let strict =
        |path: &String| path.starts_with("/catalogs/shop/drafts/4?") && path.ends_with("&assume=strict");
    assert!(seen.iter().any(strict), "the other assumption is not linked: {seen:?}");
}

#[tokio::test]
async fn pages_that_say_no_help() {
    let app = seed::story().await;
    for (path, status, says) in [
        ("/nothing", StatusCode::NOT_FOUND, "No page lives at"),
        ("/catalogs/shp", StatusCode::NOT_FOUND, "did you mean <code>shop</code>?"),
        ("/catalogs/shop/drafts/77", StatusCode::NOT_FOUND, "Its newest draft is d-4"),
        ("/servers/orders/tools/order_qery", StatusCode::NOT_FOUND, "lists no tool"),
        ("/environments/prod", StatusCode::NOT_FOUND, "Known: production, staging"),
        ("/catalogs/shop/versions/soon", StatusCode::BAD_REQUEST, "is no catalogVersion"),
        (
            "/catalogs/shop/drafts/4?assume=hope",
            StatusCode::BAD_REQUEST,
            "query of this address cannot be read",
        ),
        ("/checks/abc", StatusCode::BAD_REQUEST, "<code>abc</code> is no number"),
        (
            "/environments/production/preflight",
            StatusCode::BAD_REQUEST,
            "query of this address cannot be read",
        ),
        ("/events?before=x", StatusCode::BAD_REQUEST, "Follow a link of a page"),
        ("/rules/enum-value-remved", StatusCode::NOT_FOUND, "No rule is called"),
        ("/catalogs/-", StatusCode::BAD_REQUEST, "cannot be the name of a catalog"),
        ("/diff?baseline=nothing&candidate=staging", StatusCode::NOT_FOUND, "nothing"),
    ] {
        let page = answer(&app, get(path)).await;
        assert_eq!(page.status, status, "{path}");
        check(path, &page);
        assert!(page.body.contains(says), "{path}: {}", page.body);
    }
    let page = answer(&app, get("/catalogs").method(Method::DELETE)).await;
    assert_eq!((page.status, page.header("allow")), (StatusCode::METHOD_NOT_ALLOWED, "GET,HEAD"));
    check("DELETE /catalogs", &page);
}

#[tokio::test]
async fn assets_are_sent_once() {
    let app = seed::empty().await;
    for (path, content_type) in [
        ("/assets/app.css", "text/css; charset=utf-8"),
        ("/assets/app.js", "text/javascript; charset=utf-8"),
        ("/assets/mark.svg", "image/svg+xml"),
    ] {
        let asset = answer(&app, get(path)).await;
        assert_eq!((asset.status, asset.header("content-type")), (StatusCode::OK, content_type));
        let again = answer(&app, get(path).header("if-none-match", asset.header("etag"))).await;
        assert_eq!((again.status, again.body.as_str()), (StatusCode::NOT_MODIFIED, ""));
    }
}

#[test]
fn every_template_is_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    let mut templates = Vec::new();
    for folder in ["src/web", "src/http", "templates", "templates/parts", "templates/assets"] {
        for entry in fs::read_dir(root.join(folder)).expect("the folder is there") {
            let path = entry.expect("it can be read").path();
            if path.is_file() {
                text += &fs::read_to_string(&path).expect("it is text");
                if !folder.starts_with("src") {
                    let name = path.strip_prefix(root.join("templates")).expect("it is below");
                    templates.push(name.to_string_lossy().replace('\\', "/"));
                }
            }
        }
    }
    assert!(templates.len() > 15, "{templates:?}");
    for name in templates {
        assert!(text.contains(&format!("{name}\"")), "templates/{name} is used nowhere");
    }
}
