//! What the forms do: a write and a redirection, or the page again with the reason and what was typed.

use axum::http::StatusCode;
use toolpact::{
    access::{Caller, Role},
    app::App,
};

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

/// The value of the first field of this name.
fn field(page: &str, name: &str) -> String {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).expect("the field is there");
    rest.split('"').next().unwrap_or_default().to_owned()
}

/// The page of the change that a rule found first, as the queue links it.
async fn change(app: &App, rule: &str) -> (String, String) {
    let page = answer(app, get(DRAFT)).await.body;
    let links = page.split("<li id=\"c-").skip(1).map(|rest| rest.split('"').next().unwrap_or_default());
    for short in links.map(ToOwned::to_owned).collect::<Vec<_>>() {
        let at = format!("{DRAFT}?change={short}");
        let page = answer(app, get(&at)).await.body;
        // A rule that is none of this release has no page.
        let named = [format!("rule <a href=\"/rules/{rule}\">"), format!("rule <code>{rule}</code>")];
        if named.iter().any(|named| page.contains(named)) {
            return (at, page);
        }
    }
    panic!("no change of {rule} in {page}");
}

#[tokio::test]
async fn a_review_shows_every_change_with_its_proof_and_both_assumptions() {
    let app = seed::story().await;
    for (rule, says) in [
        (
            "enum-value-removed",
            &[
                "<h2 id=\"sentence\" class=\"sentence\"><code>state</code> no longer accepts &#34;all&#34;</h2>",
                "accepted by <strong>shop@2026.11.28</strong>",
                "rejected by <strong>shop/d-4</strong> at <code>/state</code>",
                "&#34;method&#34;: &#34;tools/call&#34;",
                "to decide</span>",
                "&#38;assume=strict\"",
            ][..],
        ),
        (
            "description-cue-added",
            &[
                "<del>newest</del><ins>oldest</ins>",
                "title=\"zero-width character\">U+200B</mark>",
                "does not stand in the way",
            ][..],
        ),
    ] {
        let (at, page) = change(&app, rule).await;
        check(&at, &answer(&app, get(&at)).await);
        for text in says {
            assert!(page.contains(text), "{at}: no {text} in {page}");
        }
        // Every group but the compatible stands open, and so does the one that is looked at.
        for group in ["breaking", "risky", "undecided"] {
            assert!(page.contains(&format!("<details class=\"{group}\" open>")), "{at}: {group}");
        }
    }
    let (at, page) = change(&app, "enum-value-removed").await;
    assert!(page.contains("too small a step") && page.contains("name=\"accept_breaking\""), "{page}");
    let patch = answer(&app, get(&format!("{at}&show=patch"))).await.body;
    assert!(patch.contains("Patch of the contract (RFC 6902)") && patch.contains("&#34;op&#34;"), "{patch}");
    let json = answer(&app, get(&format!("{at}&show=json"))).await.body;
    assert!(json.contains("<del><code>") && json.contains("<ins><code>"), "{json}");
    let strange = answer(&app, get(&format!("{DRAFT}?change=abcdef"))).await;
    assert_eq!(strange.status, StatusCode::NOT_FOUND);
    assert!(strange.body.contains("has no change <code>abcdef</code>"), "{}", strange.body);
}

