//! Bad input to every operation of the description: a problem with a code, and nothing happened.

use axum::http::Method;
use serde_json::{Value, json};
use toolpact::http::openapi::DOCUMENT;

use super::description::{operation, operations};
use crate::{
    ask::{Ask, answer, get},
    seed,
};

/// A path with names of the story, or with this in place of one of them.
fn named(path: &str, replaced: Option<(&str, &str)>) -> String {
    let names = [
        ("{server}", "orders"),
        ("{catalog}", "shop"),
        ("{environment}", "staging"),
        ("{draft}", "d-4"),
        ("{check}", "1"),
        ("{version}", "2026.11.28"),
        ("{token}", "tok-000000000000"),
        ("{team}", "payments"),
        ("{webhook}", "on-call"),
        ("{delivery}", "1"),
    ];
    let path = replaced.map_or_else(|| path.to_owned(), |(part, name)| path.replace(part, name));
    names.iter().fold(path, |path, (part, name)| path.replace(part, name))
}

/// A request that is good as far as it goes.
fn good(method: &Method, path: &str, operation: &Value) -> Ask {
    let ask = get(path).method(method.clone());
    let ask = match body(operation) {
        Some((kind, body)) => ask.header("content-type", kind).body(&body["example"].to_string()),
        None => ask,
    };
    ask.header("if-match", "\"2\"")
}

/// What an operation reads, with its content type.
fn body(operation: &Value) -> Option<(&str, &Value)> {
    let content = operation["requestBody"]["content"].as_object()?;
    content.iter().next().map(|(kind, body)| (kind.as_str(), body))
}

/// The members of a body that is an object.
fn members(body: &Value) -> Vec<String> {
    let schema = &body["schema"]["$ref"];
    let pointer = schema.as_str().expect("bodies have names").trim_start_matches('#');
    let schema = DOCUMENT.value.pointer(pointer).expect("the schema");
    assert_eq!(schema["additionalProperties"], false, "{pointer} takes unknown members");
    schema["properties"].as_object().into_iter().flatten().map(|(member, _)| member.clone()).collect()
}

