//! Tokens, teams, webhooks, waivers and the log, as their pages show them and their forms change them.

use axum::http::{Method, StatusCode};
use toolpact::{
    access::{Caller, CallerKind, Role},
    app::{
        App,
        review::{Changes, DecideRequest},
    },
    catalog::review::Ruling,
};

use super::check;
use crate::{
    ask::{Answer, Ask, answer, get, submit},
    seed,
};

/// A page that is there, as one that holds for all of them.
async fn shown(app: &App, ask: Ask, path: &str) -> String {
    let page = answer(app, ask).await;
    assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.body);
    check(path, &page);
    page.body
}

async fn at(app: &App, path: &str) -> String {
    shown(app, get(path), path).await
}

/// A form that leads on.
async fn done(app: &App, ask: Ask, to: &str) {
    let got = answer(app, ask).await;
    assert_eq!((got.status, got.header("location")), (StatusCode::SEE_OTHER, to), "{}", got.body);
}

/// A form that comes back with the reason.
async fn refused(app: &App, ask: Ask, status: StatusCode, says: &str) -> String {
    let Answer { status: got, body, .. } = answer(app, ask).await;
    assert_eq!(got, status, "{body}");
    assert!(body.contains(says), "{says} is not in {body}");
    body
}

/// What stands between two texts.
fn between<'p>(page: &'p str, before: &str, after: &str) -> &'p str {
    page.split_once(before)
        .and_then(|(_, rest)| rest.split_once(after))
        .map(|(found, _)| found)
        .expect(before)
}

#[tokio::test]
async fn a_tokens_secret_stands_on_one_page_and_works_until_it_is_revoked() {
    let app = seed::story().await;
    let fields = [
        ("name", "deploy pipeline"),
        ("owner", "deploy"),
        ("kind", "ci"),
        ("operator", "on"),
        ("catalogs", "shop"),
        ("until", "2027-01-31"),
    ];
    let made = answer(&app, submit("/tokens", &fields)).await;
    assert_eq!((made.status, made.header("cache-control")), (StatusCode::OK, "no-store"), "{}", made.body);
    check("/tokens", &made);
    let secret = between(&made.body, "<code>tp_", "</code>");
    let secret = format!("tp_{secret}");
    let with = || {
        let bearer = format!("Bearer {secret}");
        get("/api/v1/me").caller(None).header("authorization", &bearer)
    };
    assert!(answer(&app, with()).await.body.contains("ci:deploy"));
    let list = at(&app, "/tokens").await;
    assert!(!list.contains(&secret) && list.contains("deploy pipeline"), "{list}");
    for told in ["shop in all environments", "2027-02-01 00:00 UTC", "<span class=\"tag plain\">ci</span>"] {
        assert!(list.contains(told), "{told}: {list}");
    }
    let revoke = format!("/tokens/tok-{}/revoke", between(&list, "/tokens/tok-", "/revoke"));
    done(&app, submit(&revoke, &[]), "/tokens").await;
    assert_eq!(answer(&app, with()).await.status, StatusCode::UNAUTHORIZED);
    let after = at(&app, "/tokens").await;
    assert!(after.contains("<td>revoked") && after.contains("by web</td>"), "{after}");
    refused(&app, submit(&revoke, &[]), StatusCode::CONFLICT, "was taken back before").await;
}

#[tokio::test]
async fn a_token_that_cannot_be_made_says_why_and_keeps_what_was_typed() {
    let app = seed::story().await;
    for (more, says) in [
        (("kind", "human"), "A token without a role can do nothing"),
        (("kind", "robot"), "is no kind of caller"),
        (("until", "soon"), "is no date"),
        (("until", "2020-01-01"), "a token cannot end at"),
        (("catalogs", "no!name"), "cannot be the name of a catalog"),
    ] {
        let mut fields = vec![("name", "my words"), ("owner", "deploy"), ("kind", "ci")];
        fields.retain(|(name, _)| *name != more.0);
        fields.push(more);
        if more.0 == "until" {
            fields.push(("viewer", "on"));
        }
        let says = if says.starts_with("a token") { "A token cannot end at" } else { says };
        let page = refused(&app, submit("/tokens", &fields), StatusCode::BAD_REQUEST, says).await;
        assert!(page.contains("value=\"my words\""), "{page}");
    }
}

