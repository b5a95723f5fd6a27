//! Servers and what they listed.

use std::cmp::Reverse;

use axum::{extract::State, http::Uri, response::Response};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    Error,
    conditional::Tagged,
    cursor::List,
    extract::{Path, Query},
    wire::{self, schema},
};
use crate::{app::App, name::ServerName, snapshot::Outcome};

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListingsQuery {
    /// Only those whose (newest) listing ended so.
    #[param(value_type = Option<schema::Outcome>, inline)]
    outcome: Option<Outcome>,
    /// How many at most.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// Lists servers, by name.
///
/// Each with where it is found, its newest listing and its newest good one.
#[utoipa::path(
    get, path = "/api/v1/servers", tag = "servers", params(ListingsQuery),
    responses((status = 200, description = "A page of servers.", body = wire::Items<wire::ServerSummary>)),
    extensions(("x-problems" = json!([]))),
)]
pub(super) async fn list_servers(
    State(app): State<App>,
    Query(query): Query<ListingsQuery>,
    uri: Uri,
) -> Result<Response, Error> {
    let list = List::new("servers", uri, query.limit, query.cursor.as_deref())?;
    let page = app.servers_page(query.outcome, &list.slice).await?;
    Ok(list.answer::<_, wire::ServerSummary>(page))
}

/// Reads one server, with its newest listings and the tools of the newest good one.
///
/// Tools stand there as the server sent them. At most 200 listings; `…/snapshots` has all.
#[utoipa::path(
    get, path = "/api/v1/servers/{server}", tag = "servers",
    params(("server" = schema::ServerName, Path, description = "The server's name.", example = "orders")),
    responses((status = 200, description = "The server.", body = wire::Server)),
    extensions(("x-problems" = json!(["unknown-server"]))),
)]
pub(super) async fn get_server(
    State(app): State<App>,
    Path(server): Path<ServerName>,
) -> Result<Tagged<wire::Server>, Error> {
    Ok(Tagged(app.server(&server).await?.into()))
}

/// Lists how a server's listings ended, the newest first.
///
/// A listing that ended `ok` has the digest of its snapshot; every other says what was seen instead.
#[utoipa::path(
    get, path = "/api/v1/servers/{server}/snapshots", tag = "servers",
    params(("server" = schema::ServerName, Path, description = "The server's name.", example = "orders"), ListingsQuery),
    responses((status = 200, description = "A page of listings.", body = wire::Items<wire::Listing>)),
    extensions(("x-problems" = json!(["unknown-server"]))),
)]
pub(super) async fn list_snapshots(
    State(app): State<App>,
    Path(server): Path<ServerName>,
    Query(query): Query<ListingsQuery>,
    uri: Uri,
) -> Result<Response, Error> {
    let name = format!("servers/{server}/snapshots");
    let list = List::<Reverse<i64>>::new(name, uri, query.limit, query.cursor.as_deref())?;
    let page = app.listings_page(&server, query.outcome, &list.slice).await?;
    Ok(list.answer::<_, wire::Listing>(page))
}
