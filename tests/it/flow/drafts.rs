//! From a snapshot to a decision: which drafts form, which are refused.

use std::sync::Arc;

use serde_json::json;
use toolpact::{
    app::{Kind, view::Drift},
    catalog::{CatalogVersion, Compatibility, Content, DraftStatus, event::NewEvent},
    diff::{Assumption, Bump, Level, Report},
    snapshot::{Evidence, Held, Listing, Outcome, Provenance},
    store::{Basis, NewDraft, Store, StoreError},
};

use super::{orders, refused, second, two_versions};
use crate::support::{is, listing, noon, report, tool};

#[tokio::test]
async fn drift_makes_a_draft_and_a_newer_one_supersedes_it() {
    let (app, _store) = two_versions().await;
    let server = is("orders");
    let both = [tool("a", &["id"]), tool("b", &[])];
    let same = app.record(&server, listing(&both), "ci").await.expect("recorded");
    assert_eq!((same.drift, same.drafts.len()), (Drift::Identical, 0));

    let third = [tool("a", &["id"]), tool("b", &["x"])];
    let drift = app.record(&server, listing(&third), "ci").await.expect("recorded");
    assert!(matches!(drift.drift, Drift::Drift(_)), "{:?}", drift.drift);
    let old = &drift.drafts[0];
    let again = app.record(&server, listing(&third), "ci").await.expect("recorded");
    assert_eq!((again.drift, again.drafts.len()), (Drift::Identical, 0));
    assert_eq!(app.draft(&orders(), &[], "ann").await.expect("the pending one").id, old.id);

    let fourth = [tool("a", &["id"]), tool("b", &["x"]), tool("c", &[])];
    let new = app.record(&server, listing(&fourth), "ci").await.expect("recorded").drafts.remove(0);
    let status = |id| {
        let app = app.clone();
        async move { app.get_draft(&orders(), id).await.expect("there").status }
    };
    assert_eq!((status(old.id).await, status(new.id).await), (DraftStatus::Superseded, DraftStatus::Pending));

    let strict = app.report_under(&new, Assumption::Strict).await.expect("judged again");
    assert_eq!((strict.assumption, strict.baseline.as_str()), (Assumption::Strict, "orders@2026.11.30.1"));
    assert_eq!(strict.tools.len(), new.report.tools.len());

    // What was refused does not come back by itself, only when somebody asks.
    let rejected = app.reject(&orders(), new.id, "not now", "ann").await.expect("rejected");
    assert_eq!((rejected.status, rejected.reason.as_str()), (DraftStatus::Rejected, "not now"));
    let swept = app.record(&server, listing(&fourth), "ci").await.expect("recorded");
    assert!(swept.drafts.is_empty());
    let asked = app.draft(&orders(), &[], "ann").await.expect("drafted");
    assert!(asked.id > new.id);

    // Back at what is approved: nothing is left to review.
    app.record(&server, listing(&both), "ci").await.expect("recorded");
    assert_eq!(status(asked.id).await, DraftStatus::Superseded);
    assert_eq!(refused(app.draft(&orders(), &[], "ann").await).1, "nothing-changed");
    let (kind, code, message) = refused(app.approve(&orders(), asked.id, false, "why not", "ann").await);
    assert_eq!((kind, code), (Kind::Conflict, "draft-decided"), "{message}");
    assert_eq!(app.verify_events().await.expect("checked").broken, None);
}

