//! `/environments` and `/environments/{environment}`: what is live, what is frozen and held, and the ways to move it.
//!
//! A move begins with its [preflight](super::moves). Each form carries the generation that its reader saw.

use std::collections::BTreeMap;

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    error::Error,
    filters,
    moves::Notice,
    page::{Form, Frame, Path, Query, page, see},
};
use crate::{
    access::{Caller, Object, Right},
    app::{App, AppError, Kind, ReleaseRequest, view},
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
    lanes.sort_by_key(|(name, _)| usual_place(name));
    Ok(lanes)
}

/// Where an environment usually stands in the order of travel.
pub(super) fn usual_place(name: &EnvironmentName) -> usize {
    USUAL_ORDER.iter().position(|n| *n == name.as_str()).unwrap_or(USUAL_ORDER.len())
}

#[derive(Template)]
#[template(path = "environment.html")]
struct Environment {
    frame: Frame,
    name: EnvironmentName,
    pages: Vec<view::EnvironmentPage>,
    notice: Option<Notice>,
    /// What was asked for: it stands chosen.
    chosen: EnvironmentQuery,
    /// Who looks, where that is known.
    caller: Option<Caller>,
}

impl Environment {
    fn is_chosen(&self, catalog: &CatalogName, version: &CatalogVersion) -> bool {
        self.chosen.catalog.as_ref().is_none_or(|c| c == catalog)
            && self.chosen.version.as_ref() == Some(version)
    }

    fn may(&self, right: Right, catalog: &CatalogName) -> bool {
        let object = Object { catalog: Some(catalog), environment: Some(&self.name) };
        self.caller.as_ref().is_none_or(|caller| caller.may(right, object).is_ok())
    }
}

#[derive(Default, Deserialize)]
pub(super) struct EnvironmentQuery {
    catalog: Option<CatalogName>,
    version: Option<CatalogVersion>,
}

/// One environment; a version asked for stands chosen where it can be promoted.
pub(super) async fn show_environment(
    Acting { app, .. }: Acting,
    Path(environment): Path<EnvironmentName>,
    Query(query): Query<EnvironmentQuery>,
) -> Result<Response, Error> {
    shown(&app, environment, None, query).await
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
    let done = app.release_hold(&request).await;
    answered(&app, environment, done).await
}

/// A freeze, or its end.
#[derive(Deserialize)]
pub(super) struct FreezeForm {
    /// Which catalog; empty for all of them.
    #[serde(default)]
    catalog: String,
    #[serde(default)]
    reason: String,
}

impl FreezeForm {
    fn catalog(&self) -> Result<Option<CatalogName>, AppError> {
        let name = self.catalog.trim();
        let name = (!name.is_empty()).then(|| name.parse::<CatalogName>()).transpose();
        name.map_err(|e| AppError::new(Kind::Invalid, "invalid-name", e.to_string()))
    }
}

/// Freezes the environment, or one catalog in it, then shows it.
pub(super) async fn freeze_environment(
    Acting { app, actor }: Acting,
    Path(environment): Path<EnvironmentName>,
    Form(form): Form<FreezeForm>,
) -> Result<Response, Error> {
    let catalog = form.catalog()?;
    let done = app.freeze(&environment, catalog.as_ref(), &form.reason, &actor).await;
    answered(&app, environment, done.map(|_| ())).await
}

/// Ends a freeze, then shows the environment.
pub(super) async fn unfreeze_environment(
    Acting { app, actor }: Acting,
    Path(environment): Path<EnvironmentName>,
    Form(form): Form<FreezeForm>,
) -> Result<Response, Error> {
    let catalog = form.catalog()?;
    let done = app.unfreeze(&environment, catalog.as_ref(), &form.reason, &actor).await;
    answered(&app, environment, done).await
}

async fn answered(
    app: &App,
    environment: EnvironmentName,
    done: Result<(), AppError>,
) -> Result<Response, Error> {
    match done {
        Ok(()) => Ok(see(&format!("/environments/{environment}"))),
        Err(e) => shown(app, environment, Some(e), EnvironmentQuery::default()).await,
    }
}

async fn shown(
    app: &App,
    name: EnvironmentName,
    failure: Option<AppError>,
    chosen: EnvironmentQuery,
) -> Result<Response, Error> {
    let pages = app.environment(&name).await?;
    let (status, notice) = match failure.map(Notice::of) {
        Some((status, notice)) => (status, Some(notice)),
        None => (StatusCode::OK, None),
    };
    let (frame, caller) = (Frame::new(app, "/environments"), app.caller().cloned());
    Ok(page(status, &Environment { frame, name, pages, notice, chosen, caller }))
}
