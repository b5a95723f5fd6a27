//! One server under several credentials: what each is told, and that catalogs rely on the first.

use std::collections::BTreeMap;

use toolpact::{
    app::{App, Kind, lists::Slice, servers, view::Drift},
    catalog::server::AuthContext,
    config::Options,
    snapshot::Outcome,
};

use super::refused;
use crate::{
    command::{answers, script},
    support::{app, is, listing, tool},
};

/// A server that lists by the variable `ROLE`: `admin` gets a tool more than `reader`, `spy` gets another `find`, and
/// nobody else gets anything.
async fn orders(app: &App) {
    let tool = |name: &str, words: &str| {
        format!(r#"{{"name":"{name}","description":"{words}","inputSchema":{{"type":"object"}}}}"#)
    };
    let list = |tools: &[String]| answers(&format!(r#"{{"tools":[{}]}}"#, tools.join(",")));
    let (find, drop, other) =
        (tool("find", "finds"), tool("drop", "drops"), tool("find", "finds, and tells"));
    let list = format!(
        "case $ROLE in admin) {} ;; reader) {} ;; spy) {} ;; *) exit 9 ;; esac",
        list(&[find.clone(), drop]),
        list(&[find]),
        list(&[other]),
    );
    let text =
        serde_json::json!({"mcpServers": {"orders": {"command": "bash", "args": ["-c", script(&list)]}}});
    let found = servers::read("mcp.json", &text.to_string(), Options::default()).expect("a configuration");
    assert!(app.import(found, false, false, "ann").await.expect("imported").applied);
}

fn role(name: &str) -> AuthContext {
    let env = BTreeMap::from([("ROLE".to_owned(), name.into())]);
    AuthContext { name: name.to_owned(), env, ..AuthContext::default() }
}

async fn under(app: &App, name: &str) {
    app.set_context(&is("orders"), role(name), false, "ann").await.expect("set");
}

#[tokio::test]
async fn a_list_may_vary_by_who_asks_and_a_tool_may_not() {
    let (app, _store) = app().await;
    orders(&app).await;
    under(&app, "admin").await;
    under(&app, "reader").await;
    let recorded = app.snapshot_registered(&is("orders"), "ann").await.expect("asked");
    assert_eq!((recorded.listing.tools, &recorded.drift), (Some(2), &Drift::First));
    assert_eq!(recorded.contexts.len(), 1);
    assert_eq!((recorded.contexts[0].0.tools, &recorded.contexts[0].1), (Some(1), &Drift::First));
    assert_eq!(recorded.split_views, [], "a tool more is no split view");

    under(&app, "spy").await;
    let recorded = app.snapshot_registered(&is("orders"), "ann").await.expect("asked");
    assert_eq!(recorded.drift, Drift::Identical, "each context is compared with itself");
    let told: Vec<String> = recorded.split_views.iter().map(|v| v.told()).collect();
    assert_eq!(told, ["tool `find` is one thing under admin and reader and another under spy"]);
    let alarms = app.events(100).await.expect("events").into_iter().filter(|e| e.kind == "server.split-view");
    assert_eq!(alarms.count(), 1);
    let page = app.server(&is("orders")).await.expect("there");
    assert_eq!(
        (page.tools.len(), page.split_views.len()),
        (2, 1),
        "the first context is what it is known by"
    );
    let summary = app.servers().await.expect("there").remove(0);
    assert_eq!(summary.last.expect("listed").tools, Some(2));
}

#[tokio::test]
async fn a_context_that_fails_changes_nothing_for_the_others() {
    let (app, _store) = app().await;
    orders(&app).await;
    under(&app, "admin").await;
    under(&app, "stranger").await;
    let recorded = app.snapshot_registered(&is("orders"), "ann").await.expect("asked");
    assert_eq!(recorded.listing.outcome, Outcome::Ok);
    assert_eq!(recorded.contexts[0].0.outcome, Outcome::Unavailable);
    let sweep = app.sweep(app.registered().await.expect("there"), 4, "ann", |_| {}).await.expect("swept");
    assert!(!sweep.is_whole());
    assert!(sweep.servers[0].message.starts_with("under stranger: "), "{}", sweep.servers[0].message);
    assert_eq!(sweep.servers[0].tools, Some(2));
}

#[tokio::test]
async fn servers_are_found_by_how_the_context_ended_that_catalogs_rely_on() {
    let (app, _store) = app().await;
    orders(&app).await;
    // By name another comes before it.
    for name in ["reader", "a-stranger"] {
        under(&app, name).await;
    }
    for (role_of_reader, expected) in [("reader", (1, 0)), ("nobody", (0, 1)), ("reader", (1, 0))] {
        let reader = AuthContext { name: "reader".to_owned(), ..role(role_of_reader) };
        app.set_context(&is("orders"), reader, false, "ann").await.expect("set");
        app.snapshot_registered(&is("orders"), "ann").await.expect("asked");
        let found = async |outcome| {
            let page =
                app.servers_page(Some(outcome), &Slice { after: None, limit: 10 }).await.expect("read");
            page.items
                .into_iter()
                .map(|server| server.last_ok.expect("it was good once").tools)
                .collect::<Vec<_>>()
        };
        let (good, bad) = (found(Outcome::Ok).await, found(Outcome::Unavailable).await);
        assert_eq!((good.len(), bad.len()), expected, "{role_of_reader}");
        assert!(good.iter().chain(&bad).all(|tools| *tools == Some(1)), "{good:?} {bad:?}");
    }
}

#[tokio::test]
async fn a_context_that_cannot_be_asked_is_recorded_beside_the_others() {
    let (app, _store) = app().await;
    let app = app.with_variables(|_| None);
    orders(&app).await;
    under(&app, "admin").await;
    let mut unset = role("${NOBODY_SET_IT}");
    unset.name = "unset".to_owned();
    app.set_context(&is("orders"), unset, false, "ann").await.expect("set");
    let recorded = app.snapshot_registered(&is("orders"), "ann").await.expect("asked");
    assert_eq!((recorded.listing.outcome, recorded.listing.tools), (Outcome::Ok, Some(2)));
    let (row, drift) = &recorded.contexts[0];
    assert_eq!((row.outcome, drift), (Outcome::Unavailable, &Drift::Unknown));
    assert!(row.evidence.message.contains("`NOBODY_SET_IT` is not set"), "{:?}", row.evidence);
}

#[tokio::test]
async fn a_context_that_is_of_no_use_is_refused() {
    let (app, _store) = app().await;
    orders(&app).await;
    let with = |headers: &[(&str, &str)], env: &[(&str, &str)], name: &str| {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).into())).collect::<BTreeMap<_, _>>()
        };
        AuthContext { name: name.to_owned(), headers: map(headers), env: map(env), oauth: None }
    };
    for (context, remove, words) in [
        (with(&[("X-Role", "a")], &[], "a"), false, "headers are for a URL"),
        (with(&[], &[("API_KEY", "abcdef0123456789")], "a"), false, "holds a secret"),
        (with(&[], &[], " "), false, "a context's name has"),
        (with(&[], &[], "a"), true, "has no context `a`"),
    ] {
        let (kind, code, message) =
            refused(app.set_context(&is("orders"), context.clone(), remove, "ann").await);
        assert_eq!((kind, code), (Kind::Invalid, "invalid-context"), "{context:?}");
        assert!(message.contains(words) && !message.contains("abcdef"), "{message}");
    }
    assert!(app.registered().await.expect("there")[0].contexts.is_empty());
}

