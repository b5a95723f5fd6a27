//! Whether this binary works on this machine: each part tried once on what it is known to answer.

use std::{path::Path, sync::Arc};

use super::{App, SystemClock, view};
use crate::{
    diff::{Assumption, Level, Report, Side, diff},
    gate::{Lock, LockedServer, lock},
    json::{self, Digest},
    mcp::{self, Limits, Source},
    snapshot::{Outcome, read_saved},
};

const RELEASES: [&str; 3] = [
    include_str!("../../catalogs/demo-server/release-1.json"),
    include_str!("../../catalogs/demo-server/release-2.json"),
    include_str!("../../catalogs/demo-server/release-3.json"),
];

/// Tries every part; what it is, and why it failed where it did. `program` is this binary: it is a server as well.
pub async fn run(program: &Path) -> Vec<(&'static str, Result<(), String>)> {
    vec![
        ("canonical JSON and digests (RFC 8785)", digests()),
        ("a compatible release is proved so", compatible()),
        ("a breaking release is shown by a call", breaking()),
        ("a lockfile says what was written", lockfile()),
        ("a server is started and asked over stdio", stdio(program).await),
        ("a database is made and read", database().await),
    ]
}

fn be(right: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if right { Ok(()) } else { Err(otherwise()) }
}

fn digests() -> Result<(), String> {
    let value = json::parse(r#"{"b":[1.0,"\u20ac"],"a":1e2}"#).map_err(|e| e.to_string())?;
    let canonical = json::canonical(&value);
    be(canonical == "{\"a\":100,\"b\":[1,\"€\"]}".as_bytes(), || {
        String::from_utf8_lossy(&canonical).into_owned()
    })?;
    // FIPS 180-2's own example.
    let abc = Digest::of_bytes(b"abc").to_string();
    be(abc.ends_with("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), || abc)
}

fn side(release: usize) -> Result<Side, String> {
    view::file_side("release", RELEASES[release]).map_err(|e| e.message)
}

fn report(from: usize, to: usize) -> Result<Report, String> {
    Ok(diff(&side(from)?, &side(to)?, Assumption::Declared))
}

fn compatible() -> Result<(), String> {
    let report = report(0, 1)?;
    be(report.verdict == Level::Compatible && !report.tools.is_empty(), || {
        format!("it is {}", report.verdict)
    })
}

fn breaking() -> Result<(), String> {
    let report = report(1, 2)?;
    let shown = report.findings().any(|(_, f)| f.level == Level::Breaking && f.witness.is_some());
    be(report.verdict == Level::Breaking && shown, || format!("it is {}, shown: {shown}", report.verdict))
}

fn lockfile() -> Result<(), String> {
    let saved = read_saved(RELEASES[0]).map_err(|e| e.to_string())?;
    let name = "orders".parse().map_err(|e: crate::name::InvalidName| e.to_string())?;
    let day = chrono::NaiveDate::default();
    let server = LockedServer::of(name, &saved.tools, None, day).map_err(|e| e.to_string())?;
    let written = Lock { servers: vec![server] }.write();
    let read = lock::read(&written).map_err(|e| e.to_string())?;
    be(read.write() == written, || "it is another text when it is written again".to_owned())?;
    let same = diff(&read.side("lock"), &side(0)?, Assumption::Declared);
    be(same.tools.is_empty(), || format!("{} tools differ from what was locked", same.tools.len()))
}

async fn stdio(program: &Path) -> Result<(), String> {
    let args = ["demo-server", "--release", "1"].map(str::to_owned).to_vec();
    let source = Source::command(program.to_string_lossy().into_owned(), args);
    let listing = mcp::list_tools(&source, &Limits::default()).await;
    let expected = read_saved(RELEASES[0]).map_err(|e| e.to_string())?.tools.len();
    be(listing.outcome == Outcome::Ok && listing.tools.len() == expected, || {
        format!("{} with {} tools: {}", listing.outcome, listing.tools.len(), listing.evidence.message)
    })
}

async fn database() -> Result<(), String> {
    let app = App::in_memory(Arc::new(SystemClock)).await.map_err(|e| e.message)?;
    let servers = app.registered().await.map_err(|e| e.message)?;
    be(servers.is_empty(), || "a new database holds something".to_owned())
}