#[tokio::test]
async fn a_change_is_decided_waived_rejected_and_taken_back_on_the_page() {
    let app = seed::story().await;
    let (at, page) = change(&app, "enum-value-removed").await;
    let (fingerprint, digest) = (field(&page, "change"), field(&page, "digest"));
    let query = at.split('?').nth(1).expect("it names the change").to_owned();
    let decide = |more: &[(&str, &str)]| {
        let seen = [("change", fingerprint.as_str()), ("digest", digest.as_str())];
        submit(&format!("{DRAFT}/decide?{query}"), &[&seen, more].concat())
    };
    // What is refused comes back with what was typed.
    for (more, status, says) in [
        (&[("reason", "why not")][..], StatusCode::BAD_REQUEST, "Say what is decided"),
        (&[("reason", "why not"), ("ruling", "waive")], StatusCode::BAD_REQUEST, "needs its last day"),
        (
            &[("reason", "why not"), ("ruling", "waive"), ("until", "2026-11-01")],
            StatusCode::BAD_REQUEST,
            "not in the future",
        ),
    ] {
        refused(&app, decide(more), status, &[says, ">why not</textarea>"]).await;
    }
    let waived =
        [("reason", "moved by then"), ("ruling", "waive"), ("until", "2027-01-31"), ("owner", "team")];
    let next = answer(&app, decide(&waived)).await;
    assert_eq!(next.status, StatusCode::SEE_OTHER, "{}", next.body);
    let next = next.header("location").to_owned();
    assert!(next.ends_with("#change") && !next.contains(&query), "on to the next that blocks: {next}");
    let page = answer(&app, get(&at)).await.body;
    for text in
        ["waived until 2027-01-31", "<strong>Waived</strong> by web", "team answers for it", "moved by then"]
    {
        assert!(page.contains(text), "no {text} in {page}");
    }
    for (ruling, says) in
        [("reject", "<strong>Rejected</strong>"), ("withdraw", "It stands in the way until somebody")]
    {
        let decided = answer(&app, decide(&[("reason", "on second thought"), ("ruling", ruling)])).await;
        assert_eq!(decided.status, StatusCode::SEE_OTHER, "{}", decided.body);
        let page = answer(&app, get(&at)).await.body;
        assert!(page.contains(says), "no {says} in {page}");
    }
    // All of a rule, of what was seen.
    let all = |digest: &str| {
        let fields =
            [("change", fingerprint.as_str()), ("digest", digest), ("all", "on"), ("ruling", "accept")];
        submit(&format!("{DRAFT}/decide?{query}"), &[&fields[..], &[("reason", "all of it")]].concat())
    };
    let other = format!("sha256:{}", "0".repeat(64));
    refused(&app, all(&other), StatusCode::PRECONDITION_FAILED, &["by now, not", ">all of it</textarea>"])
        .await;
    assert_eq!(answer(&app, all(&digest)).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn what_is_said_stands_at_its_change_or_at_the_draft() {
    let app = seed::story().await;
    let (at, page) = change(&app, "enum-value-removed").await;
    let (fingerprint, query) = (field(&page, "change"), at.split('?').nth(1).unwrap_or_default().to_owned());
    let say = |fields: &[(&str, &str)]| submit(&format!("{DRAFT}/comments?{query}"), fields);
    refused(&app, say(&[("text", " ")]), StatusCode::BAD_REQUEST, &["A comment of 0 bytes"]).await;
    let said = answer(&app, say(&[("change", &fingerprint), ("text", "who sends all?")])).await;
    assert_eq!(said.header("location"), format!("{at}#said-1"), "{}", said.body);
    let said = answer(&app, say(&[("text", "looks fine")])).await;
    assert_eq!(said.header("location"), format!("{at}#said-2"), "{}", said.body);
    let (here, there) = (answer(&app, get(&at)).await.body, change(&app, "tool-added").await.1);
    assert!(here.contains("who sends all?") && here.contains("looks fine"), "{here}");
    assert!(!there.contains("who sends all?") && there.contains("looks fine"), "{there}");
}

#[tokio::test]
async fn whoever_may_not_is_told_before_they_try() {
    let app = seed::story().await;
    let looks = Caller { roles: [Role::Viewer].into(), ..Caller::local("vera") };
    let page = answer(&app, get(DRAFT).caller(Some(looks.clone()))).await;
    check(DRAFT, &page);
    assert!(page.body.contains("You may look, not decide"), "{}", page.body);
    assert_eq!(page.body.matches("<form").count(), 2, "nothing but to search and to sign out: {}", page.body);
    let move_page = "/environments/staging/preflight?kind=rollback&catalog=shop&version=2026.11.26";
    let page = answer(&app, get(move_page).caller(Some(looks))).await;
    assert!(page.body.contains("You may look, not move"), "{}", page.body);
    assert_eq!(page.body.matches("<form").count(), 2, "{}", page.body);
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
    // Nothing is left to do but to search, to sign out, and to say something.
    assert_eq!(page.matches("<form").count(), 4, "{page}");
    assert!(!page.contains("/approve") && !page.contains("/decide"), "{page}");
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
        accepted(&app, submit("/environments/staging/promote", &fields), "/environments/staging#at-shop")
            .await;
    assert!(page.contains("back to the first"));
}

#[tokio::test]
async fn a_rollback_holds_what_it_left_until_it_is_released() {
    let app = seed::story().await;
    let fields =
        [("catalog", "shop"), ("version", "2026.11.26"), ("generation", "2"), ("reason", "agents loop")];
    let page =
        accepted(&app, submit("/environments/staging/rollback", &fields), "/environments/staging#at-shop")
            .await;
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
            ">my reason</textarea>",
            "name=\"version\" value=\"2026.11.26\"",
            "What has to be so",
        ];
        let ask = submit(&format!("/environments/staging/{form}"), &fields);
        refused(&app, ask, StatusCode::PRECONDITION_FAILED, &says).await;
    }
}