#[tokio::test]
async fn a_tool_that_comes_back_is_compared_with_what_it_was() {
    let (app, _store) = two_versions().await;
    let server = is("orders");
    let gone =
        app.record(&server, listing(&[tool("a", &["id"])]), "ci").await.expect("recorded").drafts.remove(0);
    app.approve(&orders(), gone.id, true, "nobody calls it", "ann").await.expect("approved");
    // Beside these no digest of the contract or its words changes.
    let tasks = |support: &str| {
        let mut tool = tool("b", &[]);
        tool["execution"] = json!({ "taskSupport": support });
        tool
    };
    let mut described = tool("b", &[]);
    described["description"] = "Does b.".into();
    for (case, b, number, word) in [
        ("as it was", tool("b", &[]), "1.0.0", Compatibility::Unchanged),
        ("by the default's name", tasks("forbidden"), "1.0.1", Compatibility::BackwardCompatible),
        ("with words", described, "1.0.1", Compatibility::BackwardCompatible),
        ("more can be done", tasks("optional"), "1.1.0", Compatibility::BackwardCompatible),
        ("less can be done", tasks("required"), "2.0.0", Compatibility::Breaking),
        ("with a parameter", tool("b", &["x"]), "1.1.0", Compatibility::BackwardCompatible),
    ] {
        let back = app.record(&server, listing(&[tool("a", &["id"]), b]), "ci").await.expect("recorded");
        let member = back.drafts[0].content.members.iter().find(|m| m.tool == "b").expect("listed");
        assert_eq!(
            (member.contract_version.to_string().as_str(), member.compatibility),
            (number, word),
            "{case}"
        );
    }
}

#[tokio::test]
async fn a_failed_listing_is_kept_and_never_reads_as_tools_removed() {
    let (app, _store) = two_versions().await;
    for outcome in Outcome::ALL.into_iter().filter(|o| *o != Outcome::Ok) {
        let evidence = Evidence { message: "it failed".to_owned(), ..Evidence::default() };
        let failed = Listing {
            outcome,
            evidence,
            provenance: Provenance::file("x"),
            tools: listing(&[]).tools,
            surfaces: Vec::new(),
            held: Held::default(),
        };
        let recorded = app.record(&is("orders"), failed, "ci").await.expect("recorded");
        assert_eq!((recorded.drift, recorded.listing.digest), (Drift::Unknown, None));
        assert!(recorded.drafts.is_empty() && recorded.skipped.is_empty());
    }
    let page = app.server(&is("orders")).await.expect("there");
    assert_eq!((page.listings.len(), page.tools.len()), (10, 2));
    assert_eq!(page.listings[0].evidence.message, "it failed");

    // A list with a tool that cannot be read is not `ok`, whoever says so.
    let mut odd = listing(&[tool("a", &[])]);
    odd.tools[0].raw =
        serde_json::value::RawValue::from_string("{\"name\":\"a\"}".to_owned()).expect("JSON").into();
    let recorded = app.record(&is("orders"), odd, "ci").await.expect("recorded");
    assert_eq!(recorded.listing.outcome, Outcome::Malformed);
    assert_eq!(recorded.listing.evidence.message, "tool `a` has no `inputSchema`");
}

/// A pending draft of catalog `orders` with this report, as if the engine had judged so.
async fn judged(store: &Arc<dyn Store>, base: Option<CatalogVersion>, report: Report) -> i64 {
    let new = NewDraft {
        catalog: orders(),
        base,
        content: Content::default(),
        report,
        earlier: Vec::new(),
        basis: Basis::default(),
        created_by: "ci".to_owned(),
        created_at: noon(),
    };
    store.open_draft(new, created()).await.expect("opened").id
}

fn created() -> NewEvent {
    NewEvent {
        at: noon(),
        actor: "ci".to_owned(),
        kind: "draft.created",
        subject: "catalog/orders".to_owned(),
        data: serde_json::json!({}),
        origin: None,
        seal: None,
    }
}

#[tokio::test]
async fn the_policy_blocks_what_nobody_accepted_and_absolute_findings_for_ever() {
    let cases = [
        (Level::Compatible, false, false, None),
        (Level::Risky, false, false, None),
        (Level::Breaking, false, false, Some("policy-blocks")),
        (Level::Undecided, false, false, Some("policy-blocks")),
        (Level::Breaking, false, true, None),
        (Level::Undecided, false, true, None),
        (Level::Breaking, true, true, Some("absolute-finding")),
        (Level::Compatible, true, true, Some("absolute-finding")),
    ];
    for (level, absolute, accept, code) in cases {
        let (app, store) = two_versions().await;
        let id = judged(&store, Some(second()), report("a", level, Bump::Major, absolute)).await;
        assert_eq!(refused(app.approve(&orders(), id, true, "", "ann").await).1, "empty-reason");
        let answer = app.approve(&orders(), id, accept, "we asked everyone", "ann").await;
        match code {
            None => assert_eq!(
                answer.map_err(|e| e.message).map(|a| a.version.map(|v| v.version)),
                Ok(Some(is("2026.11.30.2")))
            ),
            Some(code) => {
                let (kind, found, message) = refused(answer);
                assert_eq!((kind, found), (Kind::Blocked, code), "{message}");
                assert_eq!(app.get_draft(&orders(), id).await.expect("there").status, DraftStatus::Pending);
            }
        }
    }
}

