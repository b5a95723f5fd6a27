//! `/api/docs`: the description as a page for people, rendered here, without scripts.

use std::sync::LazyLock;

use askama::Template;
use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde_json::{Map, Value};

use super::{
    conditional::{is_known, of_bytes, tagged, unmodified},
    openapi::DOCUMENT,
};

/// The same as for the pages: nothing but our own stylesheet and mark is loaded.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'none'; \
     frame-ancestors 'none'; base-uri 'none'";

#[derive(Template)]
#[template(path = "api.html")]
struct Docs<'d> {
    about: Vec<&'d str>,
    groups: Vec<Group<'d>>,
    types: Vec<Type<'d>>,
}

impl Docs<'_> {
    /// A text in pieces, each with whether it stands in backticks.
    fn pieces(text: &str) -> impl Iterator<Item = (bool, &str)> {
        text.split('`').enumerate().map(|(at, piece)| (at % 2 == 1, piece))
    }
}

struct Group<'d> {
    name: &'d str,
    description: &'d str,
    operations: Vec<Operation<'d>>,
}

struct Operation<'d> {
    id: &'d str,
    method: String,
    path: &'d str,
    summary: &'d str,
    description: Vec<&'d str>,
    parameters: Vec<Parameter<'d>>,
    body: Option<Kind>,
    example: String,
    answers: Vec<Answer<'d>>,
}

impl Operation<'_> {
    fn statuses(&self) -> String {
        self.answers.iter().map(|a| a.status).collect::<Vec<_>>().join(", ")
    }
}

struct Parameter<'d> {
    name: &'d str,
    place: &'d str,
    kind: Kind,
    description: &'d str,
}

struct Answer<'d> {
    status: &'d str,
    means: Vec<Line<'d>>,
    bodies: Vec<Kind>,
}

struct Line<'d> {
    code: Option<&'d str>,
    text: &'d str,
}

struct Type<'d> {
    name: &'d str,
    description: &'d str,
    /// What a text of it looks like, or which words there are.
    note: String,
    members: Vec<Member<'d>>,
}

struct Member<'d> {
    name: &'d str,
    kind: Kind,
    needed: bool,
    description: &'d str,
}

/// What a value is: a few words, and the type that they lead to.
struct Kind {
    before: String,
    of: Option<String>,
}

struct Page {
    html: String,
    tag: String,
}

static PAGE: LazyLock<Option<Page>> = LazyLock::new(|| match docs(&DOCUMENT.value).render() {
    Ok(html) => Some(Page { tag: of_bytes(html.as_bytes()), html }),
    Err(e) => {
        tracing::error!(error = %e, "the page about the API could not be rendered");
        None
    }
});

/// The page.
pub(super) async fn show_docs(headers: HeaderMap) -> Response {
    let Some(page) = &*PAGE else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let answer = tagged(&page.tag, "text/html; charset=utf-8", page.html.as_str());
    let answer = if is_known(&headers, &page.tag) { unmodified(answer.headers()) } else { answer };
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (fixed, answer).into_response()
}

fn docs(document: &Value) -> Docs<'_> {
    let tags = document["tags"].as_array().into_iter().flatten();
    let groups = tags.map(|tag| {
        let name = text(tag, "name");
        Group { name, description: text(tag, "description"), operations: operations(document, name) }
    });
    let types = members(&document["components"]["schemas"]).map(|(name, schema)| of_type(name, schema));
    Docs {
        about: paragraphs(text(&document["info"], "description")),
        groups: groups.collect(),
        types: types.collect(),
    }
}

fn operations<'d>(document: &'d Value, tag: &str) -> Vec<Operation<'d>> {
    let mut all = Vec::new();
    for (path, methods) in members(&document["paths"]) {
        for (method, operation) in members(methods) {
            if operation["tags"][0] == tag {
                all.push(of_operation(document, path, method, operation));
            }
        }
    }
    all
}

