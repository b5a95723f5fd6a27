//! What stands in the way of a move: order, freezes, approvals, what changes for whoever is there, and what is served.

use std::sync::Arc;

use serde_json::{Value, json};
use toolpact::{
    app::{
        App, AppError, Kind, MoveRequest, Overrides,
        review::{Changes, DecideRequest},
        servers,
        view::Preflight,
    },
    catalog::{CatalogVersion, Move, MoveKind, ProbeAnswer, review::Ruling},
    config::Options,
    diff::Level,
    store::Store,
};

use super::{first, orders, refused, second};
use crate::{
    command::{answers, script},
    support::{app, is, listing, release, to, tool},
};

/// A catalog `orders` whose version 2026.11.30 holds tools `a` and `b` and 2026.11.30.1 no `b` any more, with these
/// environments.
async fn two_versions(environments: &str) -> (App, Arc<dyn Store>) {
    let (app, store) = app().await;
    app.record(&is("orders"), listing(&[tool("a", &["id"]), tool("b", &[])]), "ci").await.expect("recorded");
    let draft = app.draft(&orders(), &[is("orders")], "ci").await.expect("drafted");
    app.approve(&orders(), draft.id, false, "first", "ann").await.expect("approved");
    let recorded = app.record(&is("orders"), listing(&[tool("a", &["id"])]), "ci").await.expect("recorded");
    app.approve(&orders(), recorded.drafts[0].id, true, "nobody uses b", "ben").await.expect("approved");
    let document = format!("catalog: orders\nenvironments: {environments}\n");
    app.apply("orders.yaml", &document, "ann").await.expect("applied");
    (app, store)
}

fn third() -> CatalogVersion {
    is("2026.11.30.2")
}

fn insisting(request: MoveRequest, overrides: Overrides) -> MoveRequest {
    MoveRequest { overrides, ..request }
}

const EMERGENCY: Overrides = Overrides { record_probe: false, emergency: true };
const RECORD: Overrides = Overrides { record_probe: true, emergency: false };

/// The gates of a preflight that are not passed.
fn failed(preflight: &Preflight) -> Vec<&str> {
    preflight.gates.iter().filter(|g| !g.passed).map(|g| g.code).collect()
}

/// A refusal, which left no trace.
async fn refuses(app: &App, kind: MoveKind, request: &MoveRequest) -> (Kind, &'static str, String) {
    let before = app.events(200).await.expect("events").len();
    let answer: Result<Move, AppError> = match kind {
        MoveKind::Promote => app.promote(request).await,
        MoveKind::Rollback => app.rollback(request).await,
    };
    let refusal = refused(answer);
    assert_eq!(app.events(200).await.expect("events").len(), before);
    // What is rehearsed says what the move says.
    if let Ok(preflight) = app.preflight(kind, request).await {
        assert_eq!(failed(&preflight)[..1], [refusal.1]);
    }
    refusal
}

#[tokio::test]
async fn a_version_goes_through_environments_in_their_order() {
    let (app, _) =
        two_versions("{dev: {}, staging: {after: dev}, production: {after: staging, probe: skip}}").await;
    for (environment, before) in [("staging", "dev"), ("production", "staging")] {
        let (kind, code, message) = refuses(&app, MoveKind::Promote, &to(environment, first(), 0)).await;
        assert_eq!((kind, code), (Kind::Blocked, "order"));
        assert!(message.contains(&format!("was never live in `{before}`")), "{message}");
        app.promote(&to(before, first(), 0)).await.expect("promoted");
    }
    app.promote(&to("production", first(), 0)).await.expect("promoted");
    // What was left by a rollback goes no further either.
    accept_everything(&app).await;
    app.promote(&to("dev", second(), 1)).await.expect("promoted");
    app.promote(&to("staging", second(), 1)).await.expect("promoted");
    app.rollback(&to("staging", first(), 2)).await.expect("rolled back");
    let (_, code, message) = refuses(&app, MoveKind::Promote, &to("production", second(), 1)).await;
    assert_eq!(code, "order");
    assert!(message.contains("is held in `staging`"), "{message}");
}

