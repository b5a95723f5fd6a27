//! Probes: whether the process lives, and whether it can do its work.

use axum::{Json, extract::State};
use serde_json::{Value, json};

use super::Error;
use crate::app::App;

/// The process answers.
pub(super) async fn get_livez() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// The database answers: one event is read.
pub(super) async fn get_readyz(State(app): State<App>) -> Result<Json<Value>, Error> {
    app.events(1).await?;
    Ok(Json(json!({"status": "ok"})))
}
