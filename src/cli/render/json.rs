//! JSON for programs: the core's own types as they stand, one document, pretty, a newline at the end.

use serde::Serialize;

use crate::{
    app::{AppError, Kind},
    diff::Report,
    snapshot::SurfaceDiff,
};

/// Any answer.
pub(in crate::cli) fn document<T: Serialize>(value: &T) -> Result<String, AppError> {
    let mut text = serde_json::to_string_pretty(value).map_err(|e| {
        AppError::new(Kind::Internal, "json", format!("the answer cannot be written as JSON: {e}"))
    })?;
    text.push('\n');
    Ok(text)
}

/// A diff's answer: the report, and how the surfaces beside the tools differ, where they do.
pub(in crate::cli) fn diff(report: &Report, surfaces: &[SurfaceDiff]) -> Result<String, AppError> {
    #[derive(Serialize)]
    struct Shown<'a> {
        #[serde(flatten)]
        report: &'a Report,
        surfaces: &'a [SurfaceDiff],
    }
    // Without any, the report as it stands.
    if surfaces.is_empty() { document(report) } else { document(&Shown { report, surfaces }) }
}
