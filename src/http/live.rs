//! What is live in an environment, for whoever serves tools by it: asked often, and mostly known already.

mod kept;

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tracing::Instrument as _;
use utoipa::{IntoParams, ToSchema};

pub(super) use kept::{environment, kept_first};

use super::{
    Error,
    conditional::{bytes, is_known, of_bytes, says_nothing, tagged},
    extract::{By, Path, Query},
    layers,
    wire::{self, schema},
};
use crate::{
    app::{
        App,
        live::{
            LiveTool,
            cache::{Ready, Wanted},
        },
    },
    catalog::{EnvironmentPointer, ServerSource, server::HttpTransport},
    name::{CatalogName, EnvironmentName, ServerName},
};

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct LiveQuery {
    /// Which catalog; may be left out where one was ever live there.
    #[param(value_type = Option<schema::CatalogName>)]
    catalog: Option<CatalogName>,
    /// In which form.
    #[serde(default)]
    #[param(value_type = Option<Format>, inline, required = false)]
    format: Format,
    /// Only of this server; for `mcp` and `agentscope`.
    #[param(value_type = Option<schema::ServerName>)]
    server: Option<ServerName>,
}

/// The form of what is live.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    /// The version with its members and the server releases they came from.
    #[default]
    Json,
    /// A `tools/list` result: the tools byte for byte as they were reviewed.
    Mcp,
    /// The catalog document.
    Yaml,
    /// AgentScope's `tools.json`.
    Agentscope,
}

/// Reads what is live, for whoever serves tools by it.
///
/// As `json` the version with its members; as `mcp` a `tools/list` result whose tools are the exact bytes that were
/// reviewed; as `yaml` the document that imports the version elsewhere; as `agentscope` that host's `tools.json`, with
/// references where secrets belong. The ETag begins with the digest of what is live, so a host may ask as often as it
/// likes.
#[utoipa::path(
    get, path = "/api/v1/environments/{environment}/catalog", tag = "hosts",
    params(("environment" = schema::EnvironmentName, Path, description = "The environment's name.", example = "production"), LiveQuery),
    responses((status = 200, description = "What is live.", content(
        (LiveCatalog = "application/json"),
        (serde_json::Value = "application/yaml"),
    ))),
    extensions(("x-problems" = json!([
        "unknown-environment", "never-promoted", "ambiguous-catalog", "catalog-needed", "server-not-pinned", "no-contracts",
        "contract-not-stored", "no-server-name", "not-registered"
    ]))),
)]
pub(super) async fn get_live_catalog(
    By { app, .. }: By,
    Path(environment): Path<EnvironmentName>,
    Query(query): Query<LiveQuery>,
    headers: HeaderMap,
) -> Response {
    let span = layers::span_of(&format!("/api/v1/environments/{environment}/catalog"));
    // A failure is logged where it becomes an answer.
    async { answered(app, environment, query, headers).await.into_response() }.instrument(span).await
}

/// Which of the kept answers is asked for: of the forms that are made of the version alone.
fn wanted(environment: &EnvironmentName, query: &LiveQuery) -> Option<Wanted> {
    let form = match query.format {
        Format::Json if query.server.is_none() => "json",
        Format::Mcp => "mcp",
        Format::Json | Format::Yaml | Format::Agentscope => return None,
    };
    let (environment, catalog) = (environment.clone(), query.catalog.clone());
    Some(Wanted { environment, catalog, form, server: query.server.clone() })
}

/// Whether a caller has what a tag stands for; one that does not say what it has takes any.
fn has(headers: &HeaderMap) -> impl Fn(&str) -> bool {
    |tag| says_nothing(headers) || is_known(headers, tag)
}

