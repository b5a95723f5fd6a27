//! Registered servers asked again and again, by one process at a time.

use std::sync::Arc;

use chrono::{SubsecRound as _, TimeDelta};
use tokio::sync::mpsc;
use toolpact::{
    app::{
        App, Clock, Kind,
        poll::{Polled, Poller, Polling},
        servers,
    },
    config::Options,
    snapshot::Outcome,
    store::{Next, Registration, Store},
};

use crate::{
    command::{Telling, answers, script},
    support::{Hands, is, listing, noon, tool},
};

/// Two registered servers, `good` that lists a tool and `gone` that cannot be started.
async fn two_servers() -> (App, Arc<dyn Store>, Hands) {
    let store = crate::database::store().await;
    let hands = Hands::at_noon();
    let app = App::new(store.clone(), Arc::new(hands.clone()));
    let list = answers(r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#);
    let text = serde_json::json!({"mcpServers": {
        "good": {"command": "bash", "args": ["-c", script(&list)]},
        "gone": {"command": "/nowhere/server"},
    }});
    let found = servers::read("mcp.json", &text.to_string(), Options::default()).expect("a configuration");
    assert!(app.import(found, false, false, "ann").await.expect("imported").applied);
    (app, store, hands)
}

/// What a poller of this name asks now, and how it ended.
async fn turn(app: &App, holder: &str) -> Vec<String> {
    let (poller, mut told) = poller(app, holder, Polling::default());
    poller.turn().await.expect("the store works");
    drop(poller);
    let mut asked = Vec::new();
    while let Some(word) = told.recv().await {
        asked.push(word);
    }
    asked.sort();
    asked
}

/// A poller of this name, and what it tells: a server and how its listing ended.
fn poller(app: &App, holder: &str, polling: Polling) -> (Poller, mpsc::UnboundedReceiver<String>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let told = move |polled: &Polled| {
        let word = match &polled.recorded {
            Ok(recorded) => format!("{} {}", polled.server, recorded.listing.outcome),
            Err(error) => format!("{} {error}", polled.server),
        };
        // Where the test is over, nobody listens.
        _ = sender.send(word);
    };
    (Poller::new(app.clone(), holder.to_owned(), polling, told), receiver)
}

const GOOD: &str = "good ok";
const GONE: &str = "gone unavailable";

#[tokio::test]
async fn a_server_is_asked_when_it_is_due_and_later_where_it_fails() {
    let (app, _, hands) = two_servers().await;
    assert_eq!(turn(&app, "one").await, [GONE, GOOD], "both are due from the beginning");
    assert_eq!(turn(&app, "one").await, [""; 0]);
    // The interval is a quarter of an hour, and a tenth of that is jitter.
    for (minutes, asked) in [(14, vec![]), (3, vec![GOOD]), (16, vec![GONE]), (2, vec![GOOD])] {
        hands.forward(minutes);
        assert_eq!(turn(&app, "one").await, asked, "{minutes} minutes later");
    }
}

#[tokio::test]
async fn of_many_pollers_one_asks() {
    let (app, ..) = two_servers().await;
    let (a, b, c) = tokio::join!(turn(&app, "one"), turn(&app, "two"), turn(&app, "three"));
    let mut all = [a, b, c].concat();
    all.sort();
    assert_eq!(all, [GONE, GOOD]);
}

#[tokio::test]
async fn what_a_poller_left_that_is_gone_is_taken_over_when_its_lease_ends() {
    let (app, store, hands) = two_servers().await;
    let claimed =
        store.claim_due("killed", noon(), noon() + TimeDelta::minutes(2), 1).await.expect("claimed");
    assert_eq!(claimed.len(), 1);
    assert_eq!(claimed[0].server, is("gone"));
    assert_eq!(turn(&app, "one").await, [GOOD], "what another holds is left alone");
    assert!(store.renew_claim(&claimed[0], noon() + TimeDelta::minutes(3)).await.expect("asked"));
    hands.forward(2);
    assert_eq!(turn(&app, "one").await, [""; 0], "it was renewed");
    hands.forward(1);
    assert_eq!(turn(&app, "one").await, [GONE]);
    // The first one was only slow: what it wanted to write is not written.
    assert!(!store.renew_claim(&claimed[0], noon()).await.expect("asked"));
    let next = Next { asked: noon(), due: noon(), failures: 0 };
    assert!(!store.end_claim(&claimed[0], next).await.expect("asked"));
    assert_eq!(turn(&app, "one").await, [""; 0]);
}

#[tokio::test]
async fn a_server_that_is_registered_no_more_is_not_asked() {
    let (app, _, hands) = two_servers().await;
    turn(&app, "one").await;
    app.remove_server(&is("good"), "ann").await.expect("removed");
    hands.forward(60);
    assert_eq!(turn(&app, "one").await, [GONE]);
}

#[tokio::test]
async fn polls_that_bring_no_news_are_not_recorded() {
    let (app, _, hands) = two_servers().await;
    turn(&app, "one").await;
    let recorded = || async {
        let events = app.events(100).await.expect("events");
        events.iter().filter(|e| e.kind == "snapshot.recorded").count()
    };
    assert_eq!(recorded().await, 2);
    for _ in 0..5 {
        hands.forward(200);
        assert_eq!(turn(&app, "one").await, [GONE, GOOD]);
    }
    assert_eq!(recorded().await, 2);
    let page = app.server(&is("good")).await.expect("there");
    assert_eq!(page.listings.len(), 1);
    assert_eq!(page.asked, Some(hands.now().trunc_subsecs(6)), "that it was asked is known all the same");
    // What a person asks for is recorded.
    app.snapshot_registered(&is("good"), "ann").await.expect("asked");
    assert_eq!(recorded().await, 3);
}

#[tokio::test]
async fn a_server_that_says_what_changed_is_recorded_at_once() {
    let server = Telling::new("a");
    let store = crate::database::store().await;
    let app = App::new(store, Arc::new(Hands::at_noon()));
    let text = serde_json::json!({"mcpServers": {"good": {"command": "bash", "args": [server.script()]}}});
    let found = servers::read("mcp.json", &text.to_string(), Options::default()).expect("a configuration");
    assert!(app.import(found, false, false, "ann").await.expect("imported").applied);
    let (poller, mut told) = poller(&app, "one", Polling::default());
    let polling = tokio::spawn(poller.run());
    // Asked, and then listed again on the connection that stays open.
    for _ in 0..2 {
        assert_eq!(told.recv().await.as_deref(), Some(GOOD));
    }
    let _server = tokio::task::spawn_blocking(move || server.change("b")).await.expect("rung");
    assert_eq!(told.recv().await.as_deref(), Some(GOOD));
    polling.abort();
    let page = app.server(&is("good")).await.expect("there");
    assert_eq!(page.tools[0].name, "b");
    assert_eq!(page.listings.len(), 2, "what said the same is not recorded");
}

#[tokio::test]
async fn a_list_that_is_another_is_read_twice_before_it_is_believed() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    // Lists tool `a` or what stands in the file; a file that ends in a dot is another each time.
    let list = format!(
        r#"n=$(cat '{0}' 2>/dev/null || echo a); case $n in *.) echo "x$n" > '{0}' ;; esac
        printf '{{"jsonrpc":"2.0","id":%s,"result":{{"tools":[{{"name":"%s","inputSchema":{{"type":"object"}}}}]}}}}\n' "$id" "$n""#,
        at("list")
    );
    let store = crate::database::store().await;
    let app = App::new(store, Arc::new(Hands::at_noon()));
    std::fs::write(at("server"), script(&list)).expect("written");
    let text = serde_json::json!({"mcpServers": {"good": {"command": "bash", "args": [at("server")]}}});
    let found = servers::read("mcp.json", &text.to_string(), Options::default()).expect("a configuration");
    assert!(app.import(found, false, false, "ann").await.expect("imported").applied);
    for (file, outcome) in [
        ("a", Outcome::Ok),
        ("b", Outcome::Ok),
        ("b", Outcome::Ok),
        ("c.", Outcome::Unstable),
        ("b", Outcome::Ok),
    ] {
        std::fs::write(at("list"), file).expect("written");
        let recorded = app.snapshot_registered(&is("good"), "ann").await.expect("asked");
        assert_eq!(recorded.listing.outcome, outcome, "{file}: {:?}", recorded.listing.evidence);
    }
}

