//! The demo server: it speaks the protocol, and its releases differ as promised.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use toolpact::{
    contract::{Contract, Digests},
    mcp::demo,
    snapshot::RawTool,
};

/// Sends requests to a release over a pipe in memory; gives its answers.
async fn ask(release: u8, requests: &[Value]) -> Vec<Value> {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (stdin, stdout) = tokio::io::split(theirs);
    let server = tokio::spawn(async move { demo::serve_stdio(release, stdin, stdout).await });
    let (reader, mut writer) = tokio::io::split(ours);
    for request in requests {
        writer.write_all(format!("{request}\n").as_bytes()).await.expect("the server reads");
    }
    writer.shutdown().await.expect("the pipe is open");
    server.await.expect("it does not panic").expect("it ends well");
    let mut lines = BufReader::new(reader).lines();
    let mut answers = Vec::new();
    while let Ok(Some(line)) = lines.next_line().await {
        answers.push(serde_json::from_str(&line).expect("JSON"));
    }
    answers
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

async fn tools(release: u8) -> Vec<Value> {
    let answers = ask(
        release,
        &[request(1, "tools/list", json!({})), request(2, "tools/list", json!({"cursor": "page-2"}))],
    )
    .await;
    answers.iter().flat_map(|a| a["result"]["tools"].as_array().expect("tools").clone()).collect()
}

async fn digests(release: u8) -> BTreeMap<String, Digests> {
    let tools = tools(release).await.into_iter().enumerate().map(|(index, tool)| {
        let raw = serde_json::value::to_raw_value(&tool).expect("JSON");
        Contract::of(&RawTool { index, raw: raw.into() }).expect("a contract")
    });
    tools.map(|c| (c.name.clone(), c.digests().clone())).collect()
}

#[tokio::test]
async fn it_answers_in_both_eras() {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let answers = ask(
        3,
        &[
            request(1, "server/discover", json!({"_meta": meta})),
            request(2, "initialize", json!({"protocolVersion": "2025-06-18"})),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            request(3, "ping", json!({})),
            request(4, "tools/list", json!({"_meta": meta})),
            request(5, "tools/list", json!({"cursor": "nowhere"})),
            request(6, "tools/call", json!({"name": "shipping_quote", "arguments": {}})),
            request(7, "tools/call", json!({"name": "nothing"})),
            request(8, "resources/list", json!({})),
            json!("no request"),
        ],
    )
    .await;
    assert_eq!(answers[0]["result"]["supportedVersions"][0], "2026-07-28");
    assert_eq!(answers[0]["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["version"], "1.2.0");
    assert_eq!(answers[1]["result"]["serverInfo"]["name"], "orders");
    assert_eq!(answers[2], json!({"jsonrpc": "2.0", "id": 3, "result": {}}));
    assert_eq!(answers[3]["result"]["nextCursor"], "page-2");
    assert_eq!(answers[3]["result"]["resultType"], "complete");
    assert_eq!(answers[4]["error"]["code"], -32602);
    assert_eq!(answers[5]["result"]["structuredContent"]["quotes"][0]["days"], 2);
    assert_eq!(answers[6]["error"]["code"], -32602);
    assert_eq!(answers[7]["error"]["code"], -32601);
    assert_eq!(answers.len(), 8, "what is neither request nor JSON-RPC has no answer");
}

#[tokio::test]
async fn a_release_that_does_not_exist_is_refused() {
    let refused = demo::serve_stdio(4, tokio::io::empty(), tokio::io::sink()).await;
    assert!(refused.is_err_and(|e| e.to_string().contains("no release `4`")));
}

#[tokio::test]
async fn its_releases_differ_as_promised() {
    let (one, two, three) = (digests(1).await, digests(2).await, digests(3).await);
    let changed =
        |from: &BTreeMap<String, Digests>, to: &BTreeMap<String, Digests>, what: fn(&Digests) -> String| {
            to.iter()
                .filter(|(name, digests)| from.get(*name).is_none_or(|before| what(before) != what(digests)))
                .map(|(name, _)| name.clone())
                .collect::<Vec<_>>()
        };
    let contract = |d: &Digests| d.contract.to_string();
    let raw = |d: &Digests| d.raw.to_string();
    assert_eq!(
        changed(&one, &two, contract),
        ["coupon_issue", "order_query", "refund_create", "shipping_quote"]
    );
    assert_eq!(
        changed(&two, &three, contract),
        ["customer_lookup", "order_cancel", "order_query", "refund_create"]
    );
    // Words only: the tool changed, its contract did not.
    let words: Vec<String> =
        changed(&two, &three, raw).into_iter().filter(|n| two[n].contract == three[n].contract).collect();
    assert_eq!(words, ["invoice_send", "shipping_quote"]);
    assert_eq!(three.len() - changed(&two, &three, raw).len(), 3, "tools that stay as they are");
}

#[tokio::test]
async fn its_results_keep_its_promises() {
    for release in demo::RELEASES {
        for tool in tools(release).await {
            let call = request(1, "tools/call", json!({"name": tool["name"], "arguments": {}}));
            let answers = ask(release, &[call]).await;
            let result = &answers[0]["result"];
            assert_eq!(result["isError"], false, "release {release}, {}", tool["name"]);
            if let Some(schema) = tool.get("outputSchema") {
                let validator = jsonschema::validator_for(schema).expect("a schema");
                let content = &result["structuredContent"];
                assert!(validator.is_valid(content), "release {release}, {}: {content}", tool["name"]);
            }
        }
    }
}
