//! Old checks of builds go. What was decided of their changes counts as before, and their links say what became of them.

use serde_json::value::RawValue;
use toolpact::{
    access::{Caller, Scope},
    app::{
        Kind,
        checks::CheckRequest,
        review::{Changes, DecideRequest},
    },
    catalog::{check::BuildContext, review::Ruling},
    json::Digest,
};

use super::Server;
use crate::{
    ask::{answer, get},
    support::{is, to},
};

impl Server {
    /// One of which `find` and `more` are live in production and staging.
    async fn live() -> Self {
        let server = Self::new().await;
        server.lists(&["find", "more"]).await;
        let draft = server.app.draft(&is("orders"), &[is("orders")], "ci").await.expect("drafted");
        server.app.approve(&is("orders"), draft.id, false, "first", "ann").await.expect("approved");
        for environment in ["production", "staging"] {
            server.app.promote(&to(environment, is("2026.12.01"), 0)).await.expect("promoted");
        }
        server
    }

    /// Registers on the next day that a build of this offers these tools alone. Answers the check's number and its changes.
    async fn checks(
        &self,
        repository: Option<&str>,
        environment: &str,
        tools: &[&str],
    ) -> (i64, Vec<Digest>) {
        self.days.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let tools: Vec<_> = tools.iter().map(|name| crate::support::tool(name, &[name])).collect();
        let listing = RawValue::from_string(serde_json::json!({ "tools": tools }).to_string()).expect("JSON");
        let request = CheckRequest {
            catalog: None,
            environment: is(environment),
            servers: vec![(is("orders"), listing)],
            context: BuildContext {
                repository: repository.map(ToOwned::to_owned),
                commit: Some(format!("{:?}", self.days.0)),
                ..BuildContext::default()
            },
            dry_run: false,
            actor: "ci:mara".to_owned(),
        };
        let checked = self.app.make_check(request).await.expect("checked");
        let changes = checked.standing.iter().map(|standing| standing.fingerprint.clone()).collect();
        (checked.check.id, changes)
    }

    /// The checks that are left.
    async fn left(&mut self) -> Vec<String> {
        // PostgreSQL's numbers are read as what they are.
        self.db.texts("SELECT CAST(id AS TEXT) FROM checks ORDER BY id").await
    }

    async fn decides(&self, change: &Digest, ruling: Ruling, actor: &str) -> Result<(), &'static str> {
        let request = DecideRequest {
            catalog: is("orders"),
            changes: Changes::Fingerprints(vec![change.to_string()]),
            ruling,
            environment: None,
            reason: "it is so".to_owned(),
            owner: None,
            expires: None,
            actor: actor.to_owned(),
        };
        self.app.decide(&request).await.map(|_| ()).map_err(|e| e.code)
    }
}

const ORDERS: Option<&str> = Some("acme/orders");

#[tokio::test]
async fn old_checks_go_but_the_newest_of_each_repository_stays() {
    let mut server = Server::live().await;
    for (repository, environment) in [
        (ORDERS, "production"),
        (ORDERS, "staging"),
        (None, "production"),
        (Some("acme/mail"), "production"),
        (ORDERS, "production"),
        (None, "production"),
        (ORDERS, "production"),
    ] {
        server.checks(repository, environment, &["find"]).await;
    }
    assert_eq!(server.prune(0, 30).await.checks, 0, "none is so old");
    assert_eq!(server.prune(0, 4).await.checks, 1, "the first is");
    assert_eq!(server.left().await, ["2", "3", "4", "5", "6", "7"]);
    let changes = server.db.count("check_changes").await;
    // Its log says how many, and which.
    assert_eq!(server.prune(0, 0).await.checks, 2);
    assert_eq!(server.left().await, ["2", "4", "6", "7"]);
    let last = server.app.events(1).await.expect("read").remove(0);
    assert_eq!((last.kind.as_str(), &last.data["checks"]), ("store.pruned", &serde_json::json!(2)));
    assert_eq!((&last.data["first"], &last.data["last"]), (&serde_json::json!(3), &serde_json::json!(5)));
    assert!(server.db.count("check_changes").await < changes, "what they held goes with them");
    // What is left is whole.
    assert!(!server.app.get_check(2).await.expect("there").standing.is_empty());
}

