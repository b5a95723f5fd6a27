//! A small MCP server to try toolpact on: a shop's order desk, over real stdio, in both eras.
//!
//! Its three releases differ as real ones do: 1.1.0 only adds, 1.2.0 breaks callers on several surfaces and rewrites
//! descriptions, one of them into an instruction to the model. Its list has two pages, so that paging is real. It holds
//! no state and does nothing: calls have canned results.

use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use super::era;

/// The releases there are.
pub const RELEASES: [u8; 3] = [1, 2, 3];

/// The cursor of the second page, the last.
const SECOND_PAGE: &str = "page-2";
/// How long a list may be cached (2026-07-28): a minute, as it never changes while the process lives.
const TTL_MS: u64 = 60_000;

/// Serves one release until `stdin` ends.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for a release that is not in [`RELEASES`]; what reading and writing say otherwise.
pub async fn serve_stdio(
    release: u8,
    stdin: impl AsyncRead + Unpin,
    mut stdout: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let server = Server::of(release).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("the demo server has no release `{release}`; there are 1, 2 and 3"),
        )
    })?;
    let mut lines = BufReader::new(stdin).lines();
    while let Some(line) = lines.next_line().await? {
        let Some(answer) = server.answer(&line) else { continue };
        match stdout.write_all(format!("{answer}\n").as_bytes()).await {
            // Whoever asked is gone: the end, and no failure.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break,
            written => written?,
        }
        stdout.flush().await?;
    }
    Ok(())
}

/// One release, as its file has it.
struct Server {
    info: Value,
    instructions: Value,
    tools: Vec<Value>,
    results: Value,
}

impl Server {
    fn of(release: u8) -> Option<Self> {
        let text = match release {
            1 => include_str!("../../catalogs/demo-server/release-1.json"),
            2 => include_str!("../../catalogs/demo-server/release-2.json"),
            3 => include_str!("../../catalogs/demo-server/release-3.json"),
            _ => return None,
        };
        let parse =
            |text| -> Value { serde_json::from_str(text).expect("the file is compiled in and tested") };
        let mut document = parse(text);
        let Value::Array(tools) = document["tools"].take() else { return None };
        let results = parse(include_str!("../../catalogs/demo-server/results.json"));
        Some(Self {
            info: document["serverInfo"].take(),
            instructions: document["instructions"].take(),
            tools,
            results,
        })
    }

    /// The answer to one line; notifications have none.
    fn answer(&self, line: &str) -> Option<Value> {
        if line.trim().is_empty() {
            return None;
        }
        let Ok(request) = serde_json::from_str::<Value>(line) else {
            return Some(
                json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "not JSON"}}),
            );
        };
        let id = request.get("id")?;
        let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
        let none = json!({});
        let params = request.get("params").unwrap_or(&none);
        Some(match self.result(method, params) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err((code, message)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        })
    }

    fn result(&self, method: &str, params: &Value) -> Result<Value, (i32, String)> {
        let modern =
            params.get("_meta").is_some_and(|m| m.get("io.modelcontextprotocol/protocolVersion").is_some());
        let capabilities = json!({"tools": {"listChanged": false}});
        let mut result = match method {
            "server/discover" => json!({
                "supportedVersions": [era::MODERN, era::LEGACY],
                "capabilities": capabilities,
                "instructions": self.instructions,
                "ttlMs": TTL_MS,
                "cacheScope": "public",
            }),
            "initialize" => json!({
                "protocolVersion": era::LEGACY,
                "capabilities": capabilities,
                "serverInfo": self.info,
                "instructions": self.instructions,
            }),
            "ping" => json!({}),
            "tools/list" => {
                let mut page = self.page(params.get("cursor"))?;
                if modern {
                    page["ttlMs"] = json!(TTL_MS);
                    page["cacheScope"] = json!("public");
                }
                page
            }
            "tools/call" => self.call(params.get("name").and_then(Value::as_str).unwrap_or_default())?,
            other => return Err((-32601, format!("no method `{other}`"))),
        };
        if modern {
            result["resultType"] = json!("complete");
            result["_meta"] = json!({"io.modelcontextprotocol/serverInfo": self.info});
        }
        Ok(result)
    }

    fn page(&self, cursor: Option<&Value>) -> Result<Value, (i32, String)> {
        let (first, second) = self.tools.split_at(self.tools.len() / 2);
        match cursor {
            None => Ok(json!({"tools": first, "nextCursor": SECOND_PAGE})),
            Some(Value::String(cursor)) if cursor == SECOND_PAGE => Ok(json!({"tools": second})),
            Some(other) => Err((-32602, format!("no page {other}"))),
        }
    }

    fn call(&self, name: &str) -> Result<Value, (i32, String)> {
        let tool = self.tools.iter().find(|tool| tool["name"] == name);
        let result = tool.and_then(|_| self.results.get(name));
        let (Some(tool), Some(result)) = (tool, result) else {
            return Err((-32602, format!("no tool `{name}`")));
        };
        let mut answer = json!({"content": [{"type": "text", "text": result.to_string()}], "isError": false});
        if tool.get("outputSchema").is_some() {
            answer["structuredContent"] = result.clone();
        }
        Ok(answer)
    }
}
