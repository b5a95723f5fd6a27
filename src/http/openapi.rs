//! The API's description, OpenAPI 3.1, made from the routes themselves.
//!
//! Handlers describe what is theirs: parameters, bodies, what they answer, and in `x-problems` which codes their use case
//! can end with. What all of them have in common (how a body, a path, a key or a cursor is refused, tags, names of
//! requests) is said here, once.

use std::{collections::BTreeMap, sync::LazyLock};

use axum::response::Response;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use super::{
    TABLE,
    codes::{self, Code},
    conditional::{of_bytes, tagged},
    cursor, error, idempotency,
    wire::schema,
};
use crate::guard::LONGEST_NAME;

/// The whole description.
pub struct Document {
    /// As a value.
    pub value: Value,
    /// As text, as it is served and committed.
    pub text: String,
    tag: String,
}

/// The description of this API.
pub static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    // The types of the description always serialise.
    let mut value = serde_json::to_value(&TABLE.description).unwrap_or_default();
    let mut refusals = Map::new();
    for operation in operations(&mut value) {
        conventions(operation, &mut refusals);
    }
    value["components"]["responses"] = Value::Object(refusals);
    value["components"]["securitySchemes"] = json!({
        "token": { "type": "http", "scheme": "bearer", "description": "A token, `tp_` and 72 hexadecimal digits." },
    });
    let text = format!("{value:#}\n");
    Document { tag: of_bytes(text.as_bytes()), value, text }
});

/// What is said about the API as a whole.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "toolpact",
        description = "The governance catalog for the contracts of MCP tools.\n\n\
            Every refusal is a problem (RFC 9457) with a stable `code` and, in `help`, the next step. Every GET has a strong \
            `ETag`, and answers 304 to `If-None-Match`; what others may change is changed only with `If-Match`. Every POST \
            takes an `Idempotency-Key`: sent again it is done once, and the first answer comes back. Lists come in pages: \
            `next` is the cursor of the next one. Who calls is shown by a token, `Authorization: Bearer tp_…`; what it has to be \
            allowed is `x-needs` of each operation. For whom it acts, a caller may say in `Toolpact-On-Behalf-Of`: the history \
            keeps that beside the caller's own name, as a claim.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    tags(
        (name = "hosts", description = "For whoever serves tools to a model: what is live, and whether a server still lists it."),
        (name = "judgements", description = "Lists of tools compared; nothing is stored."),
        (name = "servers", description = "Servers, and what they listed."),
        (name = "catalogs", description = "Catalogs and their immutable versions."),
        (name = "drafts", description = "Versions in the making, and the decision on them."),
        (name = "checks", description = "What builds offer, held against what is live."),
        (name = "environments", description = "Where versions are live, and how they are moved."),
        (name = "access", description = "Who may do what: tokens and teams."),
        (name = "events", description = "Who did what."),
        (name = "webhooks", description = "Who is told what happens, and what was sent to them."),
        (name = "service", description = "Whether the service works, and this description."),
    ),
    // What parameters name has to be named here: only bodies bring their types along.
    components(schemas(
        error::Problem,
        schema::ServerName,
        schema::CatalogName,
        schema::EnvironmentName,
        schema::CatalogVersion,
        schema::DraftNumber,
        schema::CheckNumber,
        schema::TeamName,
        schema::TokenId,
        schema::WebhookName,
        schema::DeliveryNumber
    )),
)]
pub(super) struct Info;

/// Reads this description.
#[utoipa::path(
    get, path = "/api/v1/openapi.json", tag = "service",
    responses((status = 200, description = "An OpenAPI 3.1 document.", body = serde_json::Value)),
    extensions(("x-problems" = json!([]))),
)]
pub(super) async fn get_openapi() -> Response {
    tagged(&DOCUMENT.tag, "application/json", DOCUMENT.text.as_str())
}

/// Every operation, with its method.
fn operations(document: &mut Value) -> impl Iterator<Item = (&String, &mut Map<String, Value>)> {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    let methods = paths.into_iter().flatten().filter_map(|(_, path)| path.as_object_mut()).flatten();
    methods.filter_map(|(method, operation)| Some((method, operation.as_object_mut()?)))
}