#[tokio::test]
async fn a_rollback_is_planned_with_what_is_lost_and_what_is_held() {
    let app = seed::story().await;
    let at = "/environments/staging/preflight?kind=rollback&catalog=shop&version=2026.11.26";
    let page = answer(&app, get(at)).await;
    check(at, &page);
    for text in [
        "Roll back staging to 2026.11.26?",
        "<strong>They lose:</strong> <span class=\"mono\">order_track</span>",
        "2026.11.28 is then held",
        "What going back changes",
    ] {
        assert!(page.body.contains(text), "no {text} in {}", page.body);
    }
    let never = at.replace("2026.11.26", "2026.11.27");
    assert_eq!(answer(&app, get(&never)).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn nothing_moves_in_a_frozen_environment_but_for_an_emergency() {
    let app = seed::story().await;
    let freeze =
        |catalog, reason| submit("/environments/staging/freeze", &[("catalog", catalog), ("reason", reason)]);
    refused(&app, freeze("shop", ""), StatusCode::BAD_REQUEST, &["The reason is empty"]).await;
    let page = accepted(&app, freeze("", "the sale"), "/environments/staging").await;
    assert!(page.contains("the whole environment") && page.contains("the sale"), "{page}");
    refused(&app, freeze("", "again"), StatusCode::CONFLICT, &["is frozen already"]).await;
    let plan = |kind| format!("/environments/staging/preflight?kind={kind}&catalog=shop&version=2026.11.26");
    let promotion = answer(&app, get(&plan("promote"))).await.body;
    assert!(promotion.contains("nothing can be promoted until"), "{promotion}");
    let rollback = answer(&app, get(&plan("rollback"))).await.body;
    assert!(rollback.contains("name=\"emergency\" required"), "{rollback}");
    let fields =
        [("catalog", "shop"), ("version", "2026.11.26"), ("generation", "2"), ("reason", "it burns")];
    let back = |more: &[(&str, &str)]| submit("/environments/staging/rollback", &[&fields, more].concat());
    let says = ["Blocked by policy", ">it burns</textarea>"];
    refused(&app, back(&[]), StatusCode::UNPROCESSABLE_ENTITY, &says).await;
    let page = accepted(&app, back(&[("emergency", "on")]), "/environments/staging#at-shop").await;
    assert!(page.contains("</span> emergency</span>"), "{page}");
    let unfreeze = submit("/environments/staging/unfreeze", &[("reason", "the sale is over")]);
    let page = accepted(&app, unfreeze, "/environments/staging").await;
    assert!(!page.contains("Frozen"), "{page}");
}

#[tokio::test]
async fn a_version_goes_to_a_new_environment_by_way_of_its_preflight() {
    let app = seed::story().await;
    let path = "/catalogs/shop/versions/2026.11.28/promote?environment=";
    let says = ["cannot be the name of an", "value=\"no such name\""];
    refused(&app, get(&format!("{path}no+such+name")), StatusCode::BAD_REQUEST, &says).await;
    let plan = "/environments/dev/preflight?kind=promote&catalog=shop&version=2026.11.28";
    let page = accepted(&app, get(&format!("{path}dev")), plan).await;
    for text in ["Promote 2026.11.28 to dev?", "nothing was ever live there", "What has to be so"] {
        assert!(page.contains(text), "no {text} in {page}");
    }
    assert!(app.pointers().await.expect("read").iter().all(|p| p.environment.as_str() != "dev"));
    let fields = [("catalog", "shop"), ("version", "2026.11.28"), ("generation", "0"), ("reason", "try")];
    let page =
        accepted(&app, submit("/environments/dev/promote", &fields), "/environments/dev#at-shop").await;
    assert!(page.contains(">2026.11.28</a>"), "{page}");
    // One that it is live in already is planned as any other move.
    let live = get(&format!("{path}staging"));
    assert_eq!(answer(&app, live).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_change_is_decided_for_one_environment_alone() {
    let app = seed::story().await;
    let (at, page) = change(&app, "enum-value-removed").await;
    for text in ["<option value=\"\">everywhere</option>", "in staging alone</option>"] {
        assert!(page.contains(text), "no {text} in {page}");
    }
    let (fingerprint, digest) = (field(&page, "change"), field(&page, "digest"));
    let query = at.split('?').nth(1).expect("it names the change").to_owned();
    let decide = |more: &[(&str, &str)]| {
        let seen = [("change", fingerprint.as_str()), ("digest", digest.as_str())];
        submit(&format!("{DRAFT}/decide?{query}"), &[&seen, more].concat())
    };
    let unknown = [("ruling", "accept"), ("reason", "for a week"), ("environment", "nowhere")];
    refused(&app, decide(&unknown), StatusCode::NOT_FOUND, &["nowhere", ">for a week</textarea>"]).await;
    let waived =
        [("ruling", "waive"), ("until", "2027-01-31"), ("reason", "for a week"), ("environment", "staging")];
    let page = accepted(&app, decide(&waived), &format!("{at}#decide")).await;
    for text in [
        "In <a href=\"/environments/staging\">staging</a> alone: <strong>waived</strong> by web",
        "It stands in the way until somebody decides",
        "for a week",
    ] {
        assert!(page.contains(text), "no {text} in {page}");
    }
    let waivers = answer(&app, get("/waivers")).await.body;
    assert!(waivers.contains("<a href=\"/environments/staging\">staging</a>"), "{waivers}");
    let withdrawn = [("ruling", "withdraw"), ("reason", "no"), ("environment", "staging")];
    let page = accepted(&app, decide(&withdrawn), &format!("{at}#decide")).await;
    assert!(!page.contains("</a> alone: <strong>"), "{page}");
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

#[tokio::test]
async fn a_check_of_a_build_is_a_page_like_any_other() {
    let app = seed::story().await;
    let tools = serde_json::json!([
        {"name": "<b>bold</b>", "description": "</form><script>alert(1)</script>", "inputSchema": {"type": "object"}},
    ]);
    let build = serde_json::json!({
        "environment": "production", "servers": [{"server": "orders", "listing": tools}],
        "context": {"repository": "<i>acme</i>", "branch": "\"><script>"},
    });
    let made = answer(&app, crate::ask::post("/api/v1/checks", build)).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.body);
    let page = answer(&app, get("/checks/1")).await;
    assert_eq!(page.status, StatusCode::OK);
    check("/checks/1", &page);
    assert!(!page.body.contains("<script>alert") && !page.body.contains("<i>acme"), "{}", page.body);
    assert!(page.body.contains("change-"), "its changes can be chosen");
    for path in ["/checks", "/checks?repository=%3Ci%3Eacme%3C%2Fi%3E&branch=%22%3E%3Cscript%3E"] {
        let list = answer(&app, get(path)).await;
        check(path, &list);
        assert!(!list.body.contains("<script>") && !list.body.contains("<i>acme"), "{}", list.body);
        assert!(list.body.contains("&#60;i&#62;acme"), "{}", list.body);
    }
    let decide = |fields: &[(&str, &str)]| submit("/checks/1/decide", fields);
    let all = &[("ruling", "accept"), ("where", "here"), ("reason", "because")];
    refused(&app, decide(all), StatusCode::BAD_REQUEST, &["change is named"]).await;
    let elsewhere = &[("ruling", "accept"), ("where", "nowhere"), ("reason", "because")];
    refused(&app, decide(elsewhere), StatusCode::BAD_REQUEST, &["where it counts"]).await;
    refused(&app, decide(&[("ruling", "shrug")]), StatusCode::BAD_REQUEST, &["what is decided"]).await;
    refused(&app, get("/checks/77"), StatusCode::NOT_FOUND, &["does not exist"]).await;
}