/// Accepts, for good, all that the second version changes.
async fn accept_everything(app: &App) {
    let draft = app.catalog(&orders()).await.expect("there").drafts[0].id;
    let request = DecideRequest {
        catalog: orders(),
        changes: Changes::Rule { draft, rule: "tool-removed".to_owned() },
        ruling: Ruling::Accept,
        environment: None,
        reason: "nobody uses b".to_owned(),
        owner: None,
        expires: None,
        actor: "ben".to_owned(),
    };
    app.decide(&request).await.expect("decided");
}

#[tokio::test]
async fn a_promotion_is_judged_by_what_changes_for_whoever_uses_the_environment() {
    let (app, _) = two_versions("{production: {}}").await;
    app.promote(&to("production", first(), 0)).await.expect("nothing was live, so nothing changes");
    // What the approval of the draft accepted is accepted here as well: it is the same change.
    let preflight = app.preflight(MoveKind::Promote, &to("production", second(), 1)).await.expect("examined");
    assert_eq!(failed(&preflight), [""; 0]);
    let report = preflight.report.as_ref().expect("there is something to compare");
    assert_eq!((report.verdict, report.tools.len()), (Level::Breaking, 1));
    let moved = app.promote(&to("production", second(), 1)).await.expect("promoted");
    assert_eq!((moved.grounds.verdict, moved.grounds.decisions.len()), (Some(Level::Breaking), 1));

    // A change that was rejected for this environment alone does not come; elsewhere it does.
    app.rollback(&to("production", first(), 2)).await.expect("rolled back");
    app.release_hold(&release(None, 3)).await.expect("released");
    let fingerprint = report.tools[0].findings[0].fingerprint.hex().to_owned();
    let request = DecideRequest {
        catalog: orders(),
        changes: Changes::Fingerprints(vec![fingerprint]),
        ruling: Ruling::Reject,
        environment: Some(is("production")),
        reason: "shops still use b".to_owned(),
        owner: None,
        expires: None,
        actor: "cat".to_owned(),
    };
    app.decide(&request).await.expect("decided");
    let (kind, code, message) = refuses(&app, MoveKind::Promote, &to("production", second(), 3)).await;
    assert_eq!((kind, code), (Kind::Blocked, "policy-blocks"));
    assert!(message.contains("rejected by cat: shops still use b"), "{message}");
    app.promote(&to("staging", first(), 0)).await.expect("promoted");
    app.promote(&to("staging", second(), 1)).await.expect("promoted");
}

#[tokio::test]
async fn a_change_that_only_an_environment_would_see_is_decided_on() {
    let (app, _) = two_versions("{production: {}}").await;
    app.promote(&to("production", first(), 0)).await.expect("promoted");
    let mut back = tool("b", &["id"]);
    back["inputSchema"]["required"] = json!(["id"]);
    let recorded = app.record(&is("orders"), listing(&[tool("a", &["id"]), back]), "ci").await;
    let draft = recorded.expect("recorded").drafts.remove(0);
    let added: Vec<&str> = draft.report.findings().map(|(_, f)| f.rule.as_str()).collect();
    assert!(!added.contains(&"required-added"), "the draft knows of no `b` before: {added:?}");
    app.approve(&orders(), draft.id, true, "b is back", "ben").await.expect("approved");
    let there = to("production", third(), 1);
    let report = app.preflight(MoveKind::Promote, &there).await.expect("examined").report.expect("compared");
    let (_, open) = report.findings().next().expect("it breaks");
    assert_eq!(open.rule, "required-added");
    let request = DecideRequest {
        catalog: orders(),
        changes: Changes::Fingerprints(vec![open.fingerprint.hex()[..12].to_owned()]),
        ruling: Ruling::Accept,
        environment: Some(is("production")),
        reason: "callers send it".to_owned(),
        owner: None,
        expires: None,
        actor: "ben".to_owned(),
    };
    assert_eq!(app.decide(&request).await.expect("decided")[0].fingerprint, open.fingerprint);
    app.promote(&there).await.expect("promoted");
}

