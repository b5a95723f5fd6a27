//! `/catalogs/{catalog}/drafts/{draft}`: the review. A queue of what changed, one change with what it means and its proof, and
//! the decisions: on that change, and on the draft.
//!
//! Each form carries what its reader saw. Where that is not what is there any more, or something else stands in the way, the
//! page comes back with the reason and what was typed.

use std::collections::BTreeSet;

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    decisions::Decide,
    environments::usual_place,
    error::{self, Error},
    filters,
    lines::{Lines, Row},
    page::{DraftId, Form, Frame, Path, Query, page, see},
    releases::{Release, releases},
    report::{ReportView, Values},
    review::{self, Address, Queue, Review, Show, Shown},
};
use crate::{
    access::{Object, Right},
    app::{
        App, AppError, Kind,
        view::{CatalogPage, ReviewPage},
    },
    catalog::{CatalogVersion, Content, DraftStatus, review::Ruling},
    diff::{Assumption, Finding, Level, Origin, Surface, ToolReport},
    guard::Acting,
    json::Digest,
    name::{CatalogName, EnvironmentName},
};

/// Tools that are listed below the review, each with its bump.
const TOOLS: usize = 150;

#[derive(Template)]
#[template(path = "draft.html")]
struct DraftPage<'d> {
    frame: Frame,
    /// The draft with what was decided and said of it.
    page: &'d ReviewPage,
    view: ReportView<'d>,
    review: Review<'d>,
    address: Address,
    releases: Vec<Release<'d>>,
    blocked: Blocked<'d>,
    /// The draft of this catalog that waits, where it is another.
    waiting: Option<i64>,
    /// The newest version, where it is another than the one that the draft was made on.
    overtaken: Option<CatalogVersion>,
    may: May,
    /// Where a decision may be made to count alone.
    environments: Vec<EnvironmentName>,
    notice: Option<(String, String)>,
    /// What was typed, so that it need not be typed again.
    typed: Typed,
}

/// What stands in the way of an approval.
#[derive(Default)]
struct Blocked<'d> {
    /// By nobody to be accepted.
    absolute: usize,
    /// Rejected.
    rejected: usize,
    /// Not decided on, or not any more.
    open: usize,
    /// The first, with its page.
    first: Option<(&'d ToolReport, &'d Finding, String)>,
}

impl Blocked<'_> {
    fn count(&self) -> usize {
        self.absolute + self.rejected + self.open
    }

    /// Whether no approval goes on, whatever is accepted with it.
    fn for_good(&self) -> bool {
        self.absolute + self.rejected > 0
    }
}

/// What whoever looks may do here; why not, where they may not.
struct May {
    decide: Result<(), (String, String)>,
    comment: bool,
    /// They had a part in the draft, and the policy asks others.
    own: bool,
}

impl May {
    fn of(app: &App, page: &ReviewPage) -> Self {
        let object = Object::catalog(&page.draft.catalog);
        let may = |right| app.caller().map_or(Ok(()), |caller| caller.may(right, object));
        let own = app.caller().is_some_and(|caller| page.draft.is_author(&caller.name));
        Self {
            decide: may(Right::Review).map_err(|refusal| (refusal.to_string(), refusal.help())),
            comment: may(Right::Draft).is_ok(),
            own: own && page.needed > 0,
        }
    }
}

/// What a form was filled with.
#[derive(Default)]
pub(super) struct Typed {
    /// Why the draft is approved.
    pub(super) approve: String,
    /// Why it is rejected.
    pub(super) reject: String,
    /// Of the change.
    pub(super) decide: Decide,
    /// What is said of the change.
    pub(super) comment: String,
    /// What is said of the draft.
    pub(super) remark: String,
}

