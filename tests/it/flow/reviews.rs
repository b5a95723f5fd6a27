//! Reviews: decisions on changes, approvals by others, waivers that end, edits, remarks, and what waits behind a draft.

use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use toolpact::{
    app::{
        App, Clock, Kind,
        review::{Changes, DecideRequest},
    },
    catalog::{Draft, DraftStatus, review::Ruling},
    name::ServerName,
};

use super::{orders, refused};
use crate::support::{is, listing, noon, tool};

/// A clock that is set by hand.
#[derive(Clone)]
struct Hands(Arc<Mutex<DateTime<Utc>>>);

impl Clock for Hands {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().expect("whole")
    }
}

/// A catalog `orders` under this policy, whose first version holds tools `a` and `b`, and a pending draft in which `a`
/// requires `id` and `b` is gone.
async fn breaking(policy: &str) -> (App, Hands, Draft) {
    let hands = Hands(Arc::new(Mutex::new(noon())));
    let app = App::new(crate::database::store().await, Arc::new(hands.clone()));
    let tools = [tool("a", &["id"]), tool("b", &["id"])];
    app.record(&is("orders"), listing(&tools), "ci").await.expect("recorded");
    let first = app.draft(&orders(), &[is("orders")], "ci").await.expect("drafted");
    app.approve(&orders(), first.id, false, "first", "ann").await.expect("approved");
    let document = format!("catalog: orders\npolicy: {policy}\n");
    app.apply("orders.yaml", &document, "ann").await.expect("applied");
    let draft = drift(&app, &[required("a")]).await;
    (app, hands, draft)
}

fn required(name: &str) -> Value {
    let mut tool = tool(name, &["id"]);
    tool["inputSchema"]["required"] = json!(["id"]);
    tool
}

/// Lists these tools; answers the draft that formed.
async fn drift(app: &App, tools: &[Value]) -> Draft {
    let recorded = app.record(&is("orders"), listing(tools), "ci").await.expect("recorded");
    recorded.drafts.into_iter().next().unwrap_or_else(|| panic!("no draft formed: {:?}", recorded.skipped))
}

fn decide(changes: Changes, ruling: Ruling) -> DecideRequest {
    DecideRequest {
        catalog: orders(),
        changes,
        ruling,
        environment: None,
        reason: "we asked everyone".to_owned(),
        owner: None,
        expires: None,
        actor: "ben".to_owned(),
    }
}

fn rule(draft: &Draft, rule: &str) -> Changes {
    Changes::Rule { draft: draft.id, rule: rule.to_owned() }
}

/// The code of a refusal to approve, or the version that came of it.
async fn approved(app: &App, draft: &Draft, actor: &str) -> Result<Option<String>, &'static str> {
    let answer = app.approve(&draft.catalog, draft.id, false, "go", actor).await;
    answer.map(|a| a.version.map(|v| v.version.to_string())).map_err(|e| e.code)
}

#[tokio::test]
async fn every_change_that_blocks_is_decided_and_the_decision_sticks_to_it() {
    let (app, _, draft) = breaking("{}").await;
    assert_eq!(approved(&app, &draft, "ann").await, Err("policy-blocks"));
    let accepted = app.decide(&decide(rule(&draft, "tool-removed"), Ruling::Accept)).await.expect("decided");
    assert_eq!(accepted.len(), 1);
    assert_eq!(accepted[0].change, "breaking: tool `b`: tool `b` is no longer listed");
    assert_eq!(approved(&app, &draft, "ann").await, Err("policy-blocks"), "one of two is decided");

    // The same changes on a later snapshot are decided already; only `c` is new, and that is no break.
    let next = drift(&app, &[required("a"), tool("c", &[])]).await;
    let review = app.review(&orders(), next.id).await.expect("there");
    let blocks: Vec<_> = review.standing.iter().map(|s| (s.blocks, s.decision.is_some())).collect();
    assert_eq!(blocks, [(Some("open"), false), (None, true), (None, false)]);

    let open = review.standing.iter().find(|s| s.blocks.is_some()).expect("one is open");
    let short = Changes::Fingerprints(vec![open.fingerprint.hex()[..8].to_owned()]);
    app.decide(&decide(short, Ruling::Accept)).await.expect("decided");
    assert_eq!(approved(&app, &next, "ann").await, Ok(Some("2026.11.30.1".to_owned())));
}