#[tokio::test]
async fn an_environment_asks_for_more_approvals_and_fewer_tools_than_its_catalog() {
    let (app, _) =
        two_versions("{production: {approvals: 2}, edge: {maxTools: 1}, staging: {failOn: []}}").await;
    let (_, code, message) = refuses(&app, MoveKind::Promote, &to("production", first(), 0)).await;
    assert_eq!(code, "approvals");
    assert!(message.contains("approved by 1 of 2 people"), "{message}");
    assert_eq!(refused(app.approve(&orders(), 1, false, "me too", "ci").await).1, "own-draft");
    let approved = app.approve(&orders(), 1, false, "me too", "ben").await.expect("approved as well");
    assert_eq!(approved.approvals.len(), 2);
    let again = refused(app.approve(&orders(), 1, false, "and me", "cat").await);
    assert_eq!(again.1, "draft-decided", "nobody asks for three");
    let moved = app.promote(&to("production", first(), 0)).await.expect("promoted");
    assert_eq!(moved.grounds.approvers, ["ann", "ben"]);
    assert_eq!(refuses(&app, MoveKind::Promote, &to("edge", first(), 0)).await.1, "too-many-tools");
    app.promote(&to("edge", second(), 0)).await.expect("promoted");
}

#[tokio::test]
async fn nothing_moves_where_it_is_frozen_but_for_an_emergency() {
    let (app, _) = two_versions("{}").await;
    app.promote(&to("production", first(), 0)).await.expect("promoted");
    app.promote(&to("production", second(), 1)).await.expect("promoted");
    let production = is("production");
    app.freeze(&production, None, "sales week", "ann").await.expect("frozen");
    assert_eq!(refused(app.freeze(&production, None, "twice", "ann").await).1, "frozen-already");
    app.freeze(&production, Some(&orders()), "and this", "ann").await.expect("frozen");
    let back = to("production", first(), 2);
    let (_, code, message) = refuses(&app, MoveKind::Rollback, &back).await;
    assert_eq!(code, "frozen");
    assert!(message.contains("frozen since 2026-11-30T12:00:00Z by ann: sales week"), "{message}");
    let promotion = insisting(to("production", first(), 2), EMERGENCY);
    assert_eq!(refused(app.promote(&promotion).await).1, "emergency-promotion");
    let moved = app.rollback(&insisting(back, EMERGENCY)).await.expect("an emergency");
    assert!(moved.grounds.emergency);
    assert_eq!(moved.grounds.overridden, ["frozen"]);
    app.unfreeze(&production, None, "over", "ann").await.expect("unfrozen");
    assert_eq!(refused(app.unfreeze(&production, None, "over", "ann").await).1, "not-frozen");
    let page = app.environment(&production).await.expect("there").remove(0);
    assert_eq!(page.freezes.len(), 1);
    app.unfreeze(&production, Some(&orders()), "over", "ann").await.expect("unfrozen");
    assert_eq!(refused(app.freeze(&production, Some(&is("order")), "x", "ann").await).1, "unknown-catalog");
    let kinds: Vec<String> = app.events(3).await.expect("events").into_iter().map(|e| e.kind).collect();
    assert_eq!(kinds, ["environment.unfrozen", "environment.unfrozen", "environment.rolled-back"]);
}

#[tokio::test]
async fn only_an_environment_that_something_names_is_frozen() {
    let (app, _) = two_versions("{production: {}}").await;
    let (kind, code, message) = refused(app.freeze(&is("prodution"), None, "sale", "ann").await);
    assert_eq!((kind, code), (Kind::NotFound, "unknown-environment"));
    assert!(message.ends_with("did you mean `production`?"), "{message}");
    app.freeze(&is("production"), None, "before anything is live", "ann")
        .await
        .expect("the settings name it");
    assert_eq!(refuses(&app, MoveKind::Promote, &to("production", first(), 0)).await.1, "frozen");
    assert_eq!(refused(app.freeze(&is("staging"), None, "sale", "ann").await).1, "unknown-environment");
    app.promote(&to("staging", first(), 0)).await.expect("promoted");
    app.freeze(&is("staging"), None, "sale", "ann").await.expect("something is live there");
}