async fn answered(
    app: App,
    environment: EnvironmentName,
    query: LiveQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let wanted = wanted(&environment, &query);
    let LiveQuery { catalog, format, server } = query;
    let plain = matches!(format, Format::Json | Format::Yaml);
    if plain && server.is_some() {
        return Err(Error::InvalidQuery(
            "asks for one server, which is for `mcp` and `agentscope`".to_owned(),
        ));
    }
    if let Some(wanted) = wanted {
        let form = wanted.form;
        let made = async |pointer: &EnvironmentPointer, version| {
            let body = match format {
                Format::Mcp => tools_list(&app.pinned_tools(&version, server.as_ref()).await?),
                Format::Json | Format::Yaml | Format::Agentscope => bytes(&wire::Version::from(version))?,
            };
            Ok::<_, Error>((tag(pointer, form, server.as_ref()), body))
        };
        let ready = app.live_bytes(wanted, has(&headers), made).await?;
        let known = std::str::from_utf8(&ready.tag).is_ok_and(|tag| is_known(&headers, tag));
        return Ok(kept(&ready, known));
    }
    // These also say what the catalog and its servers are set to, which changes without a move.
    let pointer = app.live(&environment, catalog.as_ref()).await?;
    if format == Format::Yaml {
        let document = app.export(&pointer.catalog, Some(pointer.version)).await?;
        let form = format!("yaml.{}", of_bytes(document.as_bytes()).trim_matches('"'));
        return Ok(tagged(&tag(&pointer, &form, None), "application/yaml", document));
    }
    let version = app.version(&pointer.catalog, pointer.version).await?;
    let bytes = bytes(&tools_json(app.pinned_servers(&version, server.as_ref()).await?))?;
    let form = format!("agentscope.{}", of_bytes(&bytes).trim_matches('"'));
    Ok(tagged(&tag(&pointer, &form, server.as_ref()), "application/json", bytes))
}

/// The tag of what is live. Two versions may hold the same members in another order, or under another number.
fn tag(pointer: &EnvironmentPointer, form: &str, server: Option<&ServerName>) -> String {
    let of = server.map_or_else(String::new, |server| format!(".{server}"));
    format!("\"{}.{}.{form}{of}\"", pointer.digest, pointer.version)
}

/// The answer that is kept, or that the caller has it.
fn kept(ready: &Ready, has: bool) -> Response {
    let tag = HeaderValue::from_maybe_shared(ready.tag.clone()).unwrap_or(HeaderValue::from_static("\"\""));
    let mut response = if has {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let mut response = Body::from(ready.body.clone()).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    };
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response.headers_mut().insert(header::ETAG, tag);
    response
}

/// What is live, in one of the forms that are JSON.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is never made, only described")]
enum LiveCatalog {
    Json(wire::Version),
    Mcp(schema::ToolsList),
    Agentscope(schema::AgentscopeTools),
}

/// A `tools/list` result of texts that are JSON already; nothing of them is written anew.
fn tools_list(tools: &[LiveTool]) -> Vec<u8> {
    let texts: Vec<&str> = tools.iter().map(|tool| tool.text.as_str()).collect();
    format!("{{\"tools\":[{}]}}", texts.join(",")).into_bytes()
}

/// AgentScope's `tools.json` (Java harness of 2026-08-22): `transport` is mandatory, and `enableTools` are raw names.
fn tools_json(servers: Vec<(ServerName, ServerSource, Vec<String>)>) -> Value {
    let mut entries = Map::new();
    for (name, source, tools) in servers {
        let mut entry = match source {
            ServerSource::Stdio { program, args, env, .. } => {
                json!({ "transport": "stdio", "command": program, "args": args, "env": env })
            }
            ServerSource::Http { url, headers, transport, .. } => {
                let sse = match transport {
                    HttpTransport::Sse => true,
                    HttpTransport::StreamableHttp => false,
                    // AgentScope's own rule.
                    HttpTransport::Auto => url.as_str().trim_end_matches('/').ends_with("/sse"),
                };
                let transport = if sse { "sse" } else { "streamable-http" };
                json!({ "transport": transport, "url": url, "headers": headers })
            }
        };
        if let Value::Object(members) = &mut entry {
            members.retain(|_, value| value.as_object().is_none_or(|members| !members.is_empty()));
            members.insert("enableTools".to_owned(), json!(tools));
        }
        entries.insert(name.into(), entry);
    }
    json!({ "mcpServers": entries })
}
