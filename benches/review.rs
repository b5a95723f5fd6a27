//! The page of a long review under the other assumption, beside the same page as the draft stores it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use toolpact::app::{App, Place, SystemClock, view};

#[path = "support/load.rs"]
mod load;

/// What is shipped has it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TOOLS: usize = 550;
/// Tools of which one thing changes.
const CHANGES: usize = 200;
/// Each page is asked so often.
const ROUNDS: usize = 60;

fn is<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("written here")
}

/// A list of a server; `changed` takes a value, a parameter or a word away from the first tools.
fn list(changed: bool) -> String {
    let words = "Does one of the many things that this server can do, at some length. ".repeat(3);
    let tool = |i: usize| {
        let other = changed && i < CHANGES;
        let mut properties = json!({
            "state": { "type": "string", "enum": ["open", "sent", "all"], "description": words },
            "limit": { "type": "integer", "minimum": 1, "maximum": 100 },
            "page": { "type": "integer" },
        });
        let mut said = words.clone();
        match (other, i % 3) {
            (true, 0) => properties["state"]["enum"] = json!(["open", "sent"]),
            (true, 1) => properties["limit"]["maximum"] = json!(50),
            (true, _) => said.push_str("But not any more."),
            (false, _) => {}
        }
        json!({ "name": format!("tool_number_{i}"), "description": said,
            "inputSchema": { "type": "object", "properties": properties, "required": ["state"] } })
    };
    json!({ "tools": (0..TOOLS).map(tool).collect::<Vec<Value>>() }).to_string()
}

async fn record(app: &App, changed: bool) {
    let listing = view::file_listing("tools.json", &list(changed)).expect("a list");
    app.record(&is("orders"), listing, "bench").await.expect("recorded");
}

async fn asked(client: &mut load::Client, token: &str, path: &str) -> Duration {
    let request = load::request(path, &[("authorization", token)]);
    let start = Instant::now();
    let answer = client.ask(&request).await;
    let time = start.elapsed();
    assert_eq!(answer.status, 200, "{path}: {}", answer.head);
    assert!(answer.body.len() < 300_000, "{path} has {} bytes", answer.body.len());
    time
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let place: &Place = &is(&folder.path().join("review.db").to_string_lossy());
        App::migrate(place).await.expect("migrated");
        let app = App::open(place, Arc::new(SystemClock)).await.expect("opened");
        record(&app, false).await;
        app.draft(&is("shop"), &[is("orders")], "bench").await.expect("drafted");
        app.approve(&is("shop"), 1, true, "a bench", "bench").await.expect("approved");
        record(&app, true).await;
        let draft = app.get_draft(&is("shop"), 2).await.expect("a draft formed");
        println!("{} tools, {} changes", draft.content.members.len(), draft.report.findings().count());

        let token = load::token(&app).await;
        let mut first = Vec::new();
        for _ in 0..5 {
            // Nothing is kept of one that begins.
            let app = App::open(place, Arc::new(SystemClock)).await.expect("opened");
            let served = load::served(move |bound| load::whole(app, bound));
            let mut client = load::Client::connect(served).await;
            asked(&mut client, &token, "/catalogs/shop/drafts/2").await;
            first.push(asked(&mut client, &token, "/catalogs/shop/drafts/2?assume=strict").await);
        }
        let served = load::served(move |bound| load::whole(app, bound));
        let mut client = load::Client::connect(served).await;
        let (mut plain, mut strict) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS + 5 {
            let times = [
                asked(&mut client, &token, "/catalogs/shop/drafts/2").await,
                asked(&mut client, &token, "/catalogs/shop/drafts/2?assume=strict").await,
            ];
            // The first are of caches that are cold.
            if round >= 5 {
                plain.push(times[0]);
                strict.push(times[1]);
            }
        }
        let median = |times: &mut Vec<Duration>| {
            times.sort();
            times[times.len() / 2].as_secs_f64() * 1e3
        };
        let (plain, strict, first) = (median(&mut plain), median(&mut strict), median(&mut first));
        println!("as stored {plain:.1} ms, under the other assumption {strict:.1} ms, for the first time {first:.1} ms");
        println!("{:.2} times, and {:.2} for the first time", strict / plain, first / plain);
    });
}
