//! `/catalogs/{catalog}/drafts/{draft}`: the review. What changed, what it means, the proof, and the decision.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    error::{self, Error},
    filters,
    page::{DraftId, Form, Frame, Path, Query, page, see},
    report::{ReportView, Values},
};
use crate::{
    app::{App, AppError},
    catalog::{Content, Draft, DraftStatus},
    diff::{Assumption, Bump, Finding, Report, ToolReport},
    guard::Acting,
    json::Digest,
    name::CatalogName,
};

#[derive(Template)]
#[template(path = "draft.html")]
struct DraftPage<'d> {
    frame: Frame,
    draft: &'d Draft,
    view: ReportView<'d>,
    releases: Vec<Release<'d>>,
    /// The first finding that the policy blocks on, with its tool.
    blocker: Option<(&'d ToolReport, &'d Finding)>,
    /// How many findings the policy blocks on.
    blocking: usize,
    /// The draft of this catalog that waits, where it is another.
    waiting: Option<i64>,
    notice: Option<(String, String)>,
    /// The reason that was typed, so that it need not be typed again.
    typed: String,
}

impl DraftPage<'_> {
    fn pending(&self) -> bool {
        self.draft.status == DraftStatus::Pending
    }

    fn absolute(&self) -> bool {
        self.draft.report.findings().any(|(_, f)| f.absolute)
    }
}

/// A server's own version number against what its contracts need.
struct Release<'d> {
    server: &'d str,
    before: Option<&'d str>,
    now: Option<&'d str>,
    needs: Bump,
    /// Whether the declared step is large enough; unknown where a number is missing or no semver.
    enough: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct DraftQuery {
    assume: Option<Assumption>,
}

/// One draft, under the policy's assumption or the one asked for.
pub(super) async fn show_draft(
    Acting { app, .. }: Acting,
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
    Query(query): Query<DraftQuery>,
) -> Result<Response, Error> {
    shown(&app, &catalog, draft, query.assume, None, String::new()).await
}

#[derive(Deserialize)]
pub(super) struct Approve {
    #[serde(default)]
    reason: String,
    /// A ticked box is sent as `on`, an empty one not at all.
    accept_breaking: Option<String>,
    /// What the page showed the draft to hold.
    digest: Option<Digest>,
}

/// Approves, then shows the version.
pub(super) async fn approve_draft(
    Acting { app, actor }: Acting,
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
    Form(form): Form<Approve>,
) -> Result<Response, Error> {
    let (seen, accept) = (form.digest.as_ref(), form.accept_breaking.is_some());
    match app.approve_seen(&catalog, draft.0, seen, accept, &form.reason, &actor).await {
        Ok(approved) => Ok(see(&match approved.version {
            Some(version) => format!("/catalogs/{}/versions/{}", version.catalog, version.version),
            None => format!("/catalogs/{catalog}/drafts/{}", approved.draft),
        })),
        Err(e) => shown(&app, &catalog, draft, None, Some(e), form.reason).await,
    }
}

#[derive(Deserialize)]
pub(super) struct Reject {
    #[serde(default)]
    reason: String,
    /// What the page showed the draft to hold.
    digest: Option<Digest>,
}

/// Rejects, then shows the draft with the decision.
pub(super) async fn reject_draft(
    Acting { app, actor }: Acting,
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
    Form(form): Form<Reject>,
) -> Result<Response, Error> {
    match app.reject_seen(&catalog, draft.0, form.digest.as_ref(), &form.reason, &actor).await {
        Ok(draft) => Ok(see(&format!("/catalogs/{}/drafts/{}", draft.catalog, draft.id))),
        Err(e) => shown(&app, &catalog, draft, None, Some(e), form.reason).await,
    }
}

async fn shown(
    app: &App,
    catalog: &CatalogName,
    id: DraftId,
    assume: Option<Assumption>,
    failure: Option<AppError>,
    typed: String,
) -> Result<Response, Error> {
    let draft = app.get_draft(catalog, id.0).await?;
    let found = app.catalog(catalog).await?;
    let waiting =
        found.drafts.iter().find(|d| d.status == DraftStatus::Pending && d.id != draft.id).map(|d| d.id);
    let base = match draft.base {
        Some(version) => Some(app.version(catalog, version).await?.content),
        None => None,
    };
    let other = match assume {
        Some(assume) if assume != draft.report.assumption => {
            Some(app.draft_report(catalog, id.0, assume).await?)
        }
        Some(_) | None => None,
    };
    let status = failure.as_ref().map_or(StatusCode::OK, |e| error::kind(e.kind).0);
    let notice = failure.map(error::told);
    let report = other.as_ref().unwrap_or(&draft.report);
    let policy = &found.catalog.policy;
    let address = format!("/catalogs/{}/drafts/{}?", draft.catalog, draft.id);
    let shown = DraftPage {
        frame: Frame::new(app, "/catalogs"),
        view: ReportView::new(report, &address, base.as_ref(), Some(&draft.content)),
        releases: releases(report, base.as_ref(), &draft.content),
        // What blocks is what was judged under the policy, whatever the switch shows.
        blocker: policy.blocks(&draft.report),
        blocking: draft.report.findings().filter(|(_, f)| policy.blocks_finding(f)).count(),
        waiting,
        draft: &draft,
        notice,
        typed,
    };
    Ok(page(status, &shown))
}

fn releases<'d>(report: &Report, base: Option<&'d Content>, now: &'d Content) -> Vec<Release<'d>> {
    let declared = |content: &'d Content, server: &str| {
        content
            .servers
            .iter()
            .find(|p| p.server.as_str() == server)
            .and_then(|p| p.provenance.server_version())
    };
    now.servers
        .iter()
        .map(|pin| {
            let server = pin.server.as_str();
            let of_server = report.tools.iter().filter(|t| t.server == server);
            let needs = of_server.map(|t| t.required_bump).max().unwrap_or(Bump::None);
            let before = base.and_then(|b| declared(b, server));
            let now = pin.provenance.server_version();
            let enough = before.zip(now).and_then(|(b, n)| declared_step(b, n)).map(|step| step >= needs);
            Release { server, before, now, needs, enough }
        })
        .collect()
}

/// The step between two declared versions; nothing where one is no semver or the step goes back.
fn declared_step(before: &str, now: &str) -> Option<Bump> {
    let before: semver::Version = before.trim_start_matches('v').parse().ok()?;
    let now: semver::Version = now.trim_start_matches('v').parse().ok()?;
    if now < before {
        return None;
    }
    Some(if now.major != before.major {
        Bump::Major
    } else if now.minor != before.minor {
        // Before 1.0.0 the minor number is the one that announces breaks.
        if now.major == 0 { Bump::Major } else { Bump::Minor }
    } else if now != before {
        Bump::Patch
    } else {
        Bump::None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_step_is_read_from_two_versions() {
        let check = |before: &str, now: &str, step: Option<Bump>| {
            assert_eq!(declared_step(before, now), step, "{before} to {now}");
        };
        check("1.4.0", "2.0.0", Some(Bump::Major));
        check("1.4.0", "1.5.0", Some(Bump::Minor));
        check("1.4.0", "1.4.1", Some(Bump::Patch));
        check("1.4.0", "1.4.0", Some(Bump::None));
        check("v0.3.1", "v0.4.0", Some(Bump::Major));
        check("0.3.1", "0.3.2", Some(Bump::Patch));
        check("1.4.0", "1.3.9", None);
        check("2025.01.12", "2025.02.01", None);
        check("latest", "1.0.0", None);
    }
}
