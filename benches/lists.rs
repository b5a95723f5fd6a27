//! Pages of lists over a long history, beside the same pages over a short one whose pages are as full, and over a database
//! with one of everything.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use toolpact::app::{App, MoveRequest, Overrides, Place, SystemClock, view};

#[path = "support/database.rs"]
mod database;
#[path = "support/load.rs"]
mod load;
#[path = "../tests/support/seed.rs"]
mod seed;

use seed::Size;

/// What is shipped has it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const LONG: Size = Size { servers: 1_000, history: 1_000_000 };
/// As much as fills every page.
const SHORT: Size = Size { servers: 101, history: 42_000 };
/// Each path is asked so often of each.
const ROUNDS: usize = 300;

const PATHS: &[&str] = &[
    "/api/v1/servers",
    "/api/v1/servers?outcome=timeout",
    "/api/v1/servers/server-000001/snapshots",
    "/api/v1/servers/server-000001/snapshots?outcome=timeout",
    "/api/v1/catalogs",
    "/api/v1/catalogs/orders/versions",
    "/api/v1/catalogs/orders/drafts",
    "/api/v1/catalogs/orders/drafts?status=rejected",
    "/api/v1/environments",
    "/api/v1/environments/production/moves",
    "/api/v1/environments/production/moves?catalog=orders",
    "/api/v1/events",
    "/api/v1/events?subject=subject/7",
    "/api/v1/events?kind=kind.7",
    "/",
    "/catalogs/orders",
    "/environments/production",
];

fn is<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("written here")
}

/// One of everything, for copies to be made of.
async fn story(app: &App) {
    let list = r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#;
    for server in ["orders", "server-000001"] {
        let listing = view::file_listing("tools.json", list).expect("a list");
        app.record(&is(server), listing, "bench").await.expect("recorded");
    }
    let draft = app.draft(&is("orders"), &[is("orders")], "bench").await.expect("drafted");
    let approved = app.approve(&is("orders"), draft.id, false, "a bench", "bench").await.expect("approved");
    let request = MoveRequest {
        environment: is("production"),
        catalog: None,
        version: approved.version.expect("one approval is enough").version,
        generation: 0,
        reason: "a bench".to_owned(),
        actor: "bench".to_owned(),
        idempotency_key: None,
        overrides: Overrides::default(),
    };
    app.promote(&request).await.expect("promoted");
}

/// A service over a database of this size.
async fn service(url: &str, size: Option<Size>) -> (load::Client, String) {
    let place: &Place = &is(url);
    App::migrate(place).await.expect("migrated");
    story(&App::open(place, Arc::new(SystemClock)).await.expect("opened")).await;
    if let Some(size) = size {
        let start = Instant::now();
        seed::fill(url, size).await;
        println!("{} rows of history were made in {:.0} s", size.history, start.elapsed().as_secs_f64());
    }
    let app = App::open(place, Arc::new(SystemClock)).await.expect("opened");
    let token = load::token(&app).await;
    let served = load::served(move |bound| load::whole(app, bound));
    (load::Client::connect(served).await, token)
}

async fn compare(what: &str, mut services: [(load::Client, String); 3]) {
    println!(
        "{what}: median and p99 of one of everything, a short history, a long one; the long one's p99 over the others'"
    );
    for path in PATHS {
        let mut times: [Vec<Duration>; 3] = Default::default();
        for round in 0..ROUNDS + 10 {
            for ((service, token), times) in services.iter_mut().zip(&mut times) {
                let request = load::request(path, &[("authorization", token)]);
                let start = Instant::now();
                let answer = service.ask(&request).await;
                let time = start.elapsed();
                assert_eq!(
                    answer.status,
                    200,
                    "{path}: {}{}",
                    answer.head,
                    String::from_utf8_lossy(&answer.body)
                );
                // The first are of caches that are cold.
                if round >= 10 {
                    times.push(time);
                }
            }
        }
        let at = |times: &Vec<Duration>, part: usize| times[times.len() * part / 100].as_secs_f64() * 1e3;
        times.iter_mut().for_each(|times| times.sort());
        let [one, short, long] = &times;
        println!(
            "  {path}: {:.2} {:.2}, {:.2} {:.2}, {:.2} {:.2} ms: {:.1} and {:.1} times",
            at(one, 50),
            at(one, 99),
            at(short, 50),
            at(short, 99),
            at(long, 50),
            at(long, 99),
            at(long, 99) / at(one, 99),
            at(long, 99) / at(short, 99),
        );
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let services = [
            service(&place("one.db"), None).await,
            service(&place("short.db"), Some(SHORT)).await,
            service(&place("long.db"), Some(LONG)).await,
        ];
        compare("SQLite", services).await;
        let server = std::env::var("TEST_POSTGRES_URL").unwrap_or_default();
        if server.is_empty() {
            println!("left out: PostgreSQL; TEST_POSTGRES_URL names no server");
            return;
        }
        let mut databases = Vec::new();
        let mut clients = Vec::new();
        for (name, size) in [("one", None), ("short", Some(SHORT)), ("long", Some(LONG))] {
            let database = database::Database::create(&server, name).await;
            clients.push(service(&database.url, size).await);
            databases.push(database);
        }
        let Ok(clients) = <[(load::Client, String); 3]>::try_from(clients) else { return };
        compare("PostgreSQL", clients).await;
        for database in databases {
            database.drop().await;
        }
    });
}
