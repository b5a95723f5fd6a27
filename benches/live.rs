//! What a host asks all day, beside bare handlers that answer the same bytes; and how soon a move is seen everywhere.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Bytes,
    http::{StatusCode, header},
    routing::get,
};
use toolpact::{
    app::{App, MoveRequest, Overrides, Place, ReleaseRequest, SystemClock, view},
    catalog::MoveKind,
};

use tokio::task::JoinSet;

#[path = "support/database.rs"]
mod database;
#[path = "support/load.rs"]
mod load;

/// What is shipped has it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PATH: &str = "/api/v1/environments/production/catalog?format=mcp";
/// Hosts that ask at once.
const HOSTS: usize = 32;
const ROUND: Duration = Duration::from_millis(500);
const ROUNDS: usize = 15;
const TOOLS: usize = 550;
const MOVES: usize = 200;
/// Between two looks at where a process stands.
const LOOK: Duration = Duration::from_millis(1);

fn is<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("written here")
}

/// A list of tools as servers have them: some arguments, each described.
fn tools(count: usize) -> String {
    let property = |n| {
        (
            format!("argument_{n}"),
            serde_json::json!({"type": "string", "description": "One of the things that it takes."}),
        )
    };
    let tool = |n| {
        let properties: serde_json::Value = (0..6).map(property).collect();
        serde_json::json!({"name": format!("tool_{n}"), "description": "Does one of the things that a server does.",
            "inputSchema": {"type": "object", "properties": properties, "required": ["argument_0"]}})
    };
    serde_json::json!({"tools": (0..count).map(tool).collect::<Vec<_>>()}).to_string()
}

/// Two versions, the first live in production.
async fn filled(app: &App, count: usize) -> [String; 2] {
    let (catalog, server) = (is("orders"), is("orders"));
    let mut versions = Vec::new();
    for count in [count, count + 1] {
        let listing = view::file_listing("tools.json", &tools(count)).expect("a list");
        let recorded = app.record(&server, listing, "bench").await.expect("recorded");
        let draft = match recorded.drafts.into_iter().next() {
            Some(draft) => draft,
            None => app.draft(&catalog, &[is("orders")], "bench").await.expect("drafted"),
        };
        let approved = app.approve(&catalog, draft.id, false, "a bench", "bench").await.expect("approved");
        versions.push(approved.version.expect("one approval is enough").version.to_string());
    }
    app.promote(&request(&versions[0], 0)).await.expect("promoted");
    [versions.remove(0), versions.remove(0)]
}

