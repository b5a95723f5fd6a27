//! Whatever a server wrote is shown as text: escaped, with what nobody sees made visible, and cut.

use axum::http::StatusCode;

use super::check;
use crate::{
    ask::{answer, get},
    seed,
};

#[tokio::test]
async fn nothing_a_server_wrote_becomes_markup() {
    let app = seed::hostile().await;
    let tool: String = seed::HOSTILE.bytes().map(|b| format!("%{b:02X}")).collect();
    for path in [
        "/".to_owned(),
        "/servers".to_owned(),
        "/servers/evil".to_owned(),
        format!("/servers/evil/tools/{tool}"),
        "/catalogs/shop".to_owned(),
        "/catalogs/shop/versions/2026.11.30".to_owned(),
        "/catalogs/shop/drafts/1".to_owned(),
        "/catalogs/shop/drafts/2".to_owned(),
        "/environments/production".to_owned(),
        "/events".to_owned(),
        "/catalogs/shop/policy?failOn=risky".to_owned(),
        "/search?q=script".to_owned(),
        format!("/servers/evil/tools/{tool}/history"),
        format!("/diff?baseline={tool}&candidate={tool}"),
        format!("/servers/{tool}"),
        format!("/{tool}"),
    ] {
        let page = answer(&app, get(&path)).await;
        let refused = path.contains(&tool) && !path.contains("/tools/");
        assert_eq!(page.status == StatusCode::OK, !refused, "{path}: {}", page.body);
        check(&path, &page);
        for raw in ["<script>", "<img src=x", "href=\"https:", "\u{202e}", "\u{200b}", "\u{7}"] {
            assert!(!page.body.contains(raw), "{path} holds {raw:?}");
        }
        // An address is shown as it was asked for, percent-encoded.
        let shown = path.starts_with("/%") || page.body.contains("&#60;script&#62;");
        assert!(shown, "{path} does not show what was written");
        assert!(page.body.len() < 300_000, "{path} has {} bytes", page.body.len());
    }
}

#[tokio::test]
async fn invisible_characters_are_shown() {
    let app = seed::hostile().await;
    let page = answer(&app, get("/catalogs/shop/drafts/2")).await.body;
    for shown in ["U+202E</mark>", "U+200B</mark>", "U+0007</mark>"] {
        assert!(page.contains(shown), "{shown}");
    }
}

#[tokio::test]
async fn an_endless_description_is_cut_and_says_so() {
    let app = seed::hostile().await;
    let tool: String = seed::HOSTILE.bytes().map(|b| format!("%{b:02X}")).collect();
    let page = answer(&app, get(&format!("/servers/evil/tools/{tool}"))).await.body;
    assert!(page.contains("more characters</span>"), "it is not cut");
}