/// Every bad request, each with what is bad about it and the code that says so, where it is one and the same.
fn bad() -> Vec<(String, Ask, &'static str)> {
    let mut all: Vec<(String, Ask, &'static str)> = Vec::new();
    for (method, path, operation_of) in operations() {
        let plain = named(path, None);
        let about = format!("{method} {path}");
        let mut add =
            |what: &str, ask: Ask, code: &'static str| all.push((format!("{about}: {what}"), ask, code));
        for other in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS]
        {
            if operation(&other, path).is_none() {
                let ask = get(&plain).method(other.clone()).header("sec-fetch-site", "same-origin");
                add(&format!("method {other}"), ask, "wrong-method");
            }
        }
        for part in path.split('/').filter(|part| part.starts_with('{')) {
            let long = "a".repeat(65);
            for name in [
                long.as_str(),
                "%00",
                "a%0Ab",
                "%1B%5B31m",
                "a%2Fb",
                "%FF",
                "-x",
                "%20",
                "caf%C3%A9",
                "..%2F..",
                "*",
            ] {
                let path = named(path, Some((part, name)));
                add(&format!("{part} is {name}"), good(&method, &path, operation_of), "invalid-path");
            }
        }
        let parameters = operation_of["parameters"].as_array().cloned().unwrap_or_default();
        if parameters.iter().any(|p| p["in"] == "query") {
            let queries =
                ["no-such=1", "limit=x&no-such=1", "%00=1", "=", "&&x", "catalog=a&catalog=b&limit=&format="];
            for query in queries {
                let ask = good(&method, &format!("{plain}?{query}"), operation_of);
                add(&format!("query {query}"), ask, "invalid-query");
            }
        }
        for parameter in parameters.iter().filter(|p| p["in"] == "header") {
            let (name, code) = match parameter["name"].as_str().expect("a name") {
                "If-Match" => ("if-match", "invalid-if-match"),
                "Toolpact-On-Behalf-Of" => ("toolpact-on-behalf-of", "invalid-on-behalf-of"),
                "Idempotency-Key" => ("idempotency-key", "invalid-idempotency-key"),
                _ => continue,
            };
            for value in ["", "ü", "\u{1f600}"] {
                add(
                    &format!("{name} {value}"),
                    good(&method, &plain, operation_of).header(name, value),
                    code,
                );
            }
        }
        let Some((reads, body_of)) = body(operation_of) else { continue };
        let example = &body_of["example"];
        let with = |body: &str| good(&method, &plain, operation_of).body(body);
        for kind in [
            "text/plain",
            if reads == "application/json" { "application/json-patch+json" } else { "application/json" },
            "application/xml",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "",
        ] {
            add(
                &format!("content type {kind}"),
                with("{}").header("content-type", kind),
                "wrong-content-type",
            );
        }
        for body in [
            "",
            " ",
            "{",
            "{}}",
            "{\"a\":}",
            if example.is_array() { "{}" } else { "[]" },
            "null",
            "1",
            "\"x\"",
            "true",
            "\u{feff}{}",
            "{'a':1}",
            "{\"a\":1,}",
        ] {
            add(&format!("body {body}"), with(body), "invalid-body");
        }
        let large = format!("{{\"reason\":\"{}\"}}", "x".repeat(17 << 20));
        add("too large", with(&large), "body-too-large");
        add("deep", with(&format!("{{\"x\":{}", "[".repeat(10_000))), "invalid-body");
        if example.is_array() {
            for item in [
                json!(1),
                json!([]),
                json!({}),
                json!(["add", "/a", 1]),
                json!({"op": "add", "path": "/a"}),
                json!({"op": "no-such", "path": "/a"}),
                json!({"op": "move", "path": "/a"}),
                json!({"op": "remove", "path": 1}),
            ] {
                add(&format!("an item {item}"), with(&json!([item]).to_string()), "invalid-body");
            }
            continue;
        }
        add(
            "an array of values in order",
            with(&json!(example.as_object().map(|e| e.values().collect::<Vec<_>>())).to_string()),
            "invalid-body",
        );
        let mut unknown = example.clone();
        unknown["noSuchMember"] = json!(1);
        add("an unknown member", with(&unknown.to_string()), "invalid-body");
        let doubled = example.to_string().replacen(
            '{',
            &format!("{{{},", example.to_string().trim_matches(['{', '}'])),
            1,
        );
        add("every member twice", with(&doubled), "invalid-body");
        for member in members(body_of) {
            for value in [
                json!({"x": {}}),
                json!(-1.5),
                json!([[[]]]),
                json!("\u{0}"),
                json!("a".repeat(200)),
                json!(1e300),
            ] {
                let mut body = example.clone();
                body[&member] = value.clone();
                // A name or a reason is looked at by what does the work, which says what is wrong with it.
                if matches!(member.as_str(), "name" | "owner")
                    && value.is_string()
                    && path.ends_with("/tokens")
                {
                    continue;
                }
                // A reason or a remark may be any text, and recorded messages that are no calls are skipped.
                if matches!(member.as_str(), "reason" | "text") && value.is_string()
                    || member == "calls" && value.is_array()
                {
                    continue;
                }
                let code = if matches!(member.as_str(), "listing" | "baseline" | "candidate" | "rule") {
                    ""
                } else {
                    "invalid-body"
                };
                let shown: String = value.to_string().chars().take(20).collect();
                add(&format!("{member} is {shown}"), with(&body.to_string()), code);
            }
        }
    }
    all
}

#[tokio::test]
async fn bad_input_to_any_operation_is_a_problem_and_changes_nothing() {
    let app = seed::story().await;
    let log = async || app.events(10_000).await.expect("events").len();
    let before = log().await;
    let bad = bad();
    assert!(bad.len() > 700, "{} bad requests", bad.len());
    let mut wrong = Vec::new();
    for (about, ask, expected) in bad {
        let answer = answer(&app, ask).await;
        let problem: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let code = problem["code"].as_str().unwrap_or_default();
        let refused = answer.status.is_client_error()
            && answer.header("content-type") == "application/problem+json"
            && !code.is_empty()
            && (expected.is_empty() || code == expected);
        if !refused {
            wrong.push(format!(
                "{about}: {expected} expected, {} {}",
                answer.status,
                answer.body.chars().take(200).collect::<String>()
            ));
        }
        if code == "invalid-body" {
            assert!(problem["errors"][0]["pointer"].is_string(), "{about}: no pointer: {}", answer.body);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(log().await, before, "something happened");
}