#[tokio::test]
async fn a_rollback_says_what_is_lost_and_blocks_only_where_the_policy_says_so() {
    let (app, _) = two_versions("{production: {rollbackFailOn: [breaking]}, staging: {}}").await;
    let added = listing(&[tool("a", &["id"]), tool("c", &[])]);
    let draft = app.record(&is("orders"), added, "ci").await.expect("recorded").drafts.remove(0);
    app.approve(&orders(), draft.id, false, "c comes", "ben").await.expect("approved");
    for environment in ["production", "staging"] {
        app.promote(&to(environment, second(), 0)).await.expect("promoted");
        app.promote(&to(environment, third(), 1)).await.expect("promoted");
    }
    let back = |environment| to(environment, second(), 2);
    let preflight = app.preflight(MoveKind::Rollback, &back("staging")).await.expect("examined");
    let lost = preflight.report.expect("what is lost");
    assert_eq!((lost.verdict, lost.tools[0].tool.as_str()), (Level::Breaking, "c"));
    assert_eq!(preflight.servers.len(), 1, "the release that belongs to the target");
    app.rollback(&back("staging")).await.expect("the loss is stated, not forbidden");
    assert_eq!(refuses(&app, MoveKind::Rollback, &back("production")).await.1, "policy-blocks");
    let moved = app.rollback(&insisting(back("production"), EMERGENCY)).await.expect("an emergency");
    assert_eq!(moved.grounds.overridden, ["policy-blocks"]);
}

/// Registers server `name` so that it lists these tools from now on.
async fn serves(app: &App, name: &str, tools: &[Value]) {
    let list = answers(&json!({ "tools": tools }).to_string());
    let text = json!({"mcpServers": {name: {"command": "bash", "args": ["-c", script(&list)]}}});
    let found = servers::read("mcp.json", &text.to_string(), Options::default()).expect("a configuration");
    assert!(app.import(found, true, false, "ann").await.expect("imported").applied);
}

#[tokio::test]
async fn what_is_promoted_has_to_be_what_is_served() {
    let (app, _) = two_versions("{}").await;
    let pinned = [tool("a", &["id"]), tool("b", &[])];
    let moved = app.promote(&to("dev", first(), 0)).await.expect("nobody can be asked");
    assert_eq!(moved.grounds.probed[0].answer, ProbeAnswer::Unregistered);

    // Served otherwise, not served at all, and one that nobody pinned, which does not matter.
    serves(&app, "orders", &[tool("a", &["id", "other"]), tool("z", &[])]).await;
    let (kind, code, message) = refuses(&app, MoveKind::Promote, &to("staging", first(), 0)).await;
    assert_eq!((kind, code), (Kind::Blocked, "not-served"));
    assert!(message.ends_with("server `orders` serves otherwise `a` and does not serve `b`"), "{message}");
    let moved = app.promote(&insisting(to("staging", first(), 0), RECORD)).await.expect("recorded");
    assert_eq!(moved.grounds.overridden, ["not-served"]);
    assert_eq!(
        (&moved.grounds.probed[0].changed[..], &moved.grounds.probed[0].missing[..]),
        (&["a".to_owned()][..], &["b".to_owned()][..])
    );
    // It is in the history and in the log.
    let page = app.environment(&is("staging")).await.expect("there").remove(0);
    assert_eq!(page.history[0].grounds, moved.grounds);
    let event = app.events(1).await.expect("events").remove(0);
    assert_eq!(event.data["grounds"]["probed"][0]["answer"], "differs");

    serves(&app, "orders", &[pinned[1].clone(), pinned[0].clone(), tool("z", &[])]).await;
    let moved = app.promote(&to("production", first(), 0)).await.expect("promoted");
    assert_eq!(moved.grounds.probed[0].answer, ProbeAnswer::Serves);
    // A server that is down serves nothing; going back is what one does then.
    let gone = json!({"mcpServers": {"orders": {"command": "/nowhere/server"}}}).to_string();
    let found = servers::read("mcp.json", &gone, Options::default()).expect("a configuration");
    app.import(found, true, false, "ann").await.expect("imported");
    assert_eq!(refuses(&app, MoveKind::Promote, &to("production", second(), 1)).await.1, "not-served");
    app.promote(&insisting(to("production", second(), 1), RECORD)).await.expect("recorded");
    let back = app.rollback(&to("production", first(), 2)).await.expect("rolled back");
    assert_eq!(back.grounds.probed, [], "nobody waits for a server to go back");
}

