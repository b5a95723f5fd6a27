//! Taking a snapshot over stdio, beside the barest exchange of the same messages with the same server.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use toolpact::{
    mcp::{self, Limits, Source},
    snapshot::Outcome,
};

/// The exchange that a listing cannot do without: handshake, then every page. Panics where the server does not answer.
fn bare(command: &[String]) -> Duration {
    let start = Instant::now();
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut send = |message: Value| writeln!(stdin, "{message}").expect("the server reads");
    let mut answer = |id: u64| -> Value {
        loop {
            let line = lines.next().expect("the server answers").expect("text");
            let value: Value = serde_json::from_str(&line).expect("JSON");
            if value["id"] == id {
                return value;
            }
        }
    };
    send(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}}));
    answer(1);
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let (mut id, mut cursor) = (2, Value::Null);
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params}));
        cursor = answer(id)["result"]["nextCursor"].clone();
        id += 1;
        if cursor.is_null() {
            break;
        }
    }
    let time = start.elapsed();
    // Ending the server is no part of its answer.
    let _ = child.kill();
    let _ = child.wait();
    time
}

/// Until the answer was complete, and until the server was ended as the specification asks (stdin closed, time given).
fn ours(runtime: &tokio::runtime::Runtime, command: &[String]) -> (Duration, Duration) {
    let source = Source::stdio(command.to_vec()).expect("a command");
    let start = Instant::now();
    let listing = runtime.block_on(mcp::list(&source, &Limits::default()));
    let time = start.elapsed();
    assert_eq!(listing.outcome, Outcome::Ok, "{}", listing.evidence.message);
    (Duration::from_millis(listing.evidence.elapsed_ms), time)
}

fn compare(what: &str, command: &[String], rounds: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        a.push(bare(command));
        let (answered, ended) = ours(&runtime, command);
        b.push(answered);
        c.push(ended);
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[rounds / 2].as_secs_f64() * 1e3
    };
    let (bare, answered, ended) = (median(&mut a), median(&mut b), median(&mut c));
    println!(
        "{what}: bare exchange {bare:.1} ms, snapshot {answered:.1} ms: {:+.1} % (server ended after {ended:.1} ms)",
        (answered / bare - 1.0) * 100.0
    );
}

fn main() {
    let owned = |parts: &[&str]| parts.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>();
    let toolpact = env!("CARGO_BIN_EXE_toolpact");
    compare("the server inside the binary", &owned(&[toolpact, "demo-server", "--release", "1"]), 40);
    let script = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    match std::env::var("TOOLPACT_REAL_SERVERS") {
        Ok(dir) if Path::new(&dir).join("everything-2026.8.31").join(script).exists() => {
            let script = Path::new(&dir).join("everything-2026.8.31").join(script);
            compare("server-everything 2026.8.31", &owned(&["node", &script.to_string_lossy()]), 20);
        }
        _ => println!("left out: no real server; TOOLPACT_REAL_SERVERS names no folder of tests/run"),
    }
}
