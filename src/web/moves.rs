//! `/environments/{environment}/preflight`: what a move would be judged on and what it changes, and the form that makes it.
//!
//! The form carries the generation that its reader saw. Where somebody moved the pointer in between, the page comes back planned
//! anew from what is true now, says who moved it, and keeps the reason that was typed.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    error::{self, Error},
    filters,
    page::{Form, Frame, Path, Query, page, see},
    report::{ReportView, Values},
};
use crate::{
    access::{Object, Right},
    app::{App, AppError, Kind, MoveRequest, Overrides, view::Preflight},
    catalog::{CatalogVersion, MoveKind, ProbeAnswer, review::Decision},
    diff::{Level, Status, ToolReport},
    guard::Acting,
    name::{CatalogName, EnvironmentName},
};

/// Names that are told one by one.
const NAMES: usize = 30;

#[derive(Template)]
#[template(path = "preflight.html")]
struct PreflightPage<'p> {
    frame: Frame,
    plan: &'p Preflight,
    view: Option<ReportView<'p>>,
    /// The decisions and waivers that let changes pass.
    used: Vec<&'p Decision>,
    gained: Names<'p>,
    lost: Names<'p>,
    changed: Names<'p>,
    /// Why whoever looks may not make the move.
    refusal: Option<(String, String)>,
    notice: Option<Notice>,
    typed: Typed,
}

/// Tools by what becomes of them.
struct Names<'p> {
    shown: Vec<&'p ToolReport>,
    left_out: usize,
}

impl<'p> Names<'p> {
    fn of(plan: &'p Preflight, status: Status) -> Self {
        let all = plan.report.iter().flat_map(|r| &r.tools).filter(|t| t.status == status);
        // What is only worded otherwise changes nothing for whoever calls it.
        let all: Vec<_> =
            all.filter(|t| t.status != Status::Changed || t.verdict != Level::Compatible).collect();
        Self { left_out: all.len().saturating_sub(NAMES), shown: all.into_iter().take(NAMES).collect() }
    }
}

/// Why the last form was not followed.
pub(super) struct Notice {
    pub(super) stale: bool,
    pub(super) title: &'static str,
    pub(super) message: String,
    pub(super) help: String,
}

impl Notice {
    pub(super) fn of(e: AppError) -> (StatusCode, Self) {
        let (status, title) = error::kind(e.kind);
        let stale = e.kind == Kind::Stale;
        let (message, help) = error::told(e);
        (status, Self { stale, title, message, help })
    }
}

/// What the form was filled with.
#[derive(Default)]
struct Typed {
    reason: String,
    record_probe: bool,
    emergency: bool,
}

impl<'p> PreflightPage<'p> {
    /// What becomes of which tools, for agents.
    fn fates(&self) -> [(&'static str, &Names<'p>); 3] {
        [("They lose", &self.lost), ("They get", &self.gained), ("Not as before", &self.changed)]
    }

    fn verb(&self) -> &'static str {
        match self.plan.kind {
            MoveKind::Promote => "Promote",
            MoveKind::Rollback => "Roll back",
        }
    }

    fn is_rollback(&self) -> bool {
        self.plan.kind == MoveKind::Rollback
    }

    /// How many gates stand in the way.
    fn closed(&self) -> usize {
        self.plan.gates.iter().filter(|g| !g.passed).count()
    }

    /// Only that the servers serve something else, which can be recorded and passed.
    fn may_record(&self) -> bool {
        let mut closed = self.plan.gates.iter().filter(|g| !g.passed).peekable();
        !self.is_rollback() && closed.peek().is_some() && closed.all(|g| g.code == "not-served")
    }

    /// Whether there is a way to go on from here.
    fn can_go_on(&self) -> bool {
        self.closed() == 0 || self.may_record() || self.is_rollback()
    }
}

/// A move that is thought of.
#[derive(Deserialize)]
pub(super) struct PlanQuery {
    kind: MoveKind,
    catalog: CatalogName,
    version: CatalogVersion,
}

/// What a move would be judged on.
pub(super) async fn show_preflight(
    Acting { app, actor }: Acting,
    Path(environment): Path<EnvironmentName>,
    Query(query): Query<PlanQuery>,
) -> Result<Response, Error> {
    let request = MoveRequest {
        environment,
        catalog: Some(query.catalog),
        version: query.version,
        generation: 0,
        reason: String::new(),
        actor,
        idempotency_key: None,
        overrides: Overrides::default(),
    };
    shown(&app, query.kind, request, None, Typed::default()).await
}