#[tokio::test]
async fn a_decision_on_a_tool_that_goes_says_nothing_of_another_one_of_that_name() {
    let (app, _, draft) = breaking("{}").await;
    for gone in ["tool-removed", "required-added"] {
        app.decide(&decide(rule(&draft, gone), Ruling::Accept)).await.expect("decided");
    }
    assert!(approved(&app, &draft, "ann").await.is_ok());
    for (back, blocks) in [(tool("b", &["id"]), None), (tool("b", &["amount"]), Some("open"))] {
        let come = drift(&app, &[required("a"), back]).await;
        assert!(app.approve(&orders(), come.id, true, "it is back", "ann").await.is_ok());
        let gone = drift(&app, &[required("a")]).await;
        let review = app.review(&orders(), gone.id).await.expect("there");
        assert_eq!(review.standing.iter().map(|s| s.blocks).collect::<Vec<_>>(), [blocks]);
        assert!(app.approve(&orders(), gone.id, true, "it is gone", "ann").await.is_ok());
    }
}

#[tokio::test]
async fn a_rejected_change_blocks_whatever_its_level_until_it_is_decided_again() {
    let (app, _, draft) = breaking("{failOn: []}").await;
    app.decide(&decide(rule(&draft, "tool-removed"), Ruling::Reject)).await.expect("decided");
    let (kind, code, message) = refused(app.approve(&orders(), draft.id, true, "go", "ann").await);
    assert_eq!((kind, code), (Kind::Blocked, "change-rejected"), "{message}");
    assert!(message.ends_with("(rejected by ben: we asked everyone)"), "{message}");
    app.decide(&decide(rule(&draft, "tool-removed"), Ruling::Withdraw)).await.expect("decided");
    assert_eq!(approved(&app, &draft, "ann").await, Ok(Some("2026.11.30.1".to_owned())));
}

#[tokio::test]
async fn a_waiver_ends_by_itself_and_blocks_again() {
    let (app, hands, draft) = breaking("{failOn: [breaking]}").await;
    let until = |days| DecideRequest {
        expires: Some(noon() + TimeDelta::days(days)),
        owner: Some("team-orders".to_owned()),
        ..decide(rule(&draft, "tool-removed"), Ruling::Accept)
    };
    assert_eq!(refused(app.decide(&until(0)).await).1, "bad-expiry");
    let rejected = DecideRequest { ruling: Ruling::Reject, ..until(1) };
    assert_eq!(refused(app.decide(&rejected).await).1, "bad-expiry");
    let ownerless = DecideRequest { expires: None, ..until(1) };
    assert_eq!(refused(app.decide(&ownerless).await).1, "owner-without-expiry");
    app.decide(&until(3)).await.expect("waived");
    app.decide(&decide(rule(&draft, "required-added"), Ruling::Accept)).await.expect("decided");
    let blocks = async || {
        let review = app.review(&orders(), draft.id).await.expect("there");
        review.standing.iter().filter_map(|s| s.blocks).collect::<Vec<_>>()
    };
    assert_eq!(blocks().await, [""; 0]);
    *hands.0.lock().expect("whole") += TimeDelta::days(3);
    assert_eq!(blocks().await, ["waiver-expired"]);
    let (_, code, message) = refused(app.approve(&orders(), draft.id, false, "go", "ann").await);
    assert_eq!(code, "policy-blocks");
    assert!(message.ends_with("(the waiver of team-orders ended on 2026-12-03)"), "{message}");
}

