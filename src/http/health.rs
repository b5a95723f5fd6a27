//! Probes: whether the process lives, and whether it can do its work.

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use super::Error;
use crate::app::App;

/// A probe's answer.
#[derive(Serialize, ToSchema)]
pub(super) struct Health {
    /// `ok`.
    status: &'static str,
}

/// Says whether the process answers.
#[utoipa::path(
    get, path = "/livez", tag = "service",
    responses((status = 200, description = "It does.", body = Health)),
    extensions(("x-problems" = json!([]))),
)]
pub(super) async fn get_livez() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Says whether the database answers.
///
/// One event is read.
#[utoipa::path(
    get, path = "/readyz", tag = "service",
    responses((status = 200, description = "It does.", body = Health)),
    extensions(("x-problems" = json!([]))),
)]
pub(super) async fn get_readyz(State(app): State<App>) -> Result<Json<Health>, Error> {
    app.events(1).await?;
    Ok(Json(Health { status: "ok" }))
}
