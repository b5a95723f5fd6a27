//! A service reaches no further than it may, whatever a URL says.

use axum::{Router, routing::post};
use toolpact::{
    mcp::{self, Limits, Reach, Source},
    snapshot::Outcome,
};

use super::patient;

/// A modern server with one tool, on loopback; gives its port.
async fn serve() -> u16 {
    let answer = async |body: String| {
        let message: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        let result = match message["method"].as_str() {
            Some("tools/list") => {
                serde_json::json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]})
            }
            _ => serde_json::json!({"supportedVersions": ["2026-07-28"], "capabilities": {}}),
        };
        axum::Json(serde_json::json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    };
    let router = Router::new().fallback_service(post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}

#[tokio::test]
async fn what_is_not_public_is_reached_only_where_it_is_allowed() {
    let port = serve().await;
    let public = || Reach::Public(Vec::new());
    let loopback = || {
        Reach::Public(vec!["127.0.0.0/8".parse().expect("a network"), "::1/128".parse().expect("a network")])
    };
    let mut complaints = Vec::new();
    for (host, reach, outcome, words) in [
        ("127.0.0.1", Reach::Anywhere, Outcome::Ok, ""),
        ("127.0.0.1", loopback(), Outcome::Ok, ""),
        ("localhost", loopback(), Outcome::Ok, ""),
        ("127.0.0.1", public(), Outcome::Unavailable, "127.0.0.1 is no public address"),
        ("localhost", public(), Outcome::Unavailable, "which is no public address"),
        ("[::1]", public(), Outcome::Unavailable, "::1 is no public address"),
        ("[::ffff:127.0.0.1]", public(), Outcome::Unavailable, "is no public address"),
        ("0x7f.1", public(), Outcome::Unavailable, "127.0.0.1 is no public address"),
        ("2130706433", public(), Outcome::Unavailable, "127.0.0.1 is no public address"),
        ("169.254.169.254", public(), Outcome::Unavailable, "169.254.169.254 is no public address"),
        ("10.0.0.1", loopback(), Outcome::Unavailable, "10.0.0.1 is no public address"),
    ] {
        let source = Source::http(&format!("http://{host}:{port}/mcp"), Vec::new()).expect("a URL");
        let listing = mcp::list(&source, &Limits { reach: reach.clone(), ..patient() }).await;
        if listing.outcome != outcome || !listing.evidence.message.contains(words) {
            complaints
                .push(format!("{host} with {reach:?}: {} {:?}", listing.outcome, listing.evidence.message));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