#[tokio::test]
async fn decisions_that_make_no_sense_are_refused_and_leave_no_trace() {
    let (app, _, draft) = breaking("{}").await;
    let before = app.events(100).await.expect("events").len();
    let named = |texts: &[&str]| Changes::Fingerprints(texts.iter().map(|t| (*t).to_owned()).collect());
    for (changes, code) in [
        (rule(&draft, "tool-gone"), "unknown-rule"),
        (Changes::Rule { draft: 99, rule: "tool-removed".to_owned() }, "unknown-draft"),
        (named(&[]), "no-change"),
        (named(&["abc"]), "bad-fingerprint"),
        (named(&["not hex at all"]), "bad-fingerprint"),
        (named(&["0123456789abcdef"]), "unknown-change"),
    ] {
        assert_eq!(refused(app.decide(&decide(changes, Ruling::Accept)).await).1, code);
    }
    let removed = || decide(rule(&draft, "tool-removed"), Ruling::Accept);
    let waived = |owner: &str| DecideRequest {
        owner: Some(owner.to_owned()),
        expires: Some(noon() + TimeDelta::days(1)),
        ..removed()
    };
    let many = vec!["0123456789abcdef"; 1_001];
    for (request, code) in [
        (DecideRequest { reason: " ".to_owned(), ..removed() }, "empty-reason"),
        (DecideRequest { reason: "x".repeat(4_001), ..removed() }, "invalid-reason"),
        (DecideRequest { reason: "a\0b".to_owned(), ..removed() }, "invalid-reason"),
        (waived(" "), "invalid-owner"),
        (waived(&"x".repeat(101)), "invalid-owner"),
        (waived("a\nb"), "invalid-owner"),
        (waived("a\0b"), "invalid-owner"),
        (decide(named(&many), Ruling::Accept), "too-many-changes"),
        (decide(named(&many[1..]), Ruling::Accept), "unknown-change"),
        (DecideRequest { environment: Some(is("production")), ..removed() }, "unknown-environment"),
    ] {
        assert_eq!(refused(app.decide(&request).await).1, code);
    }
    let elsewhere =
        DecideRequest { catalog: is("order"), ..decide(rule(&draft, "tool-removed"), Ruling::Accept) };
    assert_eq!(refused(app.decide(&elsewhere).await).1, "unknown-catalog");
    assert_eq!(app.events(100).await.expect("events").len(), before);
    let decided = app.decide(&DecideRequest { reason: "x".repeat(4_000), ..waived(&"ü".repeat(100)) }).await;
    assert_eq!(decided.expect("decided").len(), 1, "as much as may be");
}

#[tokio::test]
async fn what_is_never_accepted_is_not_decided_either() {
    let (app, _, _) = breaking("{}").await;
    let twice = drift(&app, &[tool("a", &["id"]), tool("a", &[]), tool("b", &["id"])]).await;
    let (kind, code, _) =
        refused(app.decide(&decide(rule(&twice, "duplicate-tool-name"), Ruling::Accept)).await);
    assert_eq!((kind, code), (Kind::Blocked, "absolute-finding"));
    assert_eq!(approved(&app, &twice, "ann").await, Err("absolute-finding"));
}

#[tokio::test]
async fn a_draft_needs_as_many_people_as_its_policy_says_and_none_of_its_authors() {
    let (app, _, draft) = breaking("{failOn: [], approvals: 2}").await;
    assert_eq!(approved(&app, &draft, "ci").await, Err("own-draft"));
    assert_eq!(approved(&app, &draft, "ann").await, Ok(None));
    let events = app.events(100).await.expect("events").len();
    assert_eq!(approved(&app, &draft, "ann").await, Ok(None), "one person counts once");
    assert_eq!(app.events(100).await.expect("events").len(), events, "and is noted once");
    let review = app.review(&orders(), draft.id).await.expect("there");
    assert_eq!((review.approvals.len(), review.needed), (1, 2));
    assert_eq!(approved(&app, &draft, "ben").await, Ok(Some("2026.11.30.1".to_owned())));
    let kinds: Vec<String> = app.events(2).await.expect("events").into_iter().map(|e| e.kind).collect();
    assert_eq!(kinds, ["draft.approved", "draft.endorsed"]);
}

