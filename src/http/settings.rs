//! What a catalog is set to: its policy, its environments, and its servers with their selections. Where a server is found is
//! never set here: what a service runs or calls is not for its callers to say.

use std::collections::{BTreeMap, BTreeSet};

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    Error,
    catalogs::page,
    conditional::Seen,
    extract::{Body, By, Object, Path},
    wire::{self, schema},
};
use crate::{
    app::{AppError, Kind},
    catalog::{Catalog, CatalogServer, EnvironmentPolicy, Policy, Selection},
    json::Digest,
    name::{CatalogName, EnvironmentName, ServerName},
};

/// The most people, and the most tools, that a policy can speak of; documents say the same.
const MOST: u32 = 100_000;

/// All that a catalog is set to.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SettingsBody {
    #[schema(value_type = schema::PolicySettings)]
    policy: Object<Policy>,
    /// In any order; `after` says how versions go through them.
    #[schema(value_type = Vec<EnvironmentBody>)]
    environments: Vec<Object<EnvironmentBody>>,
    #[schema(value_type = Vec<ServerBody>)]
    servers: Vec<Object<ServerBody>>,
}

/// What one environment demands.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EnvironmentBody {
    #[schema(value_type = schema::EnvironmentName)]
    name: EnvironmentName,
    #[schema(value_type = schema::EnvironmentPolicy)]
    policy: Object<EnvironmentPolicy>,
}

/// A server whose tools the catalog holds.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerBody {
    #[schema(value_type = schema::ServerName)]
    name: ServerName,
    /// Globs of the tools that belong to the catalog, those after a `!` left out; all belong to it where there is none.
    #[serde(default)]
    #[schema(value_type = Vec<String>, required = false)]
    tools: Selection,
}

/// Sets a catalog's policy, environments and servers, or makes the catalog.
///
/// All three replace what was there: read the catalog, change them, and send them with its ETag as `If-Match`. Of the ETag only
/// what stands before its hyphen counts, so that a draft that forms meanwhile is in nobody's way. A catalog is made with
/// `If-None-Match: *` in place of that. Where servers are found is not set here, and stays as it was.
#[utoipa::path(
    put, path = "/api/v1/catalogs/{catalog}", tag = "catalogs",
    params(
        ("catalog" = schema::CatalogName, Path, description = "The catalog's name.", example = "orders"),
        ("If-None-Match" = Option<String>, Header, description = "`*`, to make the catalog where it is not there yet."),
    ),
    request_body(content = SettingsBody, example = json!({
        "policy": {"approvals": 1},
        "environments": [
            {"name": "staging", "policy": {}},
            {"name": "production", "policy": {"after": "staging", "approvals": 2}},
        ],
        "servers": [{"name": "orders", "tools": ["*", "!admin_*"]}],
    })),
    responses(
        (status = 200, description = "The catalog as it is set now.", body = wire::Catalog),
        (status = 201, description = "The catalog, which was made.", body = wire::Catalog),
    ),
    extensions(("x-problems" = json!([
        "unknown-catalog", "unknown-server", "stale-settings", "bad-environments", "invalid-if-none-match", "busy"
    ]))),
)]
pub(super) async fn put_catalog(
    Path(name): Path<CatalogName>,
    Seen(seen): Seen,
    By { app, actor }: By,
    Body(body): Body<SettingsBody>,
) -> Result<Response, Error> {
    let settings = body.settings(name)?;
    let name = settings.name.clone();
    let seen: Option<Digest> = match seen {
        None => None,
        Some(tags) => {
            let now = app.catalog(&name).await?.catalog.digest();
            if !tags.has_settings(&now) {
                let message = format!("catalog `{name}` is set otherwise by now than when it was read");
                return Err(AppError::new(Kind::Stale, "stale-settings", message)
                    .help("read it again, then repeat the change on that")
                    .into());
            }
            Some(now)
        }
    };
    app.put_catalog(settings, seen.as_ref(), &actor).await?;
    let answer = page(app.catalog(&name).await?)?;
    Ok(if seen.is_some() {
        answer
    } else {
        (StatusCode::CREATED, [(header::LOCATION, format!("/api/v1/catalogs/{name}"))], answer)
            .into_response()
    })
}

impl SettingsBody {
    fn settings(self, name: CatalogName) -> Result<Catalog, Error> {
        let Object(policy) = self.policy;
        within("/policy", [Some(policy.approvals), policy.max_tools, policy.deprecation_days])?;
        let mut environments = BTreeMap::new();
        for (at, Object(EnvironmentBody { name, policy: Object(policy) })) in
            self.environments.into_iter().enumerate()
        {
            within(
                &format!("/environments/{at}/policy"),
                [policy.approvals, policy.max_tools, policy.deprecation_days],
            )?;
            if environments.contains_key(&name) {
                return Err(twice(format!("/environments/{at}/name"), "environment", name.as_str()));
            }
            environments.insert(name, policy);
        }
        let (mut servers, mut names) = (Vec::new(), BTreeSet::new());
        for (at, Object(ServerBody { name, tools })) in self.servers.into_iter().enumerate() {
            if !names.insert(name.clone()) {
                return Err(twice(format!("/servers/{at}/name"), "server", name.as_str()));
            }
            servers.push(CatalogServer { name, source: None, tools });
        }
        Ok(Catalog { name, policy, environments, servers })
    }
}

fn within(pointer: &str, counts: [Option<u32>; 3]) -> Result<(), Error> {
    for (member, count) in ["approvals", "maxTools", "deprecationDays"].into_iter().zip(counts) {
        if let Some(count) = count.filter(|count| *count > MOST) {
            let cause = format!("{count} is too large; at most {MOST}");
            return Err(Error::InvalidMember { pointer: format!("{pointer}/{member}"), cause });
        }
    }
    Ok(())
}

fn twice(pointer: String, what: &str, name: &str) -> Error {
    Error::InvalidMember { pointer, cause: format!("{what} `{name}` stands there twice") }
}
