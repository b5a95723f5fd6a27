//! `/environments` and `/environments/{environment}`: what is live, and the forms that move it.
//!
//! Each form carries the generation that its reader saw. Where somebody moved the pointer in between, the page comes
//! back with what is true now, says who moved it, and offers the form again.

use std::collections::BTreeMap;

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    error::{self, Error},
    filters,
    page::{Form, Frame, Path, Query, page, see},
};
use crate::{
    app::{App, AppError, Kind, MoveRequest, Overrides, ReleaseRequest, view},
    catalog::{CatalogVersion, EnvironmentPointer, MoveKind},
    guard::Acting,
    name::{CatalogName, EnvironmentName},
};

#[derive(Template)]
#[template(path = "environments.html")]
struct Environments {
    frame: Frame,
    environments: Vec<(EnvironmentName, Vec<EnvironmentPointer>)>,
}

/// Every environment.
pub(super) async fn show_environments(Acting { app, .. }: Acting) -> Result<Response, Error> {
    let environments = lanes(&app).await?;
    Ok(page(StatusCode::OK, &Environments { frame: Frame::new(&app, "/environments"), environments }))
}

/// The order in which versions usually travel; other environments stand behind, by name.
const USUAL_ORDER: [&str; 6] = ["dev", "development", "test", "staging", "production", "prod"];

/// Every environment with where it points, in the order of travel.
pub(super) async fn lanes(app: &App) -> Result<Vec<(EnvironmentName, Vec<EnvironmentPointer>)>, AppError> {
    let mut environments: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for pointer in app.pointers().await? {
        environments.entry(pointer.environment.clone()).or_default().push(pointer);
    }
    let mut lanes: Vec<_> = environments.into_iter().collect();
    let rank = |name: &EnvironmentName| USUAL_ORDER.iter().position(|n| *n == name.as_str());
    lanes.sort_by_key(|(name, _)| rank(name).unwrap_or(USUAL_ORDER.len()));
    Ok(lanes)
}

#[derive(Template)]
#[template(path = "environment.html")]
struct Environment {
    frame: Frame,
    name: EnvironmentName,
    pages: Vec<view::EnvironmentPage>,
    notice: Option<Notice>,
    /// What was typed or asked for, so that it need not be typed again.
    typed: Typed,
}

/// Why the last form was not followed.
struct Notice {
    stale: bool,
    title: &'static str,
    message: String,
    help: String,
}

/// What a form starts with.
#[derive(Default)]
struct Typed {
    catalog: Option<CatalogName>,
    version: Option<CatalogVersion>,
    kind: Option<MoveKind>,
    reason: String,
}

impl Environment {
    fn is_chosen(&self, catalog: &CatalogName, kind: MoveKind, version: &CatalogVersion) -> bool {
        self.is_typed(catalog, kind) && self.typed.version.as_ref() == Some(version)
    }

    fn reason(&self, catalog: &CatalogName, kind: MoveKind) -> &str {
        if self.is_typed(catalog, kind) { &self.typed.reason } else { "" }
    }

    fn is_typed(&self, catalog: &CatalogName, kind: MoveKind) -> bool {
        self.typed.kind == Some(kind) && self.typed.catalog.as_ref().is_none_or(|c| c == catalog)
    }
}

#[derive(Deserialize)]
pub(super) struct EnvironmentQuery {
    catalog: Option<CatalogName>,
    version: Option<CatalogVersion>,
}

/// One environment; a version asked for stands chosen in the promote form.
pub(super) async fn show_environment(
    Acting { app, .. }: Acting,
    Path(environment): Path<EnvironmentName>,
    Query(query): Query<EnvironmentQuery>,
) -> Result<Response, Error> {
    let typed = Typed {
        catalog: query.catalog,
        version: query.version,
        kind: query.version.map(|_| MoveKind::Promote),
        reason: String::new(),
    };
    shown(&app, environment, None, typed).await
}

#[derive(Deserialize)]
pub(super) struct MoveForm {
    catalog: CatalogName,
    version: CatalogVersion,
    generation: i64,
    #[serde(default)]
    reason: String,
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
    let request = MoveRequest {
        environment,
        catalog: Some(form.catalog),
        version: form.version,
        generation: form.generation,
        reason: form.reason,
        actor,
        idempotency_key: None,
        overrides: Overrides::default(),
    };
    let done = match kind {
        MoveKind::Promote => app.promote(&request).await,
        MoveKind::Rollback => app.rollback(&request).await,
    };
    match done {
        Ok(done) => Ok(see(&format!("/environments/{}", done.environment))),
        Err(e) => {
            let typed = Typed {
                catalog: request.catalog,
                version: Some(request.version),
                kind: Some(kind),
                reason: request.reason,
            };
            shown(app, request.environment, Some(e), typed).await
        }
    }
}

#[derive(Deserialize)]
pub(super) struct ReleaseForm {
    catalog: CatalogName,
    version: Option<CatalogVersion>,
    generation: i64,
    #[serde(default)]
    reason: String,
}

/// Releases a hold, then shows the environment.
pub(super) async fn release_hold(
    Acting { app, actor }: Acting,
    Path(environment): Path<EnvironmentName>,
    Form(form): Form<ReleaseForm>,
) -> Result<Response, Error> {
    let request = ReleaseRequest {
        environment: environment.clone(),
        catalog: Some(form.catalog),
        version: form.version,
        generation: form.generation,
        reason: form.reason,
        actor,
        idempotency_key: None,
    };
    match app.release_hold(&request).await {
        Ok(()) => Ok(see(&format!("/environments/{environment}"))),
        Err(e) => shown(&app, environment, Some(e), Typed::default()).await,
    }
}

async fn shown(
    app: &App,
    name: EnvironmentName,
    failure: Option<AppError>,
    typed: Typed,
) -> Result<Response, Error> {
    let pages = app.environment(&name).await?;
    let status = failure.as_ref().map_or(StatusCode::OK, |e| error::kind(e.kind).0);
    let notice = failure.map(|e| {
        let (stale, title) = (e.kind == Kind::Stale, error::kind(e.kind).1);
        let (message, help) = error::told(e);
        Notice { stale, title, message, help }
    });
    Ok(page(status, &Environment { frame: Frame::new(app, "/environments"), name, pages, notice, typed }))
}