#[tokio::test]
async fn an_edit_is_a_patch_of_what_the_draft_holds_and_approvals_begin_anew() {
    let (app, _, draft) = breaking("{failOn: [], approvals: 1}").await;
    let next = drift(&app, &[tool("a", &["id"]), tool("b", &["id"]), tool("c", &[]), tool("d", &[])]).await;
    assert_eq!(app.get_draft(&orders(), draft.id).await.expect("there").status, DraftStatus::Superseded);
    let edit = async |patch: Value| app.edit(&orders(), next.id, None, &patch, "cat").await;

    for (patch, code) in [
        (json!({}), "bad-patch"),
        (json!([{"op": "remove", "path": "/members/9"}]), "bad-patch"),
        (json!([{"op": "replace", "path": "/digestPolicy", "value": "tp9"}]), "bad-patch"),
        (json!([{"op": "remove", "path": "/members/0/tool"}]), "bad-patch"),
        (json!([{"op": "copy", "from": "/members/0", "path": "/members/-"}]), "bad-edit"),
        (json!([{"op": "replace", "path": "/members/2/tool", "value": "zebra"}]), "bad-edit"),
        (json!([{"op": "copy", "from": "/members/0/digests", "path": "/members/1/digests"}]), "bad-edit"),
        (json!([{"op": "replace", "path": "/members/2/compatibility", "value": "breaking"}]), "bad-edit"),
        (json!([{"op": "replace", "path": "/members/2/contractVersion", "value": "0.9.0"}]), "bad-edit"),
        (json!([{"op": "test", "path": "/members/0/tool", "value": "a"}]), "nothing-changed"),
    ] {
        assert_eq!(refused(edit(patch.clone()).await).1, code, "{patch}");
    }
    assert_eq!(app.get_draft(&orders(), next.id).await.expect("there"), next);

    // Without `c`, and `d` as an experiment with a higher number.
    let edited = edit(json!([
        {"op": "test", "path": "/members/2/tool", "value": "c"},
        {"op": "remove", "path": "/members/2"},
        {"op": "add", "path": "/members/2/status", "value": "experimental"},
        {"op": "replace", "path": "/members/2/contractVersion", "value": "2.0.0"},
    ]))
    .await
    .expect("edited");
    let held: Vec<_> = edited
        .content
        .members
        .iter()
        .map(|m| (m.tool.as_str(), m.contract_version.to_string(), m.status.as_str()))
        .collect();
    let of = |name, version: &str, status| (name, version.to_owned(), status);
    assert_eq!(
        held,
        [of("a", "1.0.0", "active"), of("b", "1.0.0", "active"), of("d", "2.0.0", "experimental")]
    );
    assert_eq!(edited.report.tools.len(), 1, "it is judged anew: only `d` comes");
    let stale = app.edit(&orders(), next.id, Some(&next.digest), &json!([]), "cat").await;
    assert_eq!(refused(stale).0, Kind::Stale);

    // Its editor is an author now; what was approved before an edit counts no more.
    assert_eq!(approved(&app, &edited, "cat").await, Err("own-draft"));
    app.apply("orders.yaml", "catalog: orders\npolicy: {failOn: [], approvals: 2}\n", "ann")
        .await
        .expect("applied");
    assert_eq!(approved(&app, &edited, "ann").await, Ok(None));
    edit(json!([{"op": "remove", "path": "/members/2"}])).await.expect("edited");
    assert_eq!(app.review(&orders(), next.id).await.expect("there").approvals, []);
}

#[tokio::test]
async fn a_newer_snapshot_waits_behind_a_draft_that_somebody_works_on() {
    let (app, _, draft) = breaking("{failOn: []}").await;
    let said = app.comment(&orders(), draft.id, None, "who uses b?", "ben").await.expect("said");
    assert_eq!((said.id > 0, said.text.as_str()), (true, "who uses b?"));
    let recorded = app.record(&is("orders"), listing(&[required("a"), tool("c", &[])]), "ci").await;
    let recorded = recorded.expect("recorded");
    assert_eq!(recorded.drafts, []);
    assert_eq!(recorded.skipped.len(), 1, "it is told: {:?}", recorded.skipped);
    let review = app.review(&orders(), draft.id).await.expect("there");
    assert_eq!(review.draft.status, DraftStatus::Pending);
    let waiting: Vec<ServerName> = review.queue.into_iter().map(|(server, _)| server).collect();
    assert_eq!(waiting, [is("orders")]);
    assert_eq!(review.comments, [said]);

    assert_eq!(approved(&app, &draft, "ann").await, Ok(Some("2026.11.30.1".to_owned())));
    let next = app.get_draft(&orders(), draft.id + 1).await.expect("what waited is a draft now");
    assert_eq!((next.status, next.base), (DraftStatus::Pending, Some(is("2026.11.30.1"))));
    let added: Vec<&str> = next.report.tools.iter().map(|t| t.tool.as_str()).collect();
    assert_eq!(added, ["c"]);
}

#[tokio::test]
async fn remarks_are_on_a_draft_or_on_one_of_its_changes() {
    let (app, _, draft) = breaking("{}").await;
    let change = draft.report.tools[0].findings[0].fingerprint.clone();
    let on = app.comment(&orders(), draft.id, Some(&change), "not\0yet", "ben").await.expect("said");
    assert_eq!((on.fingerprint, on.text.as_str()), (Some(change), "not\0yet"));
    let kept = app.review(&orders(), draft.id).await.expect("there").comments;
    assert_eq!(kept[0].text, "not\0yet");
    let nowhere = toolpact::json::Digest::of_bytes(b"nowhere");
    for (fingerprint, text, code) in [
        (Some(&nowhere), "x", "unknown-change"),
        (None, " ", "bad-comment"),
        (None, &*"x".repeat(10_001), "bad-comment"),
    ] {
        assert_eq!(refused(app.comment(&orders(), draft.id, fingerprint, text, "ben").await).1, code);
    }
}

