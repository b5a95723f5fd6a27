//! A sweep of a thousand servers of which a tenth is slow: what it costs is counted, not timed.

use std::sync::{Arc, Mutex};

use axum::{
    Json, Router,
    extract::{Path, State},
    routing::post,
};
use serde_json::{Value, json};
use sqlx::{ConnectOptions as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::sync::watch;
use toolpact::{
    app::{App, servers, view::Drift},
    config::Options,
};

use crate::support::Noon;

const SERVERS: usize = 1_000;
const SLOW: usize = SERVERS / 10;
const AT_ONCE: usize = 64;

/// Servers behind one port, and what is being asked of them.
#[derive(Clone)]
struct Servers {
    now: Arc<Mutex<Now>>,
    /// How often the slow ones that waited were let go.
    rounds: watch::Sender<usize>,
}

#[derive(Default)]
struct Now {
    asked: usize,
    most: usize,
    quick_ended: usize,
    slow_ended: usize,
    slow_waiting: usize,
}

impl Servers {
    /// Slow servers answer together, when all that goes on is slow: as late as they can without holding up each other.
    fn let_go(&self, now: &mut Now) {
        let rest = now.quick_ended == SERVERS - SLOW && now.slow_waiting == SLOW - now.slow_ended;
        if now.slow_waiting == AT_ONCE || (rest && now.slow_waiting > 0) {
            now.slow_ended += std::mem::take(&mut now.slow_waiting);
            self.rounds.send_modify(|rounds| *rounds += 1);
        }
    }
}

async fn answer(
    Path(nth): Path<usize>,
    State(servers): State<Servers>,
    Json(asked): Json<Value>,
) -> Json<Value> {
    let result = match asked["method"].as_str() {
        Some("server/discover") => {
            let mut now = servers.now.lock().expect("whole");
            now.asked += 1;
            now.most = now.most.max(now.asked);
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
        }
        _ => {
            let is_slow = nth.is_multiple_of(SERVERS / SLOW);
            let mut rounds = servers.rounds.subscribe();
            {
                let mut now = servers.now.lock().expect("whole");
                if is_slow {
                    now.slow_waiting += 1;
                } else {
                    now.quick_ended += 1;
                }
                servers.let_go(&mut now);
            }
            if is_slow {
                // Subscribed before it was counted: if it was let go at once, that is seen as a change.
                rounds.changed().await.expect("the sender is in the state");
            }
            servers.now.lock().expect("whole").asked -= 1;
            json!({"tools": [{"name": format!("tool_{nth}"), "inputSchema": {"type": "object"}}]})
        }
    };
    Json(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
}

/// Rows of what is kept of lists.
async fn content(db: &mut SqliteConnection) -> i64 {
    let sql = "SELECT (SELECT count(*) FROM content) + (SELECT count(*) FROM contracts)
         + (SELECT count(*) FROM snapshots) + (SELECT count(*) FROM snapshot_tools)";
    sqlx::query_scalar(sql).fetch_one(db).await.expect("a count")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_servers_take_as_long_as_their_slowest_tenth_and_unchanged_ones_write_no_content() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("toolpact.db");
    let app = App::open(&crate::database::file(&file), Arc::new(Noon)).await.expect("opened");
    let mut db = SqliteConnectOptions::new().filename(&file).connect().await.expect("a second connection");
    let asked = Servers { now: Arc::default(), rounds: watch::Sender::new(0) };
    let router = Router::new().route("/{nth}", post(answer)).with_state(asked.clone());
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let base = format!("http://{}", port.local_addr().expect("it is bound"));
    tokio::spawn(async move { axum::serve(port, router).await });
    let entries: serde_json::Map<String, Value> =
        (0..SERVERS).map(|nth| (format!("s{nth:04}"), json!({"url": format!("{base}/{nth}")}))).collect();
    let text = json!({"mcpServers": entries}).to_string();
    let found = servers::read("mcp.json", &text, Options::default()).expect("a configuration");
    assert!(app.import(found, false, false, "ann").await.expect("imported").applied);

    let mut rows = Vec::new();
    for drift in [Drift::First, Drift::Identical] {
        *asked.now.lock().expect("whole") = Now::default();
        let before = *asked.rounds.borrow();
        let specs = app.registered().await.expect("there");
        let sweep = app.sweep(specs, AT_ONCE, "ann", |_| ()).await.expect("swept");
        assert!(sweep.is_whole() && sweep.servers.len() == SERVERS);
        assert!(sweep.servers.iter().all(|swept| swept.drift == drift), "{drift:?}");
        assert_eq!(asked.now.lock().expect("whole").most, AT_ONCE);
        let rounds = *asked.rounds.borrow() - before;
        assert_eq!(rounds, SLOW.div_ceil(AT_ONCE), "slow servers waited for one another only");
        rows.push(content(&mut db).await);
    }
    assert_eq!(rows[0], rows[1]);
}
