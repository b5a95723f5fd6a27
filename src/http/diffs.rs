//! Tool lists in, a judgement out; nothing is stored.

use axum::Json;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{
    Error,
    extract::{Body, By},
    wire::{self, schema},
};
use crate::{
    app::check,
    diff::{Assumption, Formats, Options, Report},
    name::{CatalogName, EnvironmentName, ServerName},
};

/// Two lists of tools. A list is a `tools/list` result, a JSON-RPC response around it, or a bare array of tools.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DiffBody {
    // Kept as text: digests and number checks need the bytes as sent.
    /// What callers rely on.
    #[schema(value_type = serde_json::Value)]
    baseline: Box<RawValue>,
    /// What is offered now.
    #[schema(value_type = serde_json::Value)]
    candidate: Box<RawValue>,
    /// What callers are taken to send.
    #[serde(default)]
    #[schema(value_type = Option<schema::Assumption>, required = false, nullable = false)]
    assume: Assumption,
    /// What a `format` is taken for.
    #[serde(default)]
    #[schema(value_type = Option<schema::Formats>, required = false, nullable = false)]
    formats: Formats,
    /// Recorded `tools/call` requests, or their params. Nothing of them is kept.
    #[schema(value_type = Option<Vec<serde_json::Value>>)]
    calls: Option<Box<RawValue>>,
}

/// Diffs two lists of tools, and holds recorded calls against them where some are sent.
///
/// Each change is proved compatible, or shown to break by a value; nothing is stored.
#[utoipa::path(
    post, path = "/api/v1/diff", tag = "judgements",
    request_body(content = DiffBody, example = json!({
        "baseline": {"tools": [{"name": "order_query", "inputSchema": {"type": "object", "properties": {"state": {"enum": ["open", "all"]}}}}]},
        "candidate": {"tools": [{"name": "order_query", "inputSchema": {"type": "object", "properties": {"state": {"enum": ["open"]}}}}]},
    })),
    responses((status = 200, description = "What differs.", body = schema::Report)),
    extensions(("x-problems" = json!([
        "not-json", "not-a-tools-list", "one-page", "too-large", "unreadable-tool", "unreadable-calls"
    ]))),
)]
pub(super) async fn make_diff(Body(body): Body<DiffBody>) -> Result<Json<Report>, Error> {
    let (baseline, candidate) = (("baseline", body.baseline), ("candidate", body.candidate));
    let options = Options { assume: body.assume, formats: body.formats };
    if body.calls.as_ref().is_some_and(|calls| !calls.get().starts_with('[')) {
        let cause = "`calls` is no array".to_owned();
        return Err(Error::InvalidMember { pointer: "/calls".to_owned(), cause });
    }
    let calls = body.calls.map(|calls| ("calls", calls));
    Ok(Json(check::compared_texts(baseline, candidate, options, calls).await?))
}

/// What a server lists, and where it is used.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct VerifyBody {
    #[schema(value_type = schema::EnvironmentName)]
    environment: EnvironmentName,
    /// May be left out where one catalog is live there.
    #[schema(value_type = Option<schema::CatalogName>)]
    catalog: Option<CatalogName>,
    #[schema(value_type = schema::ServerName)]
    server: ServerName,
    /// The answer to `tools/list`: its result, a JSON-RPC response around it, or a bare array of tools.
    #[schema(value_type = serde_json::Value)]
    listing: Box<RawValue>,
}

/// Says which tools of a server may be offered to a model: those that are what is pinned.
///
/// Send what the server lists, get `pinned`, `changed`, `unknown` or `missing` for each tool, and the worst of them as
/// the verdict. A tool is pinned where it is what was reviewed in all that it says, key order and spacing aside. Nothing
/// is stored.
#[utoipa::path(
    post, path = "/api/v1/verify", tag = "hosts",
    request_body(content = VerifyBody, example = json!({
        "environment": "production", "server": "orders",
        "listing": {"tools": [{"name": "order_query", "inputSchema": {"type": "object"}}]},
    })),
    responses((status = 200, description = "How each tool stands.", body = wire::Verified)),
    extensions(("x-problems" = json!([
        "not-json", "not-a-tools-list", "one-page", "too-large", "unreadable-tool", "unknown-environment",
        "never-promoted", "ambiguous-catalog", "catalog-needed", "server-not-pinned"
    ]))),
)]
pub(super) async fn verify_tools(
    By { app, .. }: By,
    Body(body): Body<VerifyBody>,
) -> Result<Json<wire::Verified>, Error> {
    let VerifyBody { environment, catalog, server, listing } = body;
    Ok(Json(app.verify_listing(&environment, catalog.as_ref(), &server, listing).await?.into()))
}
