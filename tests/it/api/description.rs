//! The description of the API: it is what is committed, and every answer of every test is as it says.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, LazyLock, Mutex},
};

use axum::http::Method;
use jsonschema::Validator;
use serde_json::{Value, json};
use toolpact::http::openapi::DOCUMENT;

use crate::ask::{Answer, answer, get};

/// The operation that a request is, where it is one.
pub(crate) fn operation(method: &Method, path: &str) -> Option<&'static Value> {
    let path = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').collect();
    let fits = |template: &str| {
        let names: Vec<&str> = template.split('/').collect();
        names.len() == parts.len()
            && names
                .iter()
                .zip(&parts)
                .all(|(name, part)| if name.starts_with('{') { !part.is_empty() } else { name == part })
    };
    let paths = DOCUMENT.value["paths"].as_object().expect("paths");
    let methods = paths.iter().find(|(template, _)| fits(template))?.1;
    let method = if method == Method::HEAD { "get".to_owned() } else { method.as_str().to_ascii_lowercase() };
    methods.get(method)
}

/// What a reference of the description names, or the value itself.
fn resolved(value: &'static Value) -> &'static Value {
    let Some(reference) = value["$ref"].as_str() else { return value };
    DOCUMENT.value.pointer(reference.trim_start_matches('#')).expect("references lead somewhere")
}

/// What a schema of the description allows. Each is compiled once.
fn validator(schema: &Value) -> Arc<Validator> {
    static COMPILED: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);
    let mut compiled = COMPILED.lock().expect("nobody panics while holding it");
    let make = || {
        let whole = json!({ "allOf": [schema], "components": DOCUMENT.value["components"] });
        Arc::new(jsonschema::validator_for(&whole).expect("a schema"))
    };
    Arc::clone(compiled.entry(schema.to_string()).or_insert_with(make))
}

/// Checks an answer of the API against its description.
pub(crate) fn conforms(method: &Method, path: &str, answer: &Answer) {
    let (status, kind) = (answer.status.as_u16(), answer.header("content-type"));
    let about = format!("{method} {path}: {status} {kind}: {}", answer.body);
    if path.starts_with("/api/v1") {
        assert!(!answer.header("x-request-id").is_empty(), "no X-Request-Id: {about}");
        if status >= 400 {
            let problem: Value = serde_json::from_str(&answer.body).unwrap_or_default();
            let head = method == Method::HEAD;
            // What is sent again names the request that it was first the answer to.
            let again = answer.header("idempotency-replayed") == "true";
            let same = problem["request_id"] == answer.header("x-request-id");
            assert!(head || again || same, "another request: {about}");
        }
    }
    let Some(operation) = operation(method, path) else { return };
    let described = resolved(&operation["responses"][status.to_string()]);
    assert!(!described.is_null(), "not a described status: {about}");
    if method == Method::HEAD || matches!(status, 204 | 304) {
        assert!(answer.body.is_empty(), "a body where none is: {about}");
        return;
    }
    let content = &described["content"][kind];
    assert!(!content.is_null(), "not a described content type: {about}");
    if matches!(kind, "application/yaml" | "text/event-stream") {
        return;
    }
    let body: Value = serde_json::from_str(&answer.body).unwrap_or_else(|e| panic!("{e}: {about}"));
    let validator = validator(&content["schema"]);
    if let Some(error) = validator.iter_errors(&body).next() {
        panic!("{error} at {}: {about}", error.instance_path());
    }
    if *method == Method::GET && status == 200 && path.starts_with("/api/v1") {
        assert!(!answer.header("etag").is_empty(), "no ETag: {about}");
    }
}

/// Every operation, with its method and path.
pub(crate) fn operations() -> Vec<(Method, &'static str, &'static Value)> {
    let paths = DOCUMENT.value["paths"].as_object().expect("paths").iter();
    let all = paths.flat_map(|(path, methods)| {
        methods.as_object().expect("methods").iter().map(move |(method, operation)| {
            let method = method.to_ascii_uppercase().parse().expect("a method");
            (method, path.as_str(), operation)
        })
    });
    all.collect()
}

/// `UPDATE_DOCS=1` writes it anew.
#[test]
fn the_committed_description_is_that_of_the_code() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(file, &DOCUMENT.text).expect("written");
    }
    let written = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        written == DOCUMENT.text,
        "openapi.json is not what the code says; run `UPDATE_DOCS=1 tests/run api::description` to write it anew"
    );
}

#[test]
fn every_operation_says_what_it_does_and_how_it_can_end() {
    let mut ids = BTreeSet::new();
    assert_eq!(DOCUMENT.value["openapi"], "3.1.0");
    for (method, path, operation) in operations() {
        let about = format!("{method} {path}");
        assert!(
            ids.insert(operation["operationId"].as_str().expect("an id")),
            "{about} has the id of another"
        );
        assert!(operation["summary"].as_str().is_some_and(|s| s.ends_with('.')), "{about} has no summary");
        for code in operation["x-problems"].as_array().expect("codes") {
            let responses = operation["responses"].as_object().expect("responses");
            let line = format!("- `{}`: ", code.as_str().expect("a code"));
            let told = responses
                .values()
                .map(resolved)
                .any(|r| r["description"].as_str().is_some_and(|d| d.contains(&line)));
            assert!(told, "{about}: {code} is no code of the table");
        }
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = &parameter["name"];
            assert!(parameter["description"].is_string(), "{about}: {name} says nothing");
            assert!(
                parameter["in"] != "path" || parameter["example"].is_string(),
                "{about}: {name} has no example"
            );
        }
        let takes = !matches!(method, Method::GET | Method::DELETE);
        assert!(!takes || operation.get("requestBody").is_some(), "{about} reads nothing");
        for body in operation["requestBody"]["content"].as_object().into_iter().flat_map(|c| c.values()) {
            assert!(
                validator(&body["schema"]).is_valid(&body["example"]),
                "{about}: its example is not as it says"
            );
        }
    }
}

#[tokio::test]
async fn the_description_and_its_page_are_served() {
    let app = crate::seed::empty().await;
    let served = answer(&app, get("/api/v1/openapi.json")).await;
    assert!(served.status.is_success() && served.body == DOCUMENT.text);
    let page = answer(&app, get("/api/docs")).await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.header("content-security-policy").starts_with("default-src 'none'"), "no policy");
    assert!(!page.body.contains("<script") && !page.body.contains(" style="), "the policy forbids these");
    for (method, path, operation) in operations() {
        let id = operation["operationId"].as_str().expect("an id");
        assert!(
            page.body.contains(&format!("<h3 id=\"{id}\"><code>{method} {path}</code>")),
            "{id} is missing"
        );
    }
    let links = page.body.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap_or_default());
    for link in links {
        assert!(page.body.contains(&format!("id=\"{link}\"")), "#{link} leads nowhere");
    }
    let again = answer(&app, get("/api/docs").header("if-none-match", page.header("etag"))).await;
    assert_eq!(again.status, 304);
}
