//! `/diff`: any two references side by side. It decides nothing and stores nothing.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    error::{self, Error},
    filters,
    page::{Frame, Query, page},
    report::{ReportView, Values},
};
use crate::{
    app::{App, AppError, check},
    diff::{Assumption, Report},
    guard::Acting,
};

#[derive(Template)]
#[template(path = "diff.html")]
struct Diff<'d> {
    frame: Frame,
    baseline: &'d str,
    candidate: &'d str,
    assume: Assumption,
    /// What can be named, offered while somebody types.
    sides: Vec<String>,
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
    Acting { app, .. }: Acting,
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
        sides: sides(&app).await?,
        view: report.as_ref().map(|r| ReportView::new(r, &address)),
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
    check::compared(baseline, candidate, assume.into()).await
}

/// The newest of everything that a side may be: environments, catalogs, servers.
async fn sides(app: &App) -> Result<Vec<String>, AppError> {
    let mut sides: Vec<String> = app.pointers().await?.into_iter().map(|p| p.environment.into()).collect();
    sides.dedup();
    let versions = app.catalogs().await?;
    sides.extend(versions.into_iter().filter_map(|c| Some(format!("{}@{}", c.catalog.name, c.latest?))));
    let servers = app.servers().await?;
    sides.extend(servers.iter().filter(|s| s.last_ok.is_some()).map(|s| format!("{}@latest", s.name)));
    Ok(sides)
}

/// A text as a query value.
fn encoded(text: &str) -> String {
    // Writing to a string cannot fail.
    askama::filters::urlencode_strict(text).map(|t| t.to_string()).unwrap_or_default()
}