fn request(version: &str, generation: i64) -> MoveRequest {
    MoveRequest {
        environment: is("production"),
        catalog: None,
        version: is(version),
        generation,
        reason: "a bench".to_owned(),
        actor: "bench".to_owned(),
        idempotency_key: None,
        overrides: Overrides::default(),
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Requests per second over so many connections; every answer has to have this status.
async fn rate(server: SocketAddr, request: &[u8], status: u16, connections: usize, time: Duration) -> f64 {
    let start = Instant::now();
    let mut clients = JoinSet::new();
    for _ in 0..connections {
        let request = request.to_vec();
        clients.spawn(async move {
            let (mut client, mut done) = (load::Client::connect(server).await, 0_u32);
            while start.elapsed() < time {
                assert_eq!(client.exchange(&request).await.0, status);
                done += 1;
            }
            done
        });
    }
    let done: u32 = clients.join_all().await.into_iter().sum();
    f64::from(done) / start.elapsed().as_secs_f64()
}

/// Our service and a bare one, asked turn by turn.
async fn throughput(app: App) {
    let token = load::token(&app).await;
    let ours = load::served(move |bound| load::whole(app, bound));
    let mut client = load::Client::connect(ours).await;
    let first = client.ask(&load::request(PATH, &[("authorization", &token)])).await;
    assert_eq!(first.status, 200, "{}", first.head);
    let tag = first.head.lines().find_map(|line| line.strip_prefix("etag: ")).expect("a tag").to_owned();
    println!("{TOOLS} tools are {} kB", first.body.len() / 1000);
    let body = Bytes::from(first.body);
    let whole = move || {
        let body = body.clone();
        async move { ([(header::CONTENT_TYPE, "application/json")], body) }
    };
    let bare = load::served(move |_| {
        Router::new().route("/304", get(|| async { StatusCode::NOT_MODIFIED })).route("/200", get(whole))
    });
    for (what, status, path, headers) in
        [("304", 304, "/304", vec![("if-none-match", tag.as_str())]), ("200", 200, "/200", Vec::new())]
    {
        let headers: Vec<_> = headers.into_iter().chain([("authorization", token.as_str())]).collect();
        let (mine, theirs) = (load::request(PATH, &headers), load::request(path, &headers));
        let (mut a, mut b, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let bare = rate(bare, &theirs, status, HOSTS, ROUND).await;
            let ours = rate(ours, &mine, status, HOSTS, ROUND).await;
            a.push(bare);
            b.push(ours);
            ratios.push(ours / bare);
        }
        println!(
            "{what}: bare handler {:.0} requests a second, ours {:.0}: {:.1} % (median of {ROUNDS} rounds)",
            median(&mut a),
            median(&mut b),
            median(&mut ratios) * 100.0
        );
    }
}

/// From when a move is answered until each of three processes, each with what it keeps, shows it.
async fn seen(server: &str) {
    let database = database::Database::create(server, "moves").await;
    let place: Place = database.url.parse().expect("a place");
    App::migrate(&place).await.expect("migrated");
    let mut replicas = Vec::new();
    for _ in 0..3 {
        replicas.push(App::open(&place, Arc::new(SystemClock)).await.expect("opened"));
    }
    let versions = filled(&replicas[0], 20).await;
    let (mut last, mut all) = (Vec::new(), Vec::new());
    for generation in 1..=i64::try_from(MOVES).expect("few") {
        for replica in &replicas {
            // What is kept is what a host would be given.
            for _ in 0..3 {
                shown(replica).await;
            }
        }
        let (mover, others) = (&replicas[0], &replicas);
        let kind = if generation % 2 == 1 { MoveKind::Promote } else { MoveKind::Rollback };
        let asked = request(&versions[usize::from(generation % 2 == 1)], generation);
        match kind {
            MoveKind::Promote => mover.promote(&asked).await.expect("promoted"),
            MoveKind::Rollback => mover.rollback(&asked).await.expect("rolled back"),
        };
        let answered = Instant::now();
        let mut slowest = Duration::ZERO;
        for replica in others {
            while shown(replica).await != generation + 1 {
                // Whoever asks without a pause takes the processor from what is to tell it.
                tokio::time::sleep(LOOK).await;
            }
            let time = answered.elapsed();
            all.push(time.as_secs_f64() * 1e3);
            slowest = slowest.max(time);
        }
        last.push(slowest.as_secs_f64() * 1e3);
        if kind == MoveKind::Rollback {
            let held = ReleaseRequest {
                environment: is("production"),
                catalog: None,
                version: None,
                generation: generation + 1,
                reason: "a bench".to_owned(),
                actor: "bench".to_owned(),
                idempotency_key: None,
            };
            mover.release_hold(&held).await.expect("released");
        }
    }
    drop(replicas);
    database.drop().await;
    let median = median(&mut last);
    println!(
        "a move is seen by all of 3 processes after {median:.2} ms (median of {MOVES}), p99 {:.2} ms, worst {:.2} ms",
        last[last.len() * 99 / 100],
        last[last.len() - 1],
    );
}

/// The generation that a process shows.
async fn shown(app: &App) -> i64 {
    let wanted = toolpact::app::live::cache::Wanted {
        environment: is("production"),
        catalog: None,
        form: "mcp",
        server: None,
    };
    let made = async |pointer: &toolpact::catalog::EnvironmentPointer, version| {
        let tools = app.pinned_tools(&version, None).await?;
        let body = tools.into_iter().flat_map(|tool| tool.text.into_bytes()).collect();
        Ok::<_, toolpact::app::AppError>((pointer.version.to_string(), body))
    };
    app.live_bytes(wanted, |_| true, made).await.expect("live").pointer.generation
}

fn main() {
    // As the service logs: every request has a span.
    tracing_subscriber::fmt().with_env_filter("warn").with_writer(std::io::stderr).init();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Place::File(folder.path().join("toolpact.db"));
        let app = App::open(&place, Arc::new(SystemClock)).await.expect("opened");
        filled(&app, TOOLS).await;
        throughput(app).await;
        match std::env::var("TEST_POSTGRES_URL") {
            Ok(server) if !server.is_empty() => seen(&server).await,
            _ => println!("left out: how soon a move is seen; TEST_POSTGRES_URL names no server"),
        }
    });
}
