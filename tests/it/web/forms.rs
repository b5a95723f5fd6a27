//! What the forms do: a write and a redirection, or the page again with the reason and what was typed.

use axum::http::StatusCode;
use toolpact::app::App;

use super::check;
use crate::{
    ask::{Answer, Ask, answer, get, submit},
    seed,
};

const DRAFT: &str = "/catalogs/shop/drafts/4";

async fn refused(app: &App, ask: Ask, status: StatusCode, says: &[&str]) -> Answer {
    let page = answer(app, ask).await;
    assert_eq!(page.status, status, "{}", page.body);
    check("a form", &page);
    for text in says {
        assert!(page.body.contains(text), "{text} is not in {}", page.body);
    }
    page
}

async fn accepted(app: &App, ask: Ask, to: &str) -> String {
    let answered = answer(app, ask).await;
    assert_eq!(
        (answered.status, answered.header("location")),
        (StatusCode::SEE_OTHER, to),
        "{}",
        answered.body
    );
    let page = answer(app, get(to)).await;
    assert_eq!(page.status, StatusCode::OK);
    page.body
}

#[tokio::test]
async fn a_review_shows_the_proof_and_both_assumptions() {
    let app = seed::story().await;
    let page = answer(&app, get(DRAFT)).await.body;
    for text in [
        "<code>state</code> no longer accepts &#34;all&#34;",
        "accepted by <strong>shop@2026.11.28</strong>",
        "rejected by <strong>shop/d-4</strong> at <code>/state</code>",
        "not admitted by <strong>shop@2026.11.28</strong> at <code>/orders/0/total</code>",
        "<del>newest</del><ins>oldest</ins>",
        "title=\"zero-width character\">U+200B</mark>",
        "href=\"/catalogs/shop/drafts/4?assume=strict\"",
        "Patch of the contract (RFC 6902)",
        "too small a step",
        "name=\"accept_breaking\"",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // The proof stands above the values that it is about.
    assert!(page.find("class=\"witness\"") < page.find("class=\"was-now\""), "{page}");
    // Breaking stands open, compatible is folded in.
    assert_eq!(page.matches("<details open>").count(), 3);
    assert!(page.contains("<details>\n    <summary><h2 id=\"compatible\">"), "{page}");
}

#[tokio::test]
async fn approving_what_breaks_needs_the_box_and_keeps_what_was_typed() {
    let app = seed::story().await;
    let approve = |fields: &[(&str, &str)]| submit(&format!("{DRAFT}/approve"), fields);
    refused(&app, approve(&[("reason", "")]), StatusCode::BAD_REQUEST, &["The reason is empty"]).await;
    let says = ["is blocked by the catalog&#39;s policy", ">all callers moved</textarea>"];
    refused(&app, approve(&[("reason", "all callers moved")]), StatusCode::UNPROCESSABLE_ENTITY, &says).await;
    let all = [("reason", "all callers moved"), ("accept_breaking", "on")];
    let page = accepted(&app, approve(&all), "/catalogs/shop/versions/2026.11.30").await;
    assert!(page.contains("all callers moved"));
    refused(&app, approve(&all), StatusCode::CONFLICT, &["is approved already"]).await;
}

#[tokio::test]
async fn a_rejected_draft_shows_who_and_why() {
    let app = seed::story().await;
    let reject = submit(&format!("{DRAFT}/reject"), &[("reason", "keep it")]);
    let page = accepted(&app, reject, DRAFT).await;
    assert!(page.contains("<strong>rejected</strong> by web") && page.contains("“keep it”"), "{page}");
    assert_eq!(page.matches("<form").count(), 2, "nothing is left to do but to search and to sign out");
}

#[tokio::test]
async fn a_promotion_moves_the_environment() {
    let app = seed::story().await;
    let fields = [
        ("catalog", "shop"),
        ("version", "2026.11.26"),
        ("generation", "2"),
        ("reason", "back to the first"),
    ];
    let page =
        accepted(&app, submit("/environments/staging/promote", &fields), "/environments/staging").await;
    assert!(page.contains("back to the first"));
}

#[tokio::test]
async fn a_rollback_holds_what_it_left_until_it_is_released() {
    let app = seed::story().await;
    let fields =
        [("catalog", "shop"), ("version", "2026.11.26"), ("generation", "2"), ("reason", "agents loop")];
    let page =
        accepted(&app, submit("/environments/staging/rollback", &fields), "/environments/staging").await;
    assert!(page.contains("2026.11.28 is held"), "{page}");
    // The form says which version it means: a second press must not release another.
    let form = page.split("/release-hold").nth(1).and_then(|rest| rest.split("</form>").next());
    let form = form.expect("a form that releases");
    assert!(form.contains("name=\"version\" value=\"2026.11.28\""), "{form}");
    let fields = [("catalog", "shop"), ("version", "2026.11.28"), ("generation", "3"), ("reason", "mended")];
    let page =
        accepted(&app, submit("/environments/staging/release-hold", &fields), "/environments/staging").await;
    assert!(!page.contains("is held"), "{page}");
}

#[tokio::test]
async fn a_stale_form_comes_back_with_who_moved_it_and_what_was_typed() {
    let app = seed::story().await;
    let fields =
        [("catalog", "shop"), ("version", "2026.11.26"), ("generation", "1"), ("reason", "my reason")];
    for form in ["promote", "rollback"] {
        let says = [
            "Somebody was faster",
            "jonas moved it to 2026.11.28",
            "Nothing was changed",
            "name=\"generation\" value=\"2\"",
            "value=\"my reason\"",
            "<option value=\"2026.11.26\" selected>",
        ];
        let ask = submit(&format!("/environments/staging/{form}"), &fields);
        let page = refused(&app, ask, StatusCode::PRECONDITION_FAILED, &says).await;
        assert_eq!(page.body.matches("value=\"my reason\"").count(), 1, "only in the form that was sent");
    }
}

#[tokio::test]
async fn a_version_goes_to_a_new_environment_from_its_page() {
    let app = seed::story().await;
    let path = "/catalogs/shop/versions/2026.11.28/promote";
    let bad = submit(path, &[("environment", "no such name"), ("reason", "try")]);
    refused(&app, bad, StatusCode::BAD_REQUEST, &["cannot be the name of an", "value=\"no such name\""])
        .await;
    let taken = submit(path, &[("environment", "staging"), ("reason", "try")]);
    refused(&app, taken, StatusCode::PRECONDITION_FAILED, &["is at generation 2"]).await;
    let page =
        accepted(&app, submit(path, &[("environment", "dev"), ("reason", "try")]), "/environments/dev").await;
    assert!(page.contains(">2026.11.28</a>"), "{page}");
}

#[tokio::test]
async fn a_form_of_another_site_is_refused() {
    let app = seed::story().await;
    let fields = [("catalog", "shop"), ("version", "2026.11.26"), ("generation", "2"), ("reason", "x")];
    let ask = || submit("/environments/staging/rollback", &fields);
    for ask in [
        ask().header("sec-fetch-site", "cross-site"),
        ask().header("sec-fetch-site", "same-site"),
        submit(&format!("{DRAFT}/approve"), &[("reason", "x")]).header("sec-fetch-site", "cross-site"),
    ] {
        assert_eq!(answer(&app, ask).await.status, StatusCode::FORBIDDEN);
    }
    assert!(answer(&app, get("/environments/staging")).await.body.contains("2026.11.28</a>"));
}

#[tokio::test]
async fn a_form_that_cannot_be_read_is_refused() {
    let app = seed::story().await;
    let fields = [("catalog", "shop"), ("version", "2026.11.26"), ("generation", "two")];
    let ask = submit("/environments/staging/promote", &fields);
    refused(&app, ask, StatusCode::BAD_REQUEST, &["That cannot be read"]).await;
    let unknown = submit(
        "/environments/nowhere/promote",
        &[("catalog", "shop"), ("version", "2026.11.26"), ("generation", "1"), ("reason", "x")],
    );
    refused(&app, unknown, StatusCode::NOT_FOUND, &["Not found"]).await;
}