fn of_operation<'d>(document: &'d Value, path: &'d str, method: &str, operation: &'d Value) -> Operation<'d> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let parameters = parameters.map(|p| Parameter {
        name: text(p, "name"),
        place: text(p, "in"),
        kind: kind(&p["schema"]),
        description: text(p, "description"),
    });
    let body = body(operation).map(|(_, body)| body);
    let answers = members(&operation["responses"]).map(|(status, answer)| {
        let named = answer["$ref"].as_str().and_then(|name| document.pointer(name.trim_start_matches('#')));
        let answer = named.unwrap_or(answer);
        let bodies = members(&answer["content"]).map(|(_, content)| kind(&content["schema"])).collect();
        Answer { status, means: text(answer, "description").lines().map(line).collect(), bodies }
    });
    Operation {
        id: text(operation, "operationId"),
        method: method.to_ascii_uppercase(),
        path,
        summary: text(operation, "summary"),
        description: paragraphs(text(operation, "description")),
        parameters: parameters.collect(),
        body: body.and_then(|body| body.get("schema")).map(kind),
        example: curl(path, method, operation),
        answers: answers.collect(),
    }
}

/// The request as somebody types it.
fn curl(path: &str, method: &str, operation: &Value) -> String {
    let mut url = path.to_owned();
    let mut out = String::from("curl");
    if method != "get" {
        out += &format!(" -X {}", method.to_ascii_uppercase());
    }
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = text(parameter, "name");
        match text(parameter, "in") {
            "path" => url = url.replace(&format!("{{{name}}}"), text(parameter, "example")),
            "header" if name == "If-Match" => out += " -H 'If-Match: ETAG'",
            _ => {}
        }
    }
    out += &format!(" http://127.0.0.1:7878{url}");
    if let Some((kind, Some(example))) = body(operation).map(|(kind, body)| (kind, body.get("example"))) {
        let body = example.to_string().replace('\'', "'\\''");
        out += &format!(" \\\n     -H 'Content-Type: {kind}' -d '{body}'");
    }
    out
}

/// What is sent, with its content type.
fn body(operation: &Value) -> Option<(&str, &Value)> {
    members(&operation["requestBody"]["content"]).next()
}

fn of_type<'d>(name: &'d str, schema: &'d Value) -> Type<'d> {
    let mut all = Vec::new();
    let parts = schema["allOf"].as_array().into_iter().flatten();
    for part in std::iter::once(schema).chain(parts) {
        let needed: Vec<&str> =
            part["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        all.extend(members(&part["properties"]).map(|(name, member)| Member {
            name,
            kind: kind(member),
            needed: needed.contains(&name),
            description: text(member, "description"),
        }));
        if part.get("$ref").is_some() {
            let also =
                Member { name: "…", kind: kind(part), needed: true, description: "and all of its members" };
            all.push(also);
        }
    }
    let words = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut note = words.collect::<Vec<_>>().join(" | ");
    if note.is_empty() {
        text(schema, "pattern").clone_into(&mut note);
    }
    Type { name, description: text(schema, "description"), note, members: all }
}

fn kind(schema: &Value) -> Kind {
    let named = |before: &str, reference: &str| Kind {
        before: before.to_owned(),
        of: reference.rsplit('/').next().map(ToOwned::to_owned),
    };
    if let Some(reference) = schema["$ref"].as_str() {
        return named("", reference);
    }
    for several in ["allOf", "oneOf", "anyOf"] {
        let parts = schema[several].as_array().into_iter().flatten();
        if let Some(reference) = parts.filter_map(|part| part["$ref"].as_str()).next() {
            return named("", reference);
        }
    }
    if schema["type"] == "array" {
        let Kind { before, of } = kind(&schema["items"]);
        return Kind { before: format!("list of {before}"), of };
    }
    let words: Vec<&str> =
        schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let before = match &schema["type"] {
        _ if !words.is_empty() => words.join(" | "),
        Value::String(word) => word.clone(),
        Value::Array(several) => {
            let words: Vec<&str> =
                several.iter().filter_map(Value::as_str).filter(|w| *w != "null").collect();
            words.join(" or ")
        }
        _ => "anything".to_owned(),
    };
    Kind { before, of: None }
}

/// A line of a list of codes, or of words.
fn line(text: &str) -> Line<'_> {
    match text.strip_prefix("- `").and_then(|rest| rest.split_once("`: ")) {
        Some((code, text)) => Line { code: Some(code), text },
        None => Line { code: None, text },
    }
}

fn paragraphs(text: &str) -> Vec<&str> {
    text.split("\n\n").filter(|paragraph| !paragraph.is_empty()).collect()
}

fn text<'d>(value: &'d Value, member: &str) -> &'d str {
    value[member].as_str().unwrap_or_default()
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    value.as_object().unwrap_or(&NONE).iter().map(|(name, member)| (name.as_str(), member))
}