#[derive(Deserialize)]
pub(super) struct MoveForm {
    catalog: CatalogName,
    version: CatalogVersion,
    generation: i64,
    #[serde(default)]
    reason: String,
    /// A ticked box is sent as `on`, an empty one not at all.
    record_probe: Option<String>,
    emergency: Option<String>,
}

/// Promotes, then shows where the environment points.
pub(super) async fn promote_version(
    Acting { app, actor }: Acting,
    Path(environment): Path<EnvironmentName>,
    Form(form): Form<MoveForm>,
) -> Result<Response, Error> {
    moved(&app, actor, environment, form, MoveKind::Promote).await
}

/// Rolls back, then shows where the environment points.
pub(super) async fn rollback_version(
    Acting { app, actor }: Acting,
    Path(environment): Path<EnvironmentName>,
    Form(form): Form<MoveForm>,
) -> Result<Response, Error> {
    moved(&app, actor, environment, form, MoveKind::Rollback).await
}

async fn moved(
    app: &App,
    actor: String,
    environment: EnvironmentName,
    form: MoveForm,
    kind: MoveKind,
) -> Result<Response, Error> {
    let overrides =
        Overrides { record_probe: form.record_probe.is_some(), emergency: form.emergency.is_some() };
    let request = MoveRequest {
        environment,
        catalog: Some(form.catalog),
        version: form.version,
        generation: form.generation,
        reason: form.reason,
        actor,
        idempotency_key: None,
        overrides,
    };
    let done = match kind {
        MoveKind::Promote => app.promote(&request).await,
        MoveKind::Rollback => app.rollback(&request).await,
    };
    match done {
        Ok(done) => Ok(see(&format!("/environments/{}#at-{}", done.environment, done.catalog))),
        // There is nothing to plan anew with.
        Err(e) if e.kind == Kind::NotFound || e.kind == Kind::Forbidden => Err(e.into()),
        Err(e) => {
            let typed = Typed {
                reason: request.reason.clone(),
                record_probe: request.overrides.record_probe,
                emergency: request.overrides.emergency,
            };
            let request = MoveRequest { overrides: Overrides::default(), ..request };
            shown(app, kind, request, Some(e), typed).await
        }
    }
}

/// The plan from where the pointer stands now, whatever was seen before.
async fn shown(
    app: &App,
    kind: MoveKind,
    request: MoveRequest,
    failure: Option<AppError>,
    typed: Typed,
) -> Result<Response, Error> {
    let pointers = app.pointers().await?.into_iter();
    let mut here = pointers
        .filter(|p| p.environment == request.environment && request.catalog.as_ref() == Some(&p.catalog));
    let generation = here.next().map_or(0, |p| p.generation);
    let request = MoveRequest { generation, ..request };
    let plan = match (app.preflight(kind, &request).await, failure) {
        (Ok(plan), failure) => (plan, failure),
        // Where the move makes no sense any more, what stood in its way first says more.
        (Err(_), Some(failure)) => return Err(failure.into()),
        (Err(e), None) => return Err(e.into()),
    };
    let (plan, failure) = plan;
    let decisions = match plan.grounds.decisions.is_empty() {
        true => Vec::new(),
        false => app.decisions(&plan.catalog).await?,
    };
    let right = match kind {
        MoveKind::Promote => Right::Promote,
        MoveKind::Rollback => Right::RollBack,
    };
    let object = Object { catalog: Some(&plan.catalog), environment: Some(&plan.environment) };
    let refused = app.caller().and_then(|caller| caller.may(right, object).err());
    let (status, notice) = match failure.map(Notice::of) {
        Some((status, notice)) => (status, Some(notice)),
        None => (StatusCode::OK, None),
    };
    let shown = PreflightPage {
        frame: Frame::new(app, "/environments"),
        view: plan.report.as_ref().map(|report| ReportView::new(report, "")),
        used: decisions.iter().filter(|d| plan.grounds.decisions.contains(&d.id)).collect(),
        gained: Names::of(&plan, Status::Added),
        lost: Names::of(&plan, Status::Removed),
        changed: Names::of(&plan, Status::Changed),
        refusal: refused.map(|refusal| (refusal.to_string(), refusal.help())),
        plan: &plan,
        notice,
        typed,
    };
    Ok(page(status, &shown))
}