#[tokio::test]
async fn a_draft_judged_under_another_assumption_is_judged_again_before_it_is_approved() {
    let (app, _store) = two_versions().await;
    let less = listing(&[tool("a", &[]), tool("b", &[])]);
    let draft = app.record(&is("orders"), less, "ci").await.expect("recorded").drafts.remove(0);
    assert_eq!(draft.report.assumption, Assumption::Declared);
    app.apply("orders", "catalog: orders\npolicy: {assume: strict}\n", "ann").await.expect("applied");
    let (kind, code, message) = refused(app.approve(&orders(), draft.id, true, "go", "ann").await);
    assert_eq!((kind, code), (Kind::Conflict, "stale-draft"));
    assert_eq!(
        message,
        format!(
            "draft `d-{}` was judged under the assumption `declared` with formats `risky`, the policy of catalog `orders` says `strict` and `risky` now",
            draft.id
        )
    );
    let again = app.draft(&orders(), &[], "ann").await.expect("drafted");
    assert_eq!((again.id > draft.id, again.report.assumption), (true, Assumption::Strict));
    app.approve(&orders(), again.id, true, "go", "ann").await.expect("approved");
}

#[tokio::test]
async fn a_draft_that_cannot_be_made_leaves_the_catalog_as_it_was() {
    let (app, _store) = two_versions().await;
    app.apply("shop", "catalog: shop\nservers:\n  mail:\n", "ann").await.expect("applied");
    let before = app.catalog(&is("shop")).await.expect("there").catalog;
    assert_eq!(refused(app.draft(&is("shop"), &[is("orders")], "ann").await).1, "unknown-server");
    assert_eq!(app.catalog(&is("shop")).await.expect("there").catalog, before);
}

#[tokio::test]
async fn a_draft_of_older_snapshots_does_not_supersede_one_of_newer() {
    let (app, store) = two_versions().await;
    let older = app.record(&is("orders"), listing(&[tool("a", &[])]), "ci").await.expect("recorded");
    let older = older.drafts.into_iter().next().expect("a draft");
    let newer = app.record(&is("orders"), listing(&[tool("c", &[])]), "ci").await.expect("recorded");
    // As if the older one had taken longer to judge.
    let late = NewDraft {
        catalog: orders(),
        base: older.base,
        content: older.content,
        report: older.report,
        earlier: Vec::new(),
        basis: Basis::default(),
        created_by: "ci".to_owned(),
        created_at: noon(),
    };
    let refusal = store.open_draft(late, created()).await.expect_err("refused");
    assert!(matches!(refusal, StoreError::DraftChanged), "{refusal}");
    let status = app.get_draft(&orders(), newer.drafts[0].id).await.expect("there").status;
    assert_eq!(status, DraftStatus::Pending);
}

#[tokio::test]
async fn a_draft_whose_base_was_overtaken_cannot_be_approved() {
    let (app, store) = two_versions().await;
    let id = judged(&store, Some(second()), report("a", Level::Compatible, Bump::Minor, false)).await;
    app.apply("orders.yaml", "catalogVersion: 2026.12.24\ntools: []\n", "ann").await.expect("applied");
    let (kind, code, message) = refused(app.approve(&orders(), id, true, "go", "ann").await);
    assert_eq!((kind, code), (Kind::Conflict, "stale-draft"));
    assert_eq!(
        message,
        format!(
            "draft `d-{id}` was made on 2026.11.30.1, the newest version of catalog `orders` is 2026.12.24"
        )
    );
    // The next version does not sort before the one that came from a later day.
    let next =
        judged(&store, Some(is("2026.12.24")), report("a", Level::Compatible, Bump::Minor, false)).await;
    let version = app.approve(&orders(), next, false, "go", "ann").await.expect("approved").version;
    let version = version.expect("one approval is enough");
    assert_eq!(version.version, is("2026.12.24.1"));
}
