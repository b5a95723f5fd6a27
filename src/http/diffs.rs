//! Two tool lists in, a report out; nothing is stored.

use axum::Json;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Error, extract::Body};
use crate::{
    app::{AppError, Kind, view},
    diff::{self, Assumption, Report},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DiffBody {
    // Kept as text: digests and number checks need the bytes as sent.
    baseline: Box<RawValue>,
    candidate: Box<RawValue>,
    #[serde(default)]
    assume: Assumption,
}

/// Diffs two saved `tools/list` answers.
pub(super) async fn make_diff(Body(body): Body<DiffBody>) -> Result<Json<Report>, Error> {
    // Deciding containment is computing, so it leaves the threads that answer requests.
    let report = tokio::task::spawn_blocking(move || -> Result<Report, AppError> {
        let baseline = view::file_side("baseline", body.baseline.get())?;
        let candidate = view::file_side("candidate", body.candidate.get())?;
        Ok(diff::diff(&baseline, &candidate, body.assume))
    });
    let report = report
        .await
        .map_err(|e| AppError::new(Kind::Internal, "internal", format!("the diff ended: {e}")))?;
    Ok(Json(report?))
}