#[tokio::test]
async fn whoever_is_no_admin_sees_and_makes_tokens_of_their_own() {
    let app = seed::story().await;
    let mara = || Some(Caller { roles: [Role::Author].into(), ..Caller::local("mara") });
    let make = |owner: &'static str, role: &'static str| {
        let fields = [("name", "laptop"), ("owner", owner), ("kind", "human"), (role, "on")];
        submit("/tokens", &fields).caller(mara())
    };
    shown(&app, make("mara", "author"), "/tokens").await;
    refused(&app, make("jonas", "author"), StatusCode::FORBIDDEN, "none of its roles allows it").await;
    refused(&app, make("mara", "admin"), StatusCode::FORBIDDEN, "none of its roles allows it").await;
    let own = shown(&app, get("/tokens").caller(mara()), "/tokens").await;
    assert!(own.contains("laptop") && !own.contains("href=\"/webhooks\""), "{own}");
    let jonas = Caller { kind: CallerKind::Human, roles: [Role::Author].into(), ..Caller::local("jonas") };
    let other = shown(&app, get("/tokens").caller(Some(jonas)), "/tokens").await;
    assert!(!other.contains("laptop"), "{other}");
    let teams = shown(&app, get("/teams").caller(mara()), "/teams").await;
    assert!(!teams.contains("action=\"/teams\""), "{teams}");
}

#[tokio::test]
async fn a_team_is_made_changed_and_removed() {
    let app = seed::story().await;
    let put = |members: &str, catalogs: &str, seen: &str| {
        let form =
            [("name", "shop-people"), ("members", members), ("servers", "orders"), ("catalogs", catalogs)];
        submit("/teams", &[form.as_slice(), &[("seen", seen)]].concat())
    };
    let seen = async || {
        let page = at(&app, "/teams").await;
        let rest = page.split_once("name=\"seen\" value=\"").expect("what is shown").1;
        rest.split_once('"').expect("a value").0.to_owned()
    };
    done(&app, put("mara%0Ajonas b", "shop", ""), "/teams").await;
    let page = at(&app, "/teams").await;
    assert!(page.contains("jonas b, mara"), "{page}");
    // Somebody else makes it, or changes it first.
    refused(&app, put("mara", "", ""), StatusCode::PRECONDITION_FAILED, "exists already").await;
    let first = seen().await;
    done(&app, put("mara", "", &first), "/teams").await;
    assert!(!at(&app, "/teams").await.contains("jonas b"));
    refused(&app, put("ana", "", &first), StatusCode::PRECONDITION_FAILED, "was changed since").await;
    let now = seen().await;
    refused(&app, put("mara", "no!name", &now), StatusCode::BAD_REQUEST, "cannot be the name of a catalog")
        .await;
    done(&app, submit("/teams/shop-people/remove", &[]), "/teams").await;
    assert!(at(&app, "/teams").await.contains("No team yet"));
    refused(&app, put("mara", "", &now), StatusCode::PRECONDITION_FAILED, "was removed since").await;
    refused(&app, submit("/teams/shop-people/remove", &[]), StatusCode::NOT_FOUND, "does not exist").await;
}

