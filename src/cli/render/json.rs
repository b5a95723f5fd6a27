//! JSON for programs: the core's own types as they stand, one document, pretty, a newline at the end.

use serde::Serialize;

use crate::{
    app::{
        AppError, Kind,
        check::{Blocked, Gate},
    },
    catalog::Policy,
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

/// A gate's answer: the report, and before it how it was judged.
pub(in crate::cli) fn gate(gate: &Gate, policy: &Policy) -> Result<String, AppError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Judged<'a> {
        passed: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        blocked_by: Option<&'a Blocked>,
        policy: &'a Policy,
        #[serde(flatten)]
        report: &'a Report,
    }
    let passed = gate.blocked.is_none();
    document(&Judged { passed, blocked_by: gate.blocked.as_ref(), policy, report: &gate.report })
}