#[tokio::test]
async fn an_environment_may_be_served_by_another_server() {
    let (app, _) = two_versions(
        "{production: {servers: {orders: orders-eu}}, dev: {probe: skip}, staging: {probe: record}}",
    )
    .await;
    serves(&app, "orders", &[tool("a", &["id"]), tool("b", &[])]).await;
    serves(&app, "orders-eu", &[tool("a", &["id"])]).await;
    let (_, code, message) = refuses(&app, MoveKind::Promote, &to("production", first(), 0)).await;
    assert_eq!(code, "not-served");
    assert!(message.ends_with("server `orders-eu` does not serve `b`"), "{message}");
    app.promote(&to("production", second(), 0)).await.expect("promoted");
    serves(&app, "orders", &[]).await;
    let asked = app.promote(&to("staging", first(), 0)).await.expect("what is served is recorded");
    assert_eq!(asked.grounds.probed[0].answer, ProbeAnswer::Differs);
    let skipped = app.promote(&to("dev", first(), 0)).await.expect("nobody is asked");
    assert_eq!(skipped.grounds.probed, []);
}

/// The words of the gate that asks what is served.
async fn said_of_servers(app: &App, kind: MoveKind, request: &MoveRequest) -> String {
    let preflight = app.preflight(kind, request).await.expect("examined");
    let gate = preflight.gates.into_iter().find(|g| g.code == "not-served");
    gate.map(|g| format!("{}{}", if g.passed { "" } else { "NOT " }, g.message)).unwrap_or_default()
}

#[tokio::test]
async fn a_server_that_is_named_to_serve_an_environment_has_to_be_registered() {
    let (app, _) = two_versions(
        "{production: {servers: {orders: typo}}, staging: {probe: record, servers: {orders: typo}}, dev: {}}",
    )
    .await;
    let unknown = "server `typo` is not registered, so nobody was asked";
    for (environment, said) in [
        ("production", format!("NOT whether version 2026.11.30 is what is served is not known: {unknown}")),
        ("staging", unknown.to_owned()),
        // Whoever names no server need not register one.
        ("dev", "server `orders` is not registered, so nobody was asked".to_owned()),
    ] {
        let request = to(environment, first(), 0);
        assert_eq!(said_of_servers(&app, MoveKind::Promote, &request).await, said, "{environment}");
    }
    assert_eq!(refuses(&app, MoveKind::Promote, &to("production", first(), 0)).await.1, "not-served");
    let moved = app.promote(&insisting(to("production", first(), 0), RECORD)).await.expect("recorded");
    assert_eq!(moved.grounds.overridden, ["not-served"]);
    app.promote(&to("dev", first(), 0)).await.expect("promoted");
}