impl DraftPage<'_> {
    fn pending(&self) -> bool {
        self.page.draft.status == DraftStatus::Pending
    }

    /// People other than its authors who approved what it holds.
    fn approved(&self) -> usize {
        self.page.approvals.iter().filter(|a| !self.page.draft.is_author(&a.actor)).count()
    }

    /// Where a form goes, so that the change that is looked at is looked at afterwards.
    fn action(&self, verb: &str) -> String {
        let path = &self.address.path;
        let change = self.review.current.as_ref().map(|c| c.view.finding.fingerprint.short());
        match (change, self.address.assume) {
            (Some(change), Some(assume)) => format!("{path}/{verb}?change={change}&assume={assume}"),
            (Some(change), None) => format!("{path}/{verb}?change={change}"),
            (None, _) => format!("{path}/{verb}"),
        }
    }

    /// What is said of the draft as a whole.
    fn remarks(&self) -> Vec<&crate::catalog::review::Comment> {
        self.page.comments.iter().filter(|c| c.fingerprint.is_none()).collect()
    }

    /// Whether this is the environment that was chosen.
    fn is_chosen(&self, environment: &EnvironmentName) -> bool {
        self.typed.decide.environment == environment.as_str()
    }

    fn is_typed(&self, ruling: &str) -> bool {
        self.typed.decide.ruling.as_str() == ruling
    }
}

/// What is looked at.
#[derive(Default, Deserialize)]
pub(super) struct DraftQuery {
    pub(super) assume: Option<Assumption>,
    /// A change by the first digits of its fingerprint.
    pub(super) change: Option<String>,
    #[serde(default)]
    pub(super) show: Show,
}

