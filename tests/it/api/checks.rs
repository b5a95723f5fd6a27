//! Checks of builds: what is refused, what is registered once, and what is decided of it.

use serde_json::{Value, json};
use toolpact::{
    access::{Auth, Caller, CallerKind, Role, Scope},
    app::App,
};

use crate::{
    ask::{Ask, answer, get, post, submit},
    seed,
};

const CHECKS: &str = "/api/v1/checks";
const DECISIONS: &str = "/api/v1/catalogs/shop/decisions";

/// A build that offers nothing any more, with these members beside or instead.
fn build(more: Value) -> Value {
    let mut body = json!({
        "environment": "production",
        "servers": [{"server": "orders", "listing": {"tools": []}}],
        "context": {"repository": "acme/orders", "commit": "3f9c2d1", "branch": "less", "pullRequest": "42"},
    });
    body.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    body
}

fn pipeline(owner: &str) -> Caller {
    Caller {
        kind: CallerKind::Ci,
        roles: [Role::Author].into(),
        auth: Auth::Token("tok-000000000001".to_owned()),
        ..Caller::local(format!("ci:{owner}"))
    }
}

async fn sent(app: &App, ask: Ask, status: u16) -> Value {
    let answer = answer(app, ask).await;
    assert_eq!(answer.status.as_u16(), status, "{}", answer.body);
    serde_json::from_str(&answer.body).expect("JSON")
}