#[tokio::test]
async fn a_claim_that_ended_by_itself_is_not_renewed_by_a_later_one_of_the_same_process() {
    let (app, store, _) = two_servers().await;
    let minutes = |n| noon() + TimeDelta::minutes(n);
    let claim = async |holder: &str, now| store.claim_due(holder, now, now + TimeDelta::minutes(1), 9).await;
    let first = claim("one:0", noon()).await.expect("claimed");
    // The machine slept. What was noted before does not keep anybody waiting.
    let next = Next { asked: noon(), due: minutes(60), failures: 0 };
    assert!(store.note_poll(&first[0], next).await.expect("noted"));
    let second = claim("one:1", minutes(2)).await.expect("claimed");
    assert_eq!(second.len(), 2);
    assert!(!store.renew_claim(&first[0], minutes(3)).await.expect("asked"));
    assert!(!store.note_poll(&first[0], next).await.expect("asked"));
    assert!(store.renew_claim(&second[0], minutes(3)).await.expect("asked"));
    // What the first still has to say of the server is refused as well, whatever it is; the second may.
    assert!(first.iter().all(|old| second.iter().all(|new| old.fence < new.fence)));
    let list = || listing(&[tool("a", &[])]);
    let refused =
        app.under(&first[1]).record(&is("good"), list(), "poller").await.expect_err("its claim is gone");
    assert_eq!((refused.kind, refused.code), (Kind::Conflict, "claim-lost"));
    assert_eq!(app.server(&is("good")).await.expect("there").listings.len(), 0);
    app.under(&second[1]).record(&is("good"), list(), "poller").await.expect("recorded");
    // Numbers only grow, though the server is forgotten meanwhile.
    let spec = app.registered_server(&is("gone")).await.expect("registered");
    app.remove_server(&is("gone"), "ann").await.expect("forgotten");
    let registration = Registration { spec, registered_by: "ann".to_owned(), registered_at: minutes(2) };
    store.register(&[registration], Vec::new()).await.expect("registered");
    let third = claim("one:2", minutes(2)).await.expect("claimed");
    assert!(third[0].server == is("gone") && third[0].fence > second[0].fence, "{third:?}");
    // Stopped in good order: others need not wait.
    store.release_claims("one", minutes(2)).await.expect("released");
    assert_eq!(claim("two:0", minutes(2)).await.expect("claimed").len(), 2);
}