/// Adds what holds for every operation that is like this one. Refusals that many of them share are gathered by name.
fn conventions((method, operation): (&String, &mut Map<String, Value>), refusals: &mut Map<String, Value>) {
    let mut codes: Vec<String> = operation
        .get("x-problems")
        .and_then(Value::as_array)
        .map(|codes| codes.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect())
        .unwrap_or_default();
    let has = |operation: &Map<String, Value>, place: &str, name: &str| {
        let parameters = operation.get("parameters").and_then(Value::as_array);
        parameters.into_iter().flatten().any(|p| p["in"] == place && (name.is_empty() || p["name"] == name))
    };
    let mut also = |more: &[&str]| codes.extend(more.iter().map(|code| (*code).to_owned()));
    also(&["foreign-host", "internal"]);
    // Who calls is asked before anything else is.
    // Both stand in no order where they come from, and at the end from here on.
    let needs = operation.shift_remove("x-needs").unwrap_or_default();
    let needs = needs.as_str().unwrap_or_default();
    operation.shift_remove("x-problems");
    if needs != "nobody" {
        also(&["unauthenticated", "invalid-token", "too-many-requests"]);
        operation.insert("security".to_owned(), json!([{ "token": [] }]));
    }
    let mut also = |more: &[&str]| codes.extend(more.iter().map(|code| (*code).to_owned()));
    if needs != "nobody" && needs != "anybody" {
        also(&["role-needed", "kind-forbidden", "out-of-scope"]);
    }
    if needs == "review" {
        also(&["team-needed"]);
    }
    if operation.get("operationId").is_none_or(|id| id != "get_livez" && id != "get_openapi") {
        also(&["database-unavailable"]);
    }
    if has(operation, "path", "") {
        also(&["invalid-path"]);
    }
    if has(operation, "query", "") {
        also(&["invalid-query"]);
    }
    if has(operation, "query", "cursor") {
        also(&["invalid-cursor"]);
    }
    if operation.contains_key("requestBody") {
        also(&["invalid-body", "wrong-content-type", "body-too-large"]);
    }
    let changes = codes.iter().any(|code| codes::of(code).is_some_and(|c| c.status == 412));
    let mut also = |more: &[&str]| codes.extend(more.iter().map(|code| (*code).to_owned()));
    let mut parameters = Vec::new();
    if changes {
        also(&["missing-if-match", "invalid-if-match"]);
        parameters.push(header(
            "If-Match",
            "The ETag of what is changed, as it was read; of an environment its generation will do, `\"3\"`.",
            json!({ "type": "string", "pattern": "^\"[^\"]+\"( *, *\"[^\"]+\")*$", "examples": ["\"3\""] }),
        ));
    }
    if method != "get" {
        also(&["cross-origin"]);
    }
    if records(method, operation) {
        also(&["invalid-on-behalf-of"]);
        let schema = json!({
            "type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "pattern": "^[!-~]+$", "examples": ["mara"],
        });
        parameters.push(header(
            "Toolpact-On-Behalf-Of",
            "For whom the caller acts. The history keeps it beside the caller's own name; it is a claim and proves nothing.",
            schema,
        ));
    }
    if method == "post" {
        also(&[
            "invalid-idempotency-key",
            "idempotency-key-in-flight",
            "idempotency-key-reused",
            "too-many-in-flight",
        ]);
        let schema = json!({
            "type": "string", "minLength": 1, "maxLength": idempotency::LONGEST, "pattern": "^[!-~]([ -~]*[!-~])?$",
        });
        parameters.push(header(
            "Idempotency-Key",
            "A name for this request that no other one has. Sent again under it, it is done once.",
            schema,
        ));
    }
    let tagged = method == "get" && operation.get("tags").is_some() && !probe(operation);
    if tagged {
        parameters.push(header(
            "If-None-Match",
            "The ETag of an answer that the caller has.",
            json!({ "type": "string" }),
        ));
    }
    if !parameters.is_empty() {
        let known = operation.entry("parameters").or_insert_with(|| json!([]));
        if let Value::Array(known) = known {
            known.extend(parameters);
        }
    }
    codes.sort();
    codes.dedup();
    answers(operation, &codes, tagged, method == "post", refusals);
    operation.insert("x-needs".to_owned(), json!(needs));
    operation.insert("x-problems".to_owned(), json!(codes));
}