#[tokio::test]
async fn no_alarm_comes_of_what_a_context_is_told_no_more() {
    let (app, _store) = app().await;
    orders(&app).await;
    for name in ["admin", "spy"] {
        under(&app, name).await;
    }
    let alarms = async || {
        let recorded = app.snapshot_registered(&is("orders"), "ann").await.expect("asked");
        let page = app.server(&is("orders")).await.expect("there");
        (recorded.split_views.len(), page.split_views.len())
    };
    assert_eq!(alarms().await, (1, 1));
    // It fails now: what it was told before is held against nobody.
    let mut failing = role("stranger");
    failing.name = "spy".to_owned();
    app.set_context(&is("orders"), failing, false, "ann").await.expect("set");
    assert_eq!(alarms().await, (0, 0));
    under(&app, "spy").await;
    assert_eq!(alarms().await, (1, 1));
    app.set_context(&is("orders"), role("spy"), true, "ann").await.expect("removed");
    assert_eq!(alarms().await, (0, 0));
}

#[tokio::test]
async fn what_one_context_tells_by_itself_has_all_of_them_asked() {
    let (app, _store) = app().await;
    orders(&app).await;
    under(&app, "admin").await;
    under(&app, "reader").await;
    for (context, others) in [("admin", 1), ("default", 0)] {
        let mut told = listing(&[tool("find", &["other"])]);
        told.provenance.auth_context = context.to_owned();
        let recorded = app.record_news(&is("orders"), told, "poller").await.expect("recorded");
        assert_eq!((recorded.contexts.len(), recorded.split_views.len()), (others, 0), "{context}");
    }
}
