//! Servers and what they listed.

use axum::{Json, extract::State};

use super::{Error, extract::Path, wire};
use crate::{app::App, name::ServerName};

/// Every server, by name.
pub(super) async fn list_servers(
    State(app): State<App>,
) -> Result<Json<wire::Items<wire::ServerSummary>>, Error> {
    Ok(Json(wire::Items::of(app.servers().await?)))
}

/// One server with its listings and tools.
pub(super) async fn get_server(
    State(app): State<App>,
    Path(server): Path<ServerName>,
) -> Result<Json<wire::Server>, Error> {
    Ok(Json(app.server(&server).await?.into()))
}
