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
    /// Recorded `tools/call` requests, or their params. Nothing of them is kept.
    calls: Option<Box<RawValue>>,
}

/// Diffs two saved `tools/list` answers, and holds recorded calls against them where some are sent.
pub(super) async fn make_diff(Body(body): Body<DiffBody>) -> Result<Json<Report>, Error> {
    let (baseline, candidate) = (("baseline", body.baseline), ("candidate", body.candidate));
    let options = Options { assume: body.assume, formats: body.formats };
    if body.calls.as_ref().is_some_and(|calls| !calls.get().starts_with('[')) {
        return Err(Error::InvalidBody("has `calls` that are no array".to_owned()));
    }
    let calls = body.calls.map(|calls| ("calls", calls));
    Ok(Json(check::compared_texts(baseline, candidate, options, calls).await?))
}