fn codes(checked: &Value, member: &str) -> Vec<String> {
    let standing = checked["standing"].as_array().expect("a list").iter();
    standing.filter_map(|s| s[member].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn a_build_that_breaks_is_green_once_its_changes_are_accepted() {
    let app = seed::story().await;
    let ask = || post(CHECKS, build(json!({}))).caller(Some(pipeline("mara")));
    let first = sent(&app, ask(), 201).await;
    assert_eq!(first["passes"], false, "{first:#}");
    assert_eq!((&first["catalog"], &first["version"]), (&json!("shop"), &json!("2026.11.26")));
    assert!(codes(&first, "blocks").iter().all(|b| b == "open"), "{first:#}");
    let changes = codes(&first, "change");
    assert!(!changes.is_empty());
    let (id, page) = (first["id"].as_i64().expect("a number"), first["page"].as_str().expect("a page"));
    assert_eq!(page, format!("/checks/{id}"));
    // Registered once, and noted once.
    assert_eq!(sent(&app, ask(), 201).await["id"], id);
    let noted: Vec<_> = app
        .events(1_000)
        .await
        .expect("events")
        .into_iter()
        .filter(|e| e.kind == "check.registered")
        .collect();
    assert_eq!(noted.len(), 1);
    assert_eq!(
        (noted[0].subject.as_str(), noted[0].actor.as_str()),
        (page.replace("/checks", "check").as_str(), "ci:mara")
    );

    // Only for production: elsewhere it is as open as before.
    let decide = json!({
        "check": id, "changes": changes, "ruling": "accept", "reason": "nobody calls them", "environment": "production",
    });
    sent(&app, post(DECISIONS, decide.clone()).caller(Some(pipeline("mara"))), 403).await;
    sent(&app, post(DECISIONS, decide), 201).await;
    let again = sent(&app, ask(), 201).await;
    assert_eq!((&again["passes"], &again["id"]), (&json!(true), &json!(id)), "{again:#}");
    assert_eq!(sent(&app, get(&format!("{CHECKS}/{id}")), 200).await["passes"], true);
    let elsewhere = post(CHECKS, build(json!({"environment": "staging", "dryRun": true})));
    assert_eq!(sent(&app, elsewhere, 200).await["passes"], false);
    // What is refused later stands in the way again.
    let reject = json!({"changes": [changes[0]], "ruling": "reject", "reason": "somebody does"});
    sent(&app, post(DECISIONS, reject), 201).await;
    let again = sent(&app, ask(), 201).await;
    assert_eq!((&again["passes"], codes(&again, "blocks")), (&json!(false), vec!["rejected".to_owned()]));
}

#[tokio::test]
async fn a_dry_run_leaves_nothing_and_a_change_of_it_cannot_be_decided_on() {
    let app = seed::story().await;
    let before = app.events(1_000).await.expect("events").len();
    let dry = sent(&app, post(CHECKS, build(json!({"dryRun": true}))), 200).await;
    assert!(dry.get("id").is_none() && dry.get("page").is_none(), "{dry:#}");
    assert_eq!(app.events(1_000).await.expect("events").len(), before);
    assert_eq!(sent(&app, get(CHECKS), 200).await["items"], json!([]));
    // A build that offers what is live changes nothing.
    let live = sent(&app, get("/api/v1/environments/production/catalog?format=mcp"), 200).await;
    let same = json!({"dryRun": true, "servers": [{"server": "orders", "listing": live}]});
    let same = sent(&app, post(CHECKS, build(same)), 200).await;
    assert_eq!((&same["passes"], &same["standing"]), (&json!(true), &json!([])), "{same:#}");
}

#[tokio::test]
async fn checks_are_found_by_where_they_came_from() {
    let app = seed::story().await;
    for (branch, commit) in [("main", "a1"), ("main", "a2"), ("other", "a3")] {
        let context = json!({"repository": "acme/orders", "branch": branch, "commit": commit});
        sent(&app, post(CHECKS, build(json!({"context": context}))), 201).await;
    }
    for (query, expected) in [
        ("", vec!["a3", "a2", "a1"]),
        ("?branch=main", vec!["a2", "a1"]),
        ("?repository=acme/orders&branch=other&environment=production&catalog=shop", vec!["a3"]),
        ("?repository=acme/mail", vec![]),
        ("?verdict=breaking&branch=main", vec!["a2", "a1"]),
        ("?verdict=risky", vec![]),
        ("?repository=acme/orders&verdict=risky", vec![]),
        ("?environment=staging", vec![]),
        ("?environment=production&verdict=breaking&branch=other", vec!["a3"]),
        ("?limit=1", vec!["a3"]),
    ] {
        let page = sent(&app, get(&format!("{CHECKS}{query}")), 200).await;
        let commits: Vec<_> = page["items"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|c| c["context"]["commit"].clone())
            .collect();
        assert_eq!(commits, expected, "{query}");
    }
}

/// The numbers of the checks of the API's list and of the page, which link to as many.
async fn listed(app: &App, query: &str, caller: Option<Caller>) -> Vec<i64> {
    let by = |ask: Ask| match &caller {
        Some(caller) => ask.caller(Some(caller.clone())),
        None => ask,
    };
    let list = sent(app, by(get(&format!("{CHECKS}{query}"))), 200).await;
    let ids: Vec<i64> =
        list["items"].as_array().expect("a list").iter().map(|c| c["id"].as_i64().expect("one")).collect();
    if !query.contains("limit") && !query.contains("cursor") {
        let page = answer(app, by(get(&format!("/checks{query}")))).await;
        assert_eq!(page.status.as_u16(), 200, "{query}: {}", page.body);
        let shown: Vec<i64> = page
            .body
            .split("href=\"/checks/")
            .skip(1)
            .map(|link| link.split('"').next().and_then(|id| id.parse().ok()).expect("a number"))
            .collect();
        assert_eq!(shown, ids, "{query}");
    }
    ids
}

#[tokio::test]
async fn the_list_and_its_page_hold_what_lies_in_the_callers_scope() {
    let app = seed::story().await;
    for (environment, commit) in
        [("production", "1"), ("staging", "2"), ("production", "3"), ("staging", "4")]
    {
        let more = json!({"environment": environment, "context": {"commit": commit}});
        sent(&app, post(CHECKS, build(more)), 201).await;
    }
    let scoped = |catalogs: Option<&[&str]>, environments: Option<&[&str]>| Caller {
        scope: Scope {
            catalogs: catalogs.map(|all| all.iter().map(|c| seed::name(c)).collect()),
            environments: environments.map(|all| all.iter().map(|e| seed::name(e)).collect()),
        },
        ..pipeline("mara")
    };
    for (catalogs, environments, query, expected) in [
        (None, None, "", vec![4, 3, 2, 1]),
        (Some(&["shop"] as &[&str]), None, "", vec![4, 3, 2, 1]),
        (Some(&["other"]), None, "", vec![]),
        (Some(&["other"]), None, "?catalog=shop", vec![]),
        (Some(&["other", "shop"]), None, "?environment=staging", vec![4, 2]),
        (None, Some(&["production"] as &[&str]), "", vec![3, 1]),
        (None, Some(&["production"]), "?environment=staging", vec![]),
        (Some(&["shop"]), Some(&["production", "staging"]), "?catalog=shop", vec![4, 3, 2, 1]),
        (Some(&["shop"]), Some(&["production", "staging"]), "?limit=3", vec![4, 3, 2]),
        (Some(&["shop"]), Some(&["production", "staging"]), "?verdict=compatible", vec![]),
    ] {
        let about = format!("{catalogs:?} {environments:?} {query}");
        let found = listed(&app, query, Some(scoped(catalogs, environments))).await;
        assert_eq!(found, expected, "{about}");
    }
    // What a page leaves over is on the next one.
    let two = || scoped(Some(&["shop"]), Some(&["production", "staging"]));
    let first = sent(&app, get(&format!("{CHECKS}?limit=3")).caller(Some(two())), 200).await;
    let rest = format!("?limit=3&cursor={}", first["next"].as_str().expect("there is more"));
    assert_eq!(listed(&app, &rest, Some(two())).await, [1]);
}

#[tokio::test]
async fn the_page_of_checks_is_read_like_any_list() {
    let app = seed::story().await;
    let empty = answer(&app, get("/checks")).await.body;
    assert!(empty.contains("toolpact gate --service URL"), "{empty}");
    for number in 1..=101 {
        let context =
            json!({"repository": "acme/orders & co", "branch": "a/b", "commit": number.to_string()});
        sent(&app, post(CHECKS, build(json!({"context": context}))), 201).await;
    }
    let newest = answer(&app, get("/checks?catalog=shop")).await.body;
    assert!(newest.contains("href=\"/checks?catalog=shop&#38;before=2\""), "{newest}");
    assert!(newest.contains("href=\"/checks?repository=acme%2Forders+%26+co&#38;branch=a%2Fb\""), "{newest}");
    assert!(newest.contains("href=\"/api/v1/checks?catalog=shop&#38;limit=1000\""), "{newest}");
    assert_eq!(listed(&app, "?repository=acme%2Forders+%26+co&branch=a%2Fb&limit=1", None).await, [101]);
    let older = answer(&app, get("/checks?catalog=shop&before=2")).await.body;
    assert!(older.contains("href=\"/checks/1\"") && !older.contains("href=\"/checks/2\""), "{older}");
    assert!(older.contains(">Newest</a>") && !older.contains(">Older</a>"), "{older}");
    let none = answer(&app, get("/checks?branch=none")).await.body;
    assert!(none.contains("No check here fits.") && none.contains("All checks"), "{none}");
    for (query, says) in [
        ("catalog=a+b", "cannot be the name"),
        ("verdict=fine", "is no verdict"),
        ("before=x", "cannot be read"),
    ] {
        let refused = answer(&app, get(&format!("/checks?{query}"))).await;
        assert_eq!(refused.status.as_u16(), 400, "{query}: {}", refused.body);
        assert!(refused.body.contains(says), "{query}: {}", refused.body);
    }
    for path in ["/catalogs", "/catalogs/shop", "/environments/production", "/checks/1"] {
        let page = answer(&app, get(path)).await.body;
        assert!(page.contains("href=\"/checks"), "{path} leads there");
    }
}

#[tokio::test]
async fn a_check_that_cannot_be_made_says_why() {
    let app = seed::story().await;
    let server = |name: &str| json!({"server": name, "listing": {"tools": []}});
    for (more, status, code) in [
        (json!({"environment": "prodution"}), 404, "unknown-environment"),
        (json!({"catalog": "shpo"}), 404, "unknown-catalog"),
        (json!({"servers": [server("order")]}), 404, "server-not-pinned"),
        (json!({"servers": [server("orders"), server("mail")]}), 404, "server-not-pinned"),
        (json!({"servers": []}), 400, "bad-servers"),
        (json!({"servers": [server("orders"), server("orders")]}), 400, "bad-servers"),
        (json!({"servers": [{"server": "orders", "listing": {}}]}), 400, "not-a-tools-list"),
        (
            json!({"servers": [{"server": "orders", "listing": {"tools": [], "nextCursor": "2"}}]}),
            400,
            "one-page",
        ),
        (json!({"context": {"branch": "a\nb"}}), 400, "invalid-body"),
        (json!({"context": {"branch": "x".repeat(401)}}), 400, "invalid-body"),
        (json!({"context": {"author": "ann"}}), 400, "invalid-body"),
    ] {
        let refused = sent(&app, post(CHECKS, build(more.clone())), status).await;
        assert_eq!(refused["code"], code, "{more}: {refused:#}");
    }
    assert_eq!(sent(&app, get("/api/v1/checks/77"), 404).await["code"], "unknown-check");
    let known = sent(&app, post(CHECKS, build(json!({}))), 201).await["id"].clone();
    for (more, status, code) in [
        (json!({"check": 77, "changes": ["012345"]}), 404, "unknown-check"),
        (json!({"check": known, "changes": ["0123456789ab"]}), 404, "unknown-change"),
        (json!({"check": known, "changes": []}), 400, "no-change"),
        (json!({"check": known, "rule": "tool-removed"}), 400, "invalid-body"),
    ] {
        let mut body = json!({"ruling": "accept", "reason": "x"});
        body.as_object_mut().expect("one").extend(more.as_object().cloned().unwrap_or_default());
        let refused = sent(&app, post(DECISIONS, body), status).await;
        assert_eq!(refused["code"], code, "{more}: {refused:#}");
    }
}

#[tokio::test]
async fn a_pipeline_checks_within_its_scope_and_no_agent_or_viewer_decides() {
    let app = seed::story().await;
    let scoped = |catalog: Option<&str>, environment: Option<&str>| Caller {
        scope: Scope {
            catalogs: catalog.map(|c| [seed::name(c)].into()),
            environments: environment.map(|e| [seed::name(e)].into()),
        },
        ..pipeline("mara")
    };
    for (caller, more, status) in [
        (scoped(Some("shop"), None), json!({"catalog": "shop"}), 201),
        (scoped(Some("other"), None), json!({"catalog": "shop"}), 403),
        (scoped(None, Some("staging")), json!({}), 403),
        (scoped(None, Some("production")), json!({}), 201),
        (Caller { roles: [Role::Viewer].into(), ..pipeline("mara") }, json!({}), 403),
        (Caller { kind: CallerKind::Agent, ..pipeline("mara") }, json!({}), 201),
    ] {
        let about = format!("{caller:?}");
        let got = answer(&app, post(CHECKS, build(more)).caller(Some(caller))).await;
        assert_eq!(got.status.as_u16(), status, "{about}: {}", got.body);
    }
    // What lies outside of a scope is not told.
    let id = sent(&app, post(CHECKS, build(json!({}))), 201).await["id"].clone();
    for path in [format!("{CHECKS}/{id}"), format!("/checks/{id}")] {
        for (caller, status) in [(scoped(Some("other"), None), 404), (scoped(Some("shop"), None), 200)] {
            assert_eq!(answer(&app, get(&path).caller(Some(caller))).await.status.as_u16(), status, "{path}");
        }
    }
}

#[tokio::test]
async fn who_had_a_change_checked_does_not_accept_it_where_others_have_to() {
    let app = seed::story().await;
    let settings = json!({"policy": {"approvals": 1}, "environments": [], "servers": [{"name": "orders"}]});
    let etag = answer(&app, get("/api/v1/catalogs/shop")).await.header("etag").to_owned();
    let put = crate::ask::put("/api/v1/catalogs/shop", settings).header("if-match", &etag);
    sent(&app, put, 200).await;
    let check = sent(&app, post(CHECKS, build(json!({}))).caller(Some(pipeline("mara"))), 201).await;
    let changes = codes(&check, "change");
    for named in [json!({"check": check["id"], "changes": changes}), json!({"changes": changes})] {
        for (who, ruling, status) in
            [("mara", "accept", 422), ("mara", "reject", 201), ("ann", "accept", 201)]
        {
            // Accepted before, a change is known by that, whoever had it checked.
            if named.get("check").is_none() && who == "mara" && ruling == "accept" {
                continue;
            }
            let mut body = json!({"ruling": ruling, "reason": "because"});
            body.as_object_mut().expect("one").extend(named.as_object().cloned().unwrap_or_default());
            let got = sent(&app, post(DECISIONS, body).by(who), status).await;
            assert!(status == 201 || got["code"] == "own-check", "{got:#}");
        }
    }
}

#[tokio::test]
async fn neither_an_earlier_decision_nor_everywhere_makes_a_change_somebody_elses() {
    let app = seed::story().await;
    let settings = json!({
        "policy": {"approvals": 0}, "environments": [{"name": "production", "policy": {"approvals": 1}}],
        "servers": [{"name": "orders"}],
    });
    let etag = answer(&app, get("/api/v1/catalogs/shop")).await.header("etag").to_owned();
    let put = crate::ask::put("/api/v1/catalogs/shop", settings).header("if-match", &etag);
    sent(&app, put, 200).await;
    let check = sent(&app, post(CHECKS, build(json!({}))).caller(Some(pipeline("mara"))), 201).await;
    let changes = codes(&check, "change");
    for (who, ruling, environment, status) in [
        // It would count in production as well.
        ("mara", "accept", None, 422),
        ("mara", "accept", Some("production"), 422),
        ("mara", "reject", Some("production"), 201),
        ("mara", "accept", Some("production"), 422),
        ("mara", "accept", Some("staging"), 201),
        ("mara", "accept", Some("production"), 422),
        ("ann", "accept", Some("production"), 201),
    ] {
        let mut body = json!({"changes": changes, "ruling": ruling, "reason": "because"});
        if let Some(environment) = environment {
            body["environment"] = json!(environment);
        }
        let got = sent(&app, post(DECISIONS, body).by(who), status).await;
        assert!(status == 201 || got["code"] == "own-check", "{who} {ruling} {environment:?}: {got:#}");
    }
}

#[tokio::test]
async fn the_page_of_a_check_shows_the_proof_and_takes_the_decision() {
    let app = seed::story().await;
    let checked = sent(&app, post(CHECKS, build(json!({}))), 201).await;
    let path = checked["page"].as_str().expect("a page").to_owned();
    let page = answer(&app, get(&path)).await;
    for says in ["acme/orders", "less", "3f9c2d1", "stands in the way", "2026.11.26", "Decide on this change"]
    {
        assert!(page.body.contains(says), "no {says} in {}", page.body);
    }
    let chosen: Vec<String> = codes(&checked, "change")
        .iter()
        .map(|change| format!("change-{}", change.trim_start_matches("sha256:")))
        .collect();
    let mut fields: Vec<(&str, &str)> = chosen.iter().map(|name| (name.as_str(), "on")).collect();
    fields.extend([("ruling", "accept"), ("where", "here"), ("reason", "")]);
    let decide = format!("{path}/decide");
    let again = answer(&app, submit(&decide, &fields)).await;
    assert_eq!(again.status.as_u16(), 400, "{}", again.body);
    assert!(again.body.contains("reason is empty"), "{}", again.body);
    let mut viewer = Caller::local("eve");
    viewer.roles = [Role::Viewer].into();
    let looked = answer(&app, get(&path).caller(Some(viewer.clone()))).await;
    assert!(looked.body.contains("You may look, not decide"), "{}", looked.body);
    fields.pop();
    fields.push(("reason", "nobody calls them"));
    assert_eq!(answer(&app, submit(&decide, &fields).caller(Some(viewer))).await.status.as_u16(), 403);
    assert_eq!(answer(&app, submit(&decide, &fields)).await.header("location"), path);
    let page = answer(&app, get(&path)).await;
    for says in ["No change stands in the way.", "nobody calls them", "for production alone"] {
        assert!(page.body.contains(says), "no {says} in {}", page.body);
    }
    assert_eq!(sent(&app, get(&format!("/api/v1{path}")), 200).await["passes"], true);
}

#[tokio::test]
async fn the_page_of_a_check_promises_nothing_that_will_not_be() {
    let app = seed::story().await;
    let says = async |path: &str, texts: &[&str]| {
        let page = answer(&app, get(path)).await;
        for text in texts {
            assert!(page.body.contains(text), "no {text} in {}", page.body);
        }
    };
    let broken = json!([{"name": "order_query", "inputSchema": {"type": "objekt"}}]);
    let servers = json!([{"server": "orders", "listing": {"tools": broken}}]);
    let checked =
        sent(&app, post(CHECKS, build(json!({ "environment": "staging", "servers": servers }))), 201).await;
    assert!(codes(&checked, "blocks").contains(&"absolute".to_owned()), "{checked:#}");
    let path = checked["page"].as_str().expect("a page");
    says(path, &["1 of them nobody can accept: the server has to be mended"]).await;
    // Another version is live since.
    let back = crate::support::to("staging", "2026.11.26".parse().expect("a version"), 2);
    app.rollback(&back).await.expect("rolled back");
    says(path, &["Live by now is <a href=\"/catalogs/shop/versions/2026.11.26\">2026.11.26</a>."]).await;
}
