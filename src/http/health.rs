//! Probes: whether the process lives, and whether it can do its work.

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use super::Error;
use crate::app::{App, AppError, Kind};

/// A probe's answer.
#[derive(Serialize, ToSchema)]
pub(super) struct Health {
    /// `ok`.
    status: &'static str,
}

/// What has to be so before work is sent here, each with `ok`.
#[derive(Serialize, ToSchema)]
pub(super) struct Ready {
    /// `ok`.
    status: &'static str,
    checks: Checks,
}

/// One by one. Where one is not so, the answer is a problem whose code names it.
#[derive(Serialize, ToSchema)]
pub(super) struct Checks {
    /// The process is not about to end; `draining` otherwise.
    serving: &'static str,
    /// The database answers; `database-unavailable` otherwise.
    database: &'static str,
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

/// Says whether work may be sent here: the process is not about to end, and the database answers.
///
/// One event is read.
#[utoipa::path(
    get, path = "/readyz", tag = "service",
    responses((status = 200, description = "It may.", body = Ready)),
    extensions(("x-problems" = json!(["draining"]))),
)]
pub(super) async fn get_readyz(State(app): State<App>) -> Result<Json<Ready>, Error> {
    if app.is_draining() {
        let message = "the process was told to stop, and ends what it has begun";
        return Err(AppError::new(Kind::Unavailable, "draining", message)
            .help("send requests to another process")
            .into());
    }
    app.events(1).await?;
    Ok(Json(Ready { status: "ok", checks: Checks { serving: "ok", database: "ok" } }))
}
