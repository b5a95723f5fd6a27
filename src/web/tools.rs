//! `/servers/{server}/tools/{tool}`: one tool as people read it, parameter by parameter.
//!
//! A tool that is called `.` or `..` has no page: browsers take such a part of a path for a step, however it is written.
//! The API has it.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde_json::{Map, Value};

use super::{
    error::Error,
    filters,
    page::{Frame, Path, page},
};
use crate::{
    app::{AppError, Kind, view},
    guard::Acting,
    name::ServerName,
};

/// Rows of one table. Real schemas have up to some 400 properties at all depths; the JSON below the table is whole.
const ROWS: usize = 500;
/// Depth of nesting that is spread out into rows.
const DEPTH: usize = 6;

#[derive(Template)]
#[template(path = "tool.html")]
struct Tool {
    frame: Frame,
    server: ServerName,
    tool: view::ToolRow,
    input: Vec<Parameter>,
    output: Option<Vec<Parameter>>,
    hints: Vec<(String, String)>,
}

impl Tool {
    /// A text of the tool as the server wrote it, or nothing.
    fn said(&self, member: &str) -> &str {
        self.tool.tool.get(member).and_then(Value::as_str).unwrap_or_default()
    }
}

/// One property of a schema.
struct Parameter {
    /// Its path in dots, `[]` for items.
    path: String,
    /// Its type in words.
    r#type: String,
    required: bool,
    /// Further limits, a phrase each.
    limits: Vec<String>,
    description: String,
}

/// One tool of a server's newest good snapshot.
pub(super) async fn show_tool(
    Acting { app, .. }: Acting,
    Path((server, tool)): Path<(ServerName, String)>,
) -> Result<Response, Error> {
    let mut found = app.server(&server).await?;
    let Some(at) = found.tools.iter().position(|t| t.name == tool) else {
        let message = format!("server `{server}` lists no tool `{tool}`");
        let help = "it may have been there before: see the server's listings";
        return Err(AppError::new(Kind::NotFound, "unknown-tool", message).help(help).into());
    };
    let tool = found.tools.swap_remove(at);
    let tool_page = Tool {
        frame: Frame::new(&app, "/servers"),
        input: parameters(tool.tool.get("inputSchema").unwrap_or(&Value::Null)),
        output: tool.tool.get("outputSchema").filter(|s| s.is_object()).map(parameters),
        hints: hints(tool.tool.get("annotations")),
        server,
        tool,
    };
    Ok(page(StatusCode::OK, &tool_page))
}

fn hints(annotations: Option<&Value>) -> Vec<(String, String)> {
    let members = annotations.and_then(Value::as_object);
    members.into_iter().flatten().map(|(name, value)| (name.clone(), value.to_string())).collect()
}

fn parameters(schema: &Value) -> Vec<Parameter> {
    let mut rows = Vec::new();
    collect(schema, "", 0, &mut rows);
    rows
}

fn collect(schema: &Value, path: &str, depth: usize, rows: &mut Vec<Parameter>) {
    if depth == DEPTH {
        return;
    }
    let required = schema.get("required").and_then(Value::as_array);
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if rows.len() == ROWS {
            return;
        }
        let here = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        rows.push(Parameter {
            r#type: type_of(property),
            required: required.is_some_and(|r| r.iter().any(|n| n == name)),
            limits: property.as_object().map(limits).unwrap_or_default(),
            description: property.get("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
            path: here.clone(),
        });
        collect(property, &here, depth + 1, rows);
    }
    if let Some(items) = schema.get("items")
        && !path.is_empty()
    {
        collect(items, &format!("{path}[]"), depth + 1, rows);
    }
}

/// A type as a person would say it.
fn type_of(schema: &Value) -> String {
    let Value::Object(members) = schema else {
        return if schema == &Value::Bool(false) { "nothing" } else { "anything" }.to_owned();
    };
    if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
        return format!("as {reference}");
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = members.get(key) {
            let names: Vec<_> = branches.iter().take(8).map(type_of).collect();
            return names.join(" or ");
        }
    }
    match members.get("type") {
        Some(Value::String(name)) if name == "array" => match members.get("items") {
            Some(items) => format!("array of {}", type_of(items)),
            None => "array".to_owned(),
        },
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => match members.get("enum").and_then(Value::as_array) {
            Some(values) => {
                let mut names: Vec<_> = values.iter().map(type_of_value).collect();
                names.sort_unstable();
                names.dedup();
                names.join(" or ")
            }
            None => members.get("const").map_or("anything", type_of_value).to_owned(),
        },
    }
}

fn type_of_value(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn limits(schema: &Map<String, Value>) -> Vec<String> {
    let mut out = Vec::new();
    for (key, value) in schema {
        let phrase = match key.as_str() {
            "enum" => {
                let values = value.as_array().map_or(&[][..], Vec::as_slice);
                let shown: Vec<_> = values.iter().take(40).map(Value::to_string).collect();
                let more = if values.len() > 40 {
                    format!(", … {} more", values.len() - 40)
                } else {
                    String::new()
                };
                format!("one of {}{more}", shown.join(", "))
            }
            "const" => format!("always {value}"),
            "default" => format!("default {value}"),
            "minimum" => format!("≥ {value}"),
            "maximum" => format!("≤ {value}"),
            "exclusiveMinimum" => format!("> {value}"),
            "exclusiveMaximum" => format!("< {value}"),
            "additionalProperties" if value == &Value::Bool(false) => "no other properties".to_owned(),
            "pattern" | "format" | "multipleOf" | "minLength" | "maxLength" | "minItems" | "maxItems"
            | "uniqueItems" | "minProperties" | "maxProperties" => format!("{key} {value}"),
            _ => continue,
        };
        out.push(phrase);
    }
    out
}
