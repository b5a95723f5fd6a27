//! What a server may say to lead us elsewhere, or to have what we send it written down.

use axum::{
    http::{StatusCode, header::LOCATION},
    response::IntoResponse,
};
use serde_json::{Value, json};
use toolpact::{
    mcp::{Limits, Reach},
    snapshot::Outcome,
};

use super::{ISSUER, METADATA, Row, SECRET, body, challenge, check, honest, lasting, refused, row};
use crate::mcp::{fails, patient};

#[tokio::test]
async fn a_hostile_server_learns_no_secret_and_reaches_nobody() {
    let loopback = || {
        let reach = Reach::Public(vec!["127.0.0.0/8".parse().expect("a network")]);
        Limits { reach, ..patient() }
    };
    check(vec![
        Row {
            asks: &["/mcp", METADATA, ISSUER, "/token"],
            ..row(
                "a token endpoint that redirects, even to itself",
                |asked| match asked.path.as_str() {
                    "/token" => (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, "/elsewhere")]).into_response(),
                    _ => honest(asked),
                },
                refused("with status 307 and a redirect, which is not followed"),
            )
        },
        Row {
            asks: &["/mcp", METADATA],
            ..row(
                "metadata that redirects to another origin",
                |asked| match asked.path.as_str() {
                    METADATA => (StatusCode::FOUND, [(LOCATION, "http://127.0.0.1:9/")]).into_response(),
                    _ => honest(asked),
                },
                refused("a redirect to another origin, `http://127.0.0.1:9`, which is not followed"),
            )
        },
        row(
            "metadata that redirects in a circle",
            |asked| match asked.path.as_str() {
                METADATA => (StatusCode::FOUND, [(LOCATION, METADATA)]).into_response(),
                _ => honest(asked),
            },
            refused("redirects more than 3 times"),
        ),
        row(
            "huge metadata",
            |asked| match asked.path.as_str() {
                METADATA => vec![b' '; 70_000].into_response(),
                _ => honest(asked),
            },
            refused("answered with more than 65536 bytes"),
        ),
        row(
            "a huge token",
            |asked| match asked.path.as_str() {
                "/token" => lasting(asked, &json!({"more": "x".repeat(70_000)})),
                _ => honest(asked),
            },
            refused("answered with more than 65536 bytes"),
        ),
        row(
            "metadata that is none",
            |asked| match asked.path.as_str() {
                METADATA => "<h1>welcome</h1>".into_response(),
                _ => honest(asked),
            },
            refused("is no such metadata"),
        ),
        Row {
            limits: loopback(),
            asks: &["/mcp"],
            ..row(
                "metadata at a private address",
                |_| challenge("resource_metadata=\"https://169.254.169.254/latest\""),
                refused("169.254.169.254 is no public address"),
            )
        },
        Row {
            limits: loopback(),
            asks: &["/mcp", METADATA],
            ..row(
                "an issuer at a private address",
                |asked| match asked.path.as_str() {
                    METADATA => body(json!({"authorization_servers": ["https://10.0.0.1/"]})),
                    _ => honest(asked),
                },
                refused("10.0.0.1 is no public address"),
            )
        },
        Row {
            limits: loopback(),
            asks: &["/mcp", METADATA, ISSUER],
            ..row(
                "a token endpoint on another host",
                |asked| match asked.path.as_str() {
                    ISSUER => body(json!({
                        "issuer": format!("{}/tenant", asked.base), "token_endpoint": "https://login.example.com/token",
                    })),
                    _ => honest(asked),
                },
                refused("names `https://login.example.com/token` as where tokens are issued, which is not on its own host"),
            )
        },
        Row {
            asks: &["/mcp", METADATA],
            ..row(
                "an issuer without TLS elsewhere",
                |asked| match asked.path.as_str() {
                    METADATA => body(json!({"authorization_servers": ["http://example.com/"]})),
                    _ => honest(asked),
                },
                refused("its authorization server is at `http://example.com/`, which is neither https"),
            )
        },
        row(
            "an issuer that is no URL",
            |asked| match asked.path.as_str() {
                METADATA => body(json!({"authorization_servers": ["file:///etc/passwd"]})),
                _ => honest(asked),
            },
            refused("which is no http or https URL"),
        ),
        row(
            "an issuer that passes itself off as another",
            |asked| match asked.path.as_str() {
                ISSUER => body(json!({
                    "issuer": "https://login.example.com", "token_endpoint": format!("{}/token", asked.base),
                })),
                _ => honest(asked),
            },
            refused("is about `https://login.example.com`, not about"),
        ),
        row(
            "metadata of another server",
            |asked| match asked.path.as_str() {
                METADATA => body(json!({"resource": "https://example.com/mcp", "authorization_servers": []})),
                _ => honest(asked),
            },
            refused("is about `https://example.com/mcp`, not about it"),
        ),
        row(
            "metadata of another path",
            |asked| match asked.path.as_str() {
                METADATA => {
                    body(json!({"resource": format!("{}/mc", asked.base), "authorization_servers": []}))
                }
                _ => honest(asked),
            },
            refused("not about it"),
        ),
        row(
            "a server that says the token back",
            |asked| match (asked.path.as_str(), asked.token()) {
                ("/mcp", Some(_)) => {
                    let said = asked.header("authorization");
                    let message: Value = serde_json::from_str(&asked.body).expect("JSON");
                    let error = json!({"code": -1, "message": said, "data": [said, SECRET]});
                    body(json!({"jsonrpc": "2.0", "id": message["id"], "error": error}))
                }
                _ => honest(asked),
            },
            fails(Outcome::Error, "-1: Bearer …"),
        ),
    ])
    .await;
}