/// Whether the history shows who called.
fn records(method: &str, operation: &Map<String, Value>) -> bool {
    let judges = operation.get("operationId").is_some_and(|id| id == "make_diff" || id == "verify_tools");
    method != "get" && !judges
}

fn probe(operation: &Map<String, Value>) -> bool {
    operation.get("operationId").is_some_and(|id| id == "get_livez" || id == "get_readyz")
}

fn header(name: &str, description: &str, schema: Value) -> Value {
    // `If-Match` is needed, and said to be so by a 428: a client library must be able to leave it out to learn that.
    json!({ "name": name, "in": "header", "required": false, "description": description, "schema": schema })
}

/// Adds the headers of what is answered, and every refusal under its status.
fn answers(
    operation: &mut Map<String, Value>,
    codes: &[String],
    tagged: bool,
    post: bool,
    refusals: &mut Map<String, Value>,
) {
    let Some(Value::Object(known)) = operation.remove("responses") else { return };
    let mut all: BTreeMap<String, Value> = known.into_iter().collect();
    let list = operation
        .get("parameters")
        .and_then(Value::as_array)
        .is_some_and(|parameters| parameters.iter().any(|p| p["name"] == "cursor"));
    let said = |description: &str| json!({ "description": description, "schema": { "type": "string" } });
    for answer in all.values_mut() {
        let mut headers = Map::new();
        headers.insert("X-Request-Id".to_owned(), said("What the log calls the request."));
        if tagged {
            headers.insert(
                "ETag".to_owned(),
                said("The state that is shown, for `If-None-Match` and `If-Match`."),
            );
        }
        if list {
            headers.insert("Link".to_owned(), said("The next page, `rel=\"next\"`; absent on the last one."));
        }
        if post {
            headers.insert("Idempotency-Replayed".to_owned(), said("`true` where this was answered before."));
        }
        if let Value::Object(answer) = answer {
            answer.entry("headers").or_insert_with(|| json!({}));
            if let Some(Value::Object(known)) = answer.get_mut("headers") {
                known.extend(headers);
            }
        }
    }
    if tagged {
        all.insert("304".to_owned(), json!({ "description": "The caller has it." }));
    }
    let mut by_status: BTreeMap<u16, Vec<&Code>> = BTreeMap::new();
    for code in codes.iter().filter_map(|code| codes::of(code)) {
        by_status.entry(code.status).or_default().push(code);
    }
    for (status, codes) in by_status {
        let told: Vec<String> = codes.iter().map(|c| format!("- `{}`: {}", c.code, c.what)).collect();
        let names: Vec<&str> = codes.iter().map(|c| c.code).collect();
        let schema = json!({
            "allOf": [
                { "$ref": "#/components/schemas/Problem" },
                { "type": "object", "properties": { "status": { "const": status }, "code": { "enum": names } } },
            ],
        });
        let answer = json!({
            "description": told.join("\n"),
            "headers": { "X-Request-Id": said("What the log calls the request.") },
            "content": { "application/problem+json": { "schema": schema } },
        });
        let answer = match names.as_slice() {
            [only] => {
                let reference = json!({ "$ref": format!("#/components/responses/{only}") });
                refusals.insert((*only).to_owned(), answer);
                reference
            }
            _ => answer,
        };
        all.insert(status.to_string(), answer);
    }
    operation.insert("responses".to_owned(), Value::Object(all.into_iter().collect()));
}

/// The longest page, as the parameters say it.
const _: () = assert!(cursor::MOST == 1_000, "the parameters of lists name it");