#[tokio::test]
async fn a_catalog_holds_the_tools_that_it_selects_and_no_more_than_it_may() {
    let (app, _, _) = breaking("{failOn: [], maxTools: 2}").await;
    let tools = ["get_a", "get_b", "get_c", "put_a"].map(|name| tool(name, &[]));
    let all = drift(&app, &tools).await;
    assert_eq!(approved(&app, &all, "ann").await, Err("too-many-tools"));
    let document = "catalog: orders\nservers: {orders: {tools: [\"get_*\", \"!get_c\"]}}\n";
    app.apply("orders.yaml", document, "ann").await.expect("applied");
    let some = app.draft(&orders(), &[], "ci").await.expect("drafted");
    let held: Vec<&str> = some.content.members.iter().map(|m| m.tool.as_str()).collect();
    assert_eq!(held, ["get_a", "get_b"]);
    assert_eq!(approved(&app, &some, "ann").await, Ok(Some("2026.11.30.1".to_owned())));
    // What is not selected makes no draft.
    let more = ["get_a", "get_b", "get_c", "put_b"].map(|name| tool(name, &[]));
    assert_eq!(app.record(&is("orders"), listing(&more), "ci").await.expect("recorded").drafts, []);
}

#[tokio::test]
async fn a_policy_may_look_further_back_than_the_newest_version() {
    // `id` was required, then optional, and is to be gone: nobody who sends it now breaks, but for the first callers.
    let wide = || json!({"name": "a", "inputSchema": {"type": "object", "properties": {"n": {"type": ["integer", "string"]}}}});
    let narrow =
        |t: &str| json!({"name": "a", "inputSchema": {"type": "object", "properties": {"n": {"type": t}}}});
    for (against, versions) in
        [("latest", vec![]), ("since-major", vec![]), ("ever-live", vec!["orders@2026.11.30.1"])]
    {
        let (app, _, draft) = breaking(&format!("{{failOn: [breaking], against: {against}}}")).await;
        app.reject(&orders(), draft.id, "no", "ann").await.expect("rejected");
        // Version .1 takes texts, .2 takes no texts any more (accepted), and the next one is like .2 in that.
        for tools in [wide(), narrow("integer")] {
            let draft = drift(&app, &[tools, tool("b", &["id"])]).await;
            app.approve(&orders(), draft.id, true, "accepted", "ann").await.expect("approved");
            let live = app.environment(&is("staging")).await.map(|p| p[0].pointer.generation).unwrap_or(0);
            let newest = app.catalog(&orders()).await.expect("there").versions[0].version;
            app.promote(&crate::support::to("staging", newest, live)).await.expect("promoted");
        }
        let next = drift(&app, &[narrow("number"), tool("b", &["id"])]).await;
        let looked: Vec<&str> = next.earlier.iter().map(|r| r.baseline.as_str()).collect();
        assert_eq!(looked, versions, "{against}");
        let blocked = approved(&app, &next, "ann").await;
        assert_eq!(blocked.is_err(), !versions.is_empty(), "{against}: {blocked:?}");
    }
}

#[tokio::test]
async fn contracts_since_the_last_major_count_where_the_policy_says_so() {
    let (app, _, draft) = breaking("{failOn: [breaking], against: since-major}").await;
    app.reject(&orders(), draft.id, "no", "ann").await.expect("rejected");
    // Compatible step by step: `x` comes as anything and is given a type later, which breaks who sent it before.
    let steps = [json!({}), json!({"x": {"type": "integer"}})];
    let with = |properties: &Value| {
        let mut properties = properties.clone();
        properties["id"] = json!({"type": "string"});
        json!({"name": "a", "inputSchema": {"type": "object", "properties": properties}})
    };
    let first = drift(&app, &[with(&json!({"x": {}})), tool("b", &["id"])]).await;
    app.approve(&orders(), first.id, true, "x comes", "ann").await.expect("approved");
    let gone = drift(&app, &[with(&steps[0]), tool("b", &["id"])]).await;
    app.approve(&orders(), gone.id, true, "x is ignored", "ann").await.expect("approved");
    let typed = drift(&app, &[with(&steps[1]), tool("b", &["id"])]).await;
    assert!(typed.report.verdict < toolpact::diff::Level::Breaking, "{:?}", typed.report.verdict);
    let looked: Vec<&str> = typed.earlier.iter().map(|r| r.baseline.as_str()).collect();
    assert_eq!(looked, ["orders@2026.11.30.1"]);
    let (_, code, message) = refused(app.approve(&orders(), typed.id, false, "go", "ann").await);
    assert_eq!(code, "policy-blocks", "{message}");
}