#[tokio::test]
async fn a_name_that_is_listed_with_different_contents_serves_nothing() {
    let (app, _) = two_versions("{staging: {probe: record}}").await;
    let (a, b) = (tool("a", &["id"]), tool("b", &[]));
    let request = to("production", first(), 0);
    for (listed, said) in [
        ([a.clone(), b.clone(), a.clone()], "no server was found to serve something else"),
        (
            [a.clone(), b.clone(), tool("a", &["other"])],
            "NOT version 2026.11.30 is not what is served: server `orders` serves otherwise `a`",
        ),
    ] {
        serves(&app, "orders", &listed).await;
        assert_eq!(said_of_servers(&app, MoveKind::Promote, &request).await, said);
    }
    let recorded = said_of_servers(&app, MoveKind::Promote, &to("staging", first(), 0)).await;
    assert_eq!(recorded, "nothing has to be served here; server `orders` serves otherwise `a`");
}

#[tokio::test]
async fn what_cannot_be_compared_is_not_promoted_where_something_is_demanded() {
    let (app, _) = two_versions("{production: {}}").await;
    let unpinned = |environment: &'static str, generation| to(environment, is("2026.12.24"), generation);
    let text = format!(
        "catalog: orders\ncatalogVersion: 2026.12.24\ntools:\n  - name: x\n    contractVersion: 1\n    \
         compatibility: initial\n    digests: {{policy: tp1, raw: {0}, contract: {0}, presentation: {0}}}\n",
        format_args!("\"sha256:{}\"", "a".repeat(64))
    );
    app.apply("orders.yaml", &text, "ann").await.expect("applied");
    app.promote(&to("production", first(), 0)).await.expect("promoted");
    app.promote(&to("staging", first(), 0)).await.expect("promoted");
    assert_eq!(refuses(&app, MoveKind::Promote, &unpinned("production", 1)).await.1, "contracts-unknown");
    let moved = app.promote(&unpinned("staging", 1)).await.expect("nothing is demanded there");
    assert_eq!(moved.grounds.verdict, None);
}

#[tokio::test]
async fn what_a_document_brought_needs_the_approvals_that_its_catalog_asks_for() {
    let (app, _) = two_versions("{}").await;
    let text = "catalog: orders\ncatalogVersion: 2026.12.24\npolicy: {approvals: 1}\ntools: []\n";
    app.apply("orders.yaml", text, "mallory").await.expect("applied");
    let alone = to("staging", is("2026.12.24"), 0);
    assert_eq!(refuses(&app, MoveKind::Promote, &alone).await.1, "approvals");
}

#[tokio::test]
async fn unknown_is_never_read_as_compatible() {
    let (app, _) = two_versions("{production: {rollbackFailOn: [undecided]}}").await;
    let bare = |day: &str, tool: &str| {
        format!(
            "catalog: orders\ncatalogVersion: {day}\ntools:\n  - name: {tool}\n    contractVersion: 1\n    \
             compatibility: initial\n"
        )
    };
    for (day, tool) in [("2026.12.24", "x"), ("2026.12.25", "y")] {
        app.apply("orders.yaml", &bare(day, tool), "ann").await.expect("applied");
    }
    app.promote(&to("production", is("2026.12.24"), 0)).await.expect("nothing was live");
    let other = to("production", is("2026.12.25"), 1);
    assert_eq!(refuses(&app, MoveKind::Promote, &other).await.1, "contracts-unknown");
    let (app, _) = two_versions("{production: {rollbackFailOn: [undecided]}}").await;
    app.apply("orders.yaml", &bare("2026.12.24", "x"), "ann").await.expect("applied");
    app.promote(&to("production", is("2026.12.24"), 0)).await.expect("nothing was live");
    app.apply("orders.yaml", "catalog: orders\nenvironments: {}\n", "ann").await.expect("applied");
    app.promote(&to("production", first(), 1)).await.expect("nothing is demanded");
    let document = "catalog: orders\nenvironments: {production: {rollbackFailOn: [undecided]}}\n";
    app.apply("orders.yaml", document, "ann").await.expect("applied");
    let back = to("production", is("2026.12.24"), 2);
    assert_eq!(refuses(&app, MoveKind::Rollback, &back).await.1, "contracts-unknown");
    app.rollback(&insisting(back, EMERGENCY)).await.expect("an emergency");
}