#[tokio::test]
async fn what_was_decided_of_a_change_outlives_its_checks_and_so_does_whose_it_is() {
    let mut server = Server::live().await;
    let (_, changes) = server.checks(ORDERS, "production", &["find"]).await;
    let change = &changes[0];
    server.decides(change, Ruling::Reject, "mara").await.expect("decided");
    let (newer, same) = server.checks(ORDERS, "production", &["find"]).await;
    assert_eq!(same, changes);
    // Builds without the change: the decision was for one that nothing offers any more.
    for _ in 0..60 {
        server.checks(ORDERS, "production", &["find", "more"]).await;
    }
    // However many came since, it is known whose the change is.
    server
        .app
        .apply("orders.yaml", "catalog: orders\npolicy:\n  approvals: 1\n", "ann")
        .await
        .expect("applied");
    assert_eq!(server.decides(change, Ruling::Accept, "mara").await, Err("own-check"));
    let before = server.app.get_check(newer).await.expect("there");
    assert_eq!(server.prune(0, 0).await.checks, 60, "all but the proof of the decision, and the newest");
    assert_eq!(server.left().await, [newer.to_string(), "62".to_owned()]);
    let after = server.app.get_check(newer).await.expect("there");
    assert_eq!(after.check.report, before.check.report);
    assert_eq!(after.standing.len(), before.standing.len());
    assert_eq!(server.db.count("decisions").await, 1);
    // It is still mara's, and counts still.
    assert_eq!(server.decides(change, Ruling::Accept, "mara").await, Err("own-check"));
    let (again, _) = server.checks(ORDERS, "production", &["find"]).await;
    let blocks = server.app.get_check(again).await.expect("there").standing.remove(0).blocks;
    assert_eq!(blocks, Some("rejected"));
    assert_eq!(server.decides(change, Ruling::Accept, "ann").await, Ok(()));
}

#[tokio::test]
async fn a_link_to_a_pruned_check_says_what_became_of_it() {
    let server = Server::live().await;
    for _ in 0..2 {
        server.checks(ORDERS, "production", &["find"]).await;
    }
    assert_eq!(server.prune(0, 0).await.checks, 1);
    let gone = server.app.get_check(1).await.expect_err("it is gone");
    assert_eq!((gone.kind, gone.code), (Kind::Gone, "check-pruned"));
    for path in ["/api/v1/checks/1", "/checks/1"] {
        let told = answer(&server.app, get(path)).await;
        assert_eq!(told.status.as_u16(), 410, "{path}: {}", told.body);
        assert!(told.body.contains("is older than checks are kept here"), "{path}: {}", told.body);
        assert!(told.body.contains("run its gate again"), "{path}: {}", told.body);
        // To whom it was never there, it is not gone either.
        let scope = Scope { catalogs: Some([is("other")].into()), environments: None };
        let bounded = Caller { scope, ..Caller::local("eve") };
        let told = answer(&server.app, get(path).caller(Some(bounded))).await;
        assert_eq!(told.status.as_u16(), 404, "{path}: {}", told.body);
    }
    let never = server.app.get_check(3).await.expect_err("it never was");
    assert_eq!(never.code, "unknown-check");
}

#[tokio::test]
async fn builds_that_are_checked_meanwhile_hold_nobody_up() {
    let server = Server::live().await;
    for _ in 0..3 {
        server.checks(ORDERS, "production", &["find"]).await;
    }
    let store = server.own.place().open().await.expect("opened");
    let keep = toolpact::store::Keep { newest: 0, since: server.app.now() };
    let since = store.last_event().await.expect("read");
    let found = store.forgettable(&keep).await.expect("read");
    assert_eq!(found.checks, [1, 2]);
    server.checks(ORDERS, "production", &["find"]).await;
    let batch = toolpact::store::PruneBatch { checks: found.checks, ..Default::default() };
    let done = store.prune(&batch, since, super::pruned(&server)).await.expect("pruned");
    assert_eq!(done.checks, 2);
}