#[tokio::test]
async fn a_draft_that_was_judged_otherwise_than_its_catalog_asks_now_is_not_approved() {
    for (document, why) in [
        (
            "servers: {orders: {tools: [\"!a\"]}}",
            "holds tool `a` of `orders`, which catalog `orders` selects no more",
        ),
        ("policy: {failOn: [], assume: strict}", "was judged under the assumption `declared`"),
        (
            "policy: {failOn: [], against: ever-live}",
            "was held against other versions than somebody may rely on now",
        ),
    ] {
        let (app, _, draft) = breaking("{failOn: []}").await;
        // What is live is neither the newest version nor what the draft holds.
        app.promote(&crate::support::to("staging", is("2026.11.30"), 0)).await.expect("promoted");
        app.approve(&orders(), draft.id, false, "on", "ann").await.expect("approved");
        let next = drift(&app, &[tool("a", &["id", "n"])]).await;
        // Work on it, or it is drafted anew by itself.
        app.comment(&orders(), next.id, None, "hm", "ben").await.expect("said");
        app.apply("orders.yaml", &format!("catalog: orders\n{document}\n"), "ann").await.expect("applied");
        let (kind, code, message) = refused(app.approve(&orders(), next.id, true, "go", "ann").await);
        assert_eq!((kind, code), (Kind::Conflict, "stale-draft"), "{message}");
        assert!(message.contains(why), "{message}");
    }
}

#[tokio::test]
async fn an_approval_is_of_what_was_seen() {
    let (app, _, draft) = breaking("{failOn: []}").await;
    let patch = json!([{"op": "add", "path": "/members/0/status", "value": "deprecated"}]);
    let edited = app.edit(&orders(), draft.id, Some(&draft.digest), &patch, "cat").await.expect("edited");
    let approve = async |seen| app.approve_seen(&orders(), draft.id, Some(seen), false, "go", "ann").await;
    assert_eq!(refused(approve(&draft.digest).await).0, Kind::Stale);
    assert_eq!(
        refused(app.reject_seen(&orders(), draft.id, Some(&draft.digest), "no", "ann").await).0,
        Kind::Stale
    );
    approve(&edited.digest).await.expect("approved");
}

#[tokio::test]
async fn what_waited_is_the_work_of_whoever_brought_it() {
    let (app, _, draft) = breaking("{failOn: [], approvals: 1}").await;
    app.comment(&orders(), draft.id, None, "who uses b?", "ben").await.expect("said");
    app.record(&is("orders"), listing(&[tool("a", &[])]), "mallory").await.expect("recorded");
    app.reject(&orders(), draft.id, "no", "ann").await.expect("rejected");
    let next = app.get_draft(&orders(), draft.id + 1).await.expect("what waited is a draft now");
    assert_eq!(next.created_by, "mallory");
    assert_eq!(approved(&app, &next, "mallory").await, Err("own-draft"));
}

#[tokio::test]
async fn of_two_decisions_on_a_change_the_newer_counts_where_one_is_a_rejection() {
    let production = || Some(is("production"));
    for (steps, blocked) in [
        (vec![(Ruling::Accept, production()), (Ruling::Reject, None)], true),
        (vec![(Ruling::Reject, None), (Ruling::Accept, production())], false),
        (vec![(Ruling::Reject, production()), (Ruling::Accept, None)], false),
        (vec![(Ruling::Accept, None), (Ruling::Reject, production())], true),
        (vec![(Ruling::Reject, production()), (Ruling::Withdraw, production())], false),
    ] {
        let (app, _, draft) = breaking("{failOn: []}").await;
        app.apply("orders.yaml", "catalog: orders\nenvironments: {production: {}}\n", "ann")
            .await
            .expect("applied");
        app.promote(&crate::support::to("production", is("2026.11.30"), 0)).await.expect("promoted");
        app.approve(&orders(), draft.id, true, "go", "ann").await.expect("approved");
        for (ruling, environment) in &steps {
            let request = decide(rule(&draft, "tool-removed"), *ruling);
            let request = DecideRequest { environment: environment.clone(), ..request };
            app.decide(&request).await.expect("decided");
        }
        let moved = app.promote(&crate::support::to("production", is("2026.11.30.1"), 1)).await;
        assert_eq!(moved.map_err(|e| e.code).err(), blocked.then_some("policy-blocks"), "{steps:?}");
    }
}