#[tokio::test]
async fn a_webhook_is_made_pinged_stopped_rotated_and_removed() {
    let app = seed::story().await;
    let url = "https://hooks.example.com/services/hidden-path";
    let fields =
        [("name", "on-call"), ("url", url), ("shape", "slack"), ("kinds", "draft."), ("breaking", "on")];
    let made = answer(&app, submit("/webhooks", &fields)).await;
    assert_eq!((made.status, made.header("cache-control")), (StatusCode::OK, "no-store"), "{}", made.body);
    check("/webhooks", &made);
    let secret = format!("whsec_{}", between(&made.body, "<code>whsec_", "</code>"));
    let page = at(&app, "/webhooks/on-call").await;
    for told in ["draft., judged breaking", "https://hooks.example.com/…", "Nothing was sent yet"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    for path in ["/webhooks", "/webhooks/on-call", "/events"] {
        let page = at(&app, path).await;
        assert!(!page.contains(&secret) && !page.contains("hidden-path"), "{path}");
    }
    refused(
        &app,
        submit("/webhooks", &fields),
        StatusCode::CONFLICT,
        "There is a webhook <code>on-call</code>",
    )
    .await;
    let bad = [("name", "x"), ("url", "ftp://x")];
    refused(&app, submit("/webhooks", &bad), StatusCode::BAD_REQUEST, "value=\"ftp://x\"").await;
    done(&app, submit("/webhooks/on-call/ping", &[]), "/webhooks/on-call").await;
    assert!(at(&app, "/events?kind=webhook.pinged").await.contains("webhook/on-call"));

    let seen = |revision: &'static str| [("revision", revision)];
    done(&app, submit("/webhooks/on-call/state/disabled", &seen("1")), "/webhooks/on-call").await;
    refused(&app, submit("/webhooks/on-call/ping", &[]), StatusCode::CONFLICT, "is disabled").await;
    let stale = submit("/webhooks/on-call/rotate", &seen("1"));
    refused(&app, stale, StatusCode::PRECONDITION_FAILED, "was changed since this page was made").await;
    let rotated = answer(&app, submit("/webhooks/on-call/rotate", &seen("2"))).await;
    check("/webhooks/on-call/rotate", &rotated);
    assert!(rotated.body.contains("<code>whsec_") && !rotated.body.contains(&secret), "{}", rotated.body);
    assert_eq!(rotated.header("cache-control"), "no-store");
    refused(&app, submit("/webhooks/on-call/deliveries/7/resend", &[]), StatusCode::CONFLICT, "is disabled")
        .await;
    done(&app, submit("/webhooks/on-call/remove", &seen("3")), "/webhooks").await;
    let gone = answer(&app, get("/webhooks/on-call")).await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn events_are_looked_through_by_what_whom_and_which_object() {
    let app = seed::story().await;
    let numbers = |page: &str| page.matches("<th scope=\"row\" class=\"num\">").count();
    let all = numbers(&at(&app, "/events").await);
    for (path, least) in [
        ("/events?kind=draft.", 3),
        ("/events?kind=draft.approved", 2),
        ("/events?actor=jonas", 3),
        ("/events?subject=environment%2Fproduction&kind=environment.", 3),
    ] {
        let page = at(&app, path).await;
        let shown = numbers(&page);
        assert!(least <= shown && shown < all, "{path}: {shown} of {all}");
    }
    let page = at(&app, "/events?kind=draft.&actor=jonas").await;
    for link in [
        "href=\"/events?actor=jonas\"",
        "href=\"/events?kind=draft.\"",
        "href=\"/api/v1/events?kind=draft.&#38;actor=jonas&#38;limit=1000\"",
    ] {
        assert!(page.contains(link), "{link}: {page}");
    }
    assert!(at(&app, "/events?actor=nobody").await.contains("No event here fits"));
    let bad = answer(&app, get("/events?before=x")).await;
    assert_eq!(bad.status, StatusCode::BAD_REQUEST);
    let gone = answer(&app, get("/events").method(Method::DELETE)).await;
    assert_eq!(gone.status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn waivers_stand_by_the_day_they_end() {
    let app = seed::story().await;
    assert!(at(&app, "/waivers").await.contains("A reviewer waives a change"));
    let waive = |rule: &str, end: &str| DecideRequest {
        catalog: seed::name("shop"),
        changes: Changes::Rule { draft: 4, rule: rule.to_owned() },
        ruling: Ruling::Accept,
        environment: None,
        reason: "until <b>June</b>".to_owned(),
        owner: Some("mara".to_owned()),
        expires: Some(end.parse().expect("a time")),
        actor: "jonas".to_owned(),
    };
    for (rule, end) in
        [("property-removed", "2027-06-01T00:00:00Z"), ("enum-value-removed", "2026-12-05T00:00:00Z")]
    {
        app.decide(&waive(rule, end)).await.expect("it is waived");
    }
    let page = at(&app, "/waivers").await;
    assert!(page.contains("2026-12-05 00:00 UTC"), "{page}");
    assert!(page.find("2026-12-05") < page.find("2027-06-01"), "{page}");
    assert_eq!(page.matches("ends soon").count(), 1, "{page}");
    assert!(page.contains("until &#60;b&#62;June") && page.contains("<td>mara</td>"), "{page}");
}
