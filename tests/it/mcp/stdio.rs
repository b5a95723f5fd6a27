//! Servers that are shell scripts: they read a line where a request is due, and say a line.

mod begin;
mod lines;
mod pages;
mod process;
mod surfaces;

use toolpact::{
    mcp::{self, Limits, Source},
    snapshot::Listing,
};

use super::{Expected, complaint};

pub(super) const NO_SUCH_METHOD: &str =
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;
pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fake","version":"1.0.0"},"instructions":"be kind"}}"#;
pub(super) const DISCOVERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":1,"cacheScope":"public","resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"2.0.0"}}}}"#;
pub(super) const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
pub(super) const A: &str = r#"{"name":"a","inputSchema":{"type":"object"}}"#;
pub(super) const B: &str = r#"{"name":"b","inputSchema":{"type":"object"}}"#;

/// Waits for a line.
pub(super) const READ: &str = "read -r line || exit 0";
/// Waits for the end.
pub(super) const REST: &str = "while read -r line; do :; done";

pub(super) fn say(text: &str) -> String {
    format!("printf '%s\\n' '{}'", text.replace('\'', r"'\''"))
}

pub(super) fn script(steps: &[&str]) -> String {
    steps.join("\n")
}

/// A legacy server up to its first `tools/list`, which has id 3.
pub(super) fn legacy(steps: &[&str]) -> String {
    let (refused, initialized) = (say(NO_SUCH_METHOD), say(INITIALIZED));
    let mut all = vec![READ, &refused, READ, &initialized, READ, READ];
    all.extend(steps);
    script(&all)
}

/// A modern server up to its first `tools/list`, which has id 2.
fn modern(steps: &[&str]) -> String {
    let discovered = say(DISCOVERED);
    let mut all = vec![READ, &discovered, READ];
    all.extend(steps);
    script(&all)
}

/// The answer to `tools/list` number `id`.
pub(super) fn page(id: u64, result: &str) -> String {
    say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

pub(super) fn tools(id: u64, tools: &[&str]) -> String {
    page(id, &format!(r#"{{"tools":[{}]}}"#, tools.join(",")))
}

fn then(id: u64, tool: &str, cursor: &str) -> String {
    page(id, &format!(r#"{{"tools":[{tool}],"nextCursor":{cursor}}}"#))
}

/// A legacy server that answers its first `tools/list` with this result.
fn lists(result: &str) -> String {
    legacy(&[&page(3, result), REST])
}

async fn list(script: &str, limits: &Limits) -> Listing {
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    let source = Source::stdio(command).expect("there is a command");
    mcp::list(&source, limits).await
}

/// Runs every row and tells all that end otherwise than expected.
async fn check(rows: Vec<(&'static str, String, Limits, Expected)>) {
    let mut complaints = Vec::new();
    for (name, script, limits, expected) in rows {
        let listing = list(&script, &limits).await;
        complaints.extend(complaint(name, &listing, &expected));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
