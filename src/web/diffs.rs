//! `/diff`: any two references side by side. It decides nothing and stores nothing.

use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    error::{self, Error},
    filters,
    page::{Frame, Query, page},
    report::{ReportView, Values},
};
use crate::{
    app::{App, AppError, Kind},
    diff::{self, Assumption, Report},
};

#[derive(Template)]
#[template(path = "diff.html")]
struct Diff<'d> {
    frame: Frame,
    baseline: &'d str,
    candidate: &'d str,
    assume: Assumption,
    view: Option<ReportView<'d>>,
    notice: Option<(String, String)>,
}

#[derive(Deserialize)]
pub(super) struct DiffQuery {
    #[serde(default)]
    baseline: String,
    #[serde(default)]
    candidate: String,
    #[serde(default)]
    assume: Assumption,
}

/// The form and, where both sides are named, the report.
pub(super) async fn show_diff(
    State(app): State<App>,
    Query(query): Query<DiffQuery>,
) -> Result<Response, Error> {
    let (baseline, candidate) = (query.baseline.trim(), query.candidate.trim());
    let asked = !baseline.is_empty() && !candidate.is_empty();
    let (report, failure) = if asked {
        match compared(&app, baseline, candidate, query.assume).await {
            Ok(report) => (Some(report), None),
            Err(e) => (None, Some(e)),
        }
    } else {
        (None, None)
    };
    let address = format!("/diff?baseline={}&candidate={}&", encoded(baseline), encoded(candidate));
    let status = failure.as_ref().map_or(StatusCode::OK, |e| error::kind(e.kind).0);
    let shown = Diff {
        frame: Frame::new(&app, "/diff"),
        baseline,
        candidate,
        assume: query.assume,
        view: report.as_ref().map(|r| ReportView::new(r, &address, None, None)),
        notice: failure.map(error::told),
    };
    Ok(page(status, &shown))
}

async fn compared(
    app: &App,
    baseline: &str,
    candidate: &str,
    assume: Assumption,
) -> Result<Report, AppError> {
    let (baseline, candidate) = (app.side(baseline).await?, app.side(candidate).await?);
    // Deciding containment is computing, so it leaves the threads that answer requests.
    tokio::task::spawn_blocking(move || diff::diff(&baseline, &candidate, assume))
        .await
        .map_err(|e| AppError::new(Kind::Internal, "internal", format!("the diff ended: {e}")))
}

/// A text as a query value.
fn encoded(text: &str) -> String {
    // Writing to a string cannot fail.
    askama::filters::urlencode_strict(text).map(|t| t.to_string()).unwrap_or_default()
}
