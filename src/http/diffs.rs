//! Two tool lists in, a report out; nothing is stored.

use axum::Json;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Error, extract::Body};
use crate::{
    app::check,
    diff::{Assumption, Formats, Options, Report},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DiffBody {
    // Kept as text: digests and number checks need the bytes as sent.
    baseline: Box<RawValue>,
    candidate: Box<RawValue>,
    #[serde(default)]
    assume: Assumption,
    #[serde(default)]
    formats: Formats,
}

/// Diffs two saved `tools/list` answers.
pub(super) async fn make_diff(Body(body): Body<DiffBody>) -> Result<Json<Report>, Error> {
    let (baseline, candidate) = (("baseline", body.baseline), ("candidate", body.candidate));
    let options = Options { assume: body.assume, formats: body.formats };
    Ok(Json(check::compared_texts(baseline, candidate, options).await?))
}