/// One draft, under the policy's assumption or the one asked for.
pub(super) async fn show_draft(
    Acting { app, .. }: Acting,
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
    Query(query): Query<DraftQuery>,
) -> Result<Response, Error> {
    shown(&app, &catalog, draft, query, None, Typed::default()).await
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

/// Approves, then shows the version, or the draft where others have to approve as well.
pub(super) async fn approve_draft(
    Acting { app, actor }: Acting,
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
    Query(query): Query<DraftQuery>,
    Form(form): Form<Approve>,
) -> Result<Response, Error> {
    let (seen, accept) = (form.digest.as_ref(), form.accept_breaking.is_some());
    match app.approve_seen(&catalog, draft.0, seen, accept, &form.reason, &actor).await {
        Ok(approved) => Ok(see(&match approved.version {
            Some(version) => format!("/catalogs/{}/versions/{}", version.catalog, version.version),
            None => format!("/catalogs/{catalog}/drafts/{}", approved.draft),
        })),
        Err(e) => {
            let typed = Typed { approve: form.reason, ..Typed::default() };
            shown(&app, &catalog, draft, query, Some(e), typed).await
        }
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
    Query(query): Query<DraftQuery>,
    Form(form): Form<Reject>,
) -> Result<Response, Error> {
    match app.reject_seen(&catalog, draft.0, form.digest.as_ref(), &form.reason, &actor).await {
        Ok(draft) => Ok(see(&format!("/catalogs/{}/drafts/{}", draft.catalog, draft.id))),
        Err(e) => {
            let typed = Typed { reject: form.reason, ..Typed::default() };
            shown(&app, &catalog, draft, query, Some(e), typed).await
        }
    }
}

/// The page, with why a form was not followed and what it was filled with.
pub(super) async fn shown(
    app: &App,
    catalog: &CatalogName,
    id: DraftId,
    query: DraftQuery,
    failure: Option<AppError>,
    typed: Typed,
) -> Result<Response, Error> {
    let reviewed = app.review(catalog, id.0).await?;
    let draft = &reviewed.draft;
    let found = app.catalog(catalog).await?;
    let base = match draft.base {
        Some(version) => Some(app.version(catalog, version).await?.content),
        None => None,
    };
    let assume = query.assume.filter(|assume| *assume != draft.report.assumption);
    let other = match assume {
        Some(assume) => Some(app.report_under(draft, assume).await?),
        None => None,
    };
    let queue = Queue::new(&reviewed, other.as_deref());
    let asked = query.change.as_deref().map(|change| change.strip_prefix("sha256:").unwrap_or(change));
    let asked = asked.filter(|change| !change.is_empty());
    let at = asked.and_then(|change| queue.find(&change.to_ascii_lowercase()));
    // What is a change under one assumption may be none under the other: the switch leads there all the same.
    let elsewhere = query.assume.is_some();
    let failure = failure.or_else(|| match (asked, at) {
        (Some(change), None) if !elsewhere => Some(unknown_change(change, id)),
        _ => None,
    });
    let lost = asked.is_some() && at.is_none();
    let at = at.or_else(|| queue.first()).map(|f| &f.fingerprint);
    let address = Address { path: format!("/catalogs/{catalog}/drafts/{}", id.0), assume, show: query.show };
    let lines = match (at.and_then(|at| queue.tool_of(at)), query.show) {
        (Some(tool), Show::Json) => Some(lines(app, base.as_ref(), &draft.content, tool).await?),
        _ => None,
    };
    let now = app.now();
    let sides = Shown { before: base.as_ref(), lines, now };
    let report = other.as_deref().unwrap_or(&draft.report);
    let status = failure.as_ref().map_or(StatusCode::OK, |e| error::kind(e.kind).0);
    let newest = found.versions.first().map(|v| v.version);
    let switch = match at {
        Some(at) => format!("{}?change={}&", address.path, at.short()),
        None => format!("{}?", address.path),
    };
    let shown = DraftPage {
        frame: Frame::new(app, "/catalogs"),
        view: ReportView::of_tools(report, &switch, (base.as_ref(), Some(&draft.content)), TOOLS),
        review: Review::new(&reviewed, &queue, at, &address, sides),
        releases: releases(report, base.as_ref(), &draft.content),
        blocked: blocked(&reviewed, &queue, &address),
        waiting: found
            .drafts
            .iter()
            .find(|d| d.status == DraftStatus::Pending && d.id != draft.id)
            .map(|d| d.id),
        overtaken: newest.filter(|newest| draft.base != Some(*newest)),
        may: May::of(app, &reviewed),
        environments: environments(app, &found),
        page: &reviewed,
        address,
        notice: failure.map(told).or_else(|| (elsewhere && lost).then(none_here)),
        typed,
    };
    Ok(page(status, &shown))
}

/// The environments of a catalog for which whoever looks may decide, in the order of travel.
fn environments(app: &App, catalog: &CatalogPage) -> Vec<EnvironmentName> {
    let demanded = catalog.catalog.environments.keys();
    let used = catalog.pointers.iter().map(|p| &p.environment);
    let all: BTreeSet<_> = demanded.chain(used).collect();
    let name = &catalog.catalog.name;
    let may = |environment: &EnvironmentName| {
        let object = Object { catalog: Some(name), environment: Some(environment) };
        app.caller().is_none_or(|caller| caller.may(Right::Review, object).is_ok())
    };
    let mut all: Vec<_> = all.into_iter().filter(|environment| may(environment)).cloned().collect();
    all.sort_by_key(usual_place);
    all
}

/// Why a form was not followed. Of a draft that moved under its reader it is said that nothing came of it.
fn told(e: AppError) -> (String, String) {
    let stale = e.kind == Kind::Stale;
    let (message, help) = error::told(e);
    if !stale {
        return (message, help);
    }
    let help = "nothing was changed; below stands what is true now: look at it, then send the form again";
    (format!("somebody was faster: {message}"), help.to_owned())
}

fn none_here() -> (String, String) {
    let message = "under this assumption that is no change, or another one";
    (message.to_owned(), "the first of those that are is shown below".to_owned())
}

fn unknown_change(change: &str, id: DraftId) -> AppError {
    AppError::new(Kind::NotFound, "unknown-change", format!("draft `d-{}` has no change `{change}`", id.0))
        .help("another change is shown below; this one may be in an earlier draft")
}

fn blocked<'d>(page: &'d ReviewPage, queue: &Queue<'d>, address: &Address) -> Blocked<'d> {
    let count = |cause: &[&str]| {
        page.standing.iter().filter(|s| s.blocks.is_some_and(|b| cause.contains(&b))).count()
    };
    let first = queue.first_blocking().and_then(|finding| {
        let tool = queue.tool_of(&finding.fingerprint)?;
        Some((tool, finding, address.of(&finding.fingerprint)))
    });
    Blocked {
        absolute: count(&["absolute"]),
        rejected: count(&["rejected"]),
        open: count(&["open", "waiver-expired"]),
        first,
    }
}

/// A tool as its server lists it, before and now.
async fn lines(
    app: &App,
    base: Option<&Content>,
    now: &Content,
    tool: &ToolReport,
) -> Result<Lines, AppError> {
    let pinned = |content: &Content| {
        review::member(content, tool).and_then(|m| m.digests.as_ref()).map(|d| d.raw.clone())
    };
    let mut sides = [None, None];
    for (side, raw) in sides.iter_mut().zip([base.and_then(pinned), pinned(now)]) {
        if let Some(raw) = raw {
            *side = app.listed_tool(&raw).await?;
        }
    }
    let [before, now] = sides;
    Ok(Lines::of(before.as_ref(), now.as_ref()))
}
