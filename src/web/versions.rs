//! `/catalogs/{catalog}/versions/{version}`: what exactly was approved, and where it may go.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    error::{self, Error},
    filters,
    page::{Form, Frame, Path, page, see},
};
use crate::{
    app::{App, AppError, Kind, MoveRequest, Overrides},
    catalog::{CatalogVersion, EnvironmentPointer, Version},
    guard::Acting,
    name::{CatalogName, EnvironmentName},
};

#[derive(Template)]
#[template(path = "version.html")]
struct VersionPage {
    frame: Frame,
    version: Version,
    pointers: Vec<EnvironmentPointer>,
    notice: Option<(String, String)>,
    /// What was typed, so that it need not be typed again.
    typed: PromoteFirst,
}

impl VersionPage {
    /// Promoting it there would be refused.
    fn holds(&self, pointer: &EnvironmentPointer) -> bool {
        pointer.hold.as_ref() == Some(&self.version.version)
    }

    fn address(&self) -> String {
        format!("/catalogs/{}/versions/{}", self.version.catalog, self.version.version)
    }
}

/// One version.
pub(super) async fn show_version(
    Acting { app, .. }: Acting,
    Path((catalog, version)): Path<(CatalogName, CatalogVersion)>,
) -> Result<Response, Error> {
    shown(&app, &catalog, version, None, PromoteFirst::default()).await
}

/// The form for an environment that this catalog was never live in.
#[derive(Default, Deserialize)]
pub(super) struct PromoteFirst {
    #[serde(default)]
    environment: String,
    #[serde(default)]
    reason: String,
}

/// Promotes to an environment where nothing of this catalog was ever live: generation 0.
pub(super) async fn promote_first(
    Acting { app, actor }: Acting,
    Path((catalog, version)): Path<(CatalogName, CatalogVersion)>,
    Form(form): Form<PromoteFirst>,
) -> Result<Response, Error> {
    let promoted = match form.environment.parse::<EnvironmentName>() {
        Ok(environment) => {
            let request = MoveRequest {
                environment,
                catalog: Some(catalog.clone()),
                version,
                generation: 0,
                reason: form.reason.clone(),
                actor,
                idempotency_key: None,
                overrides: Overrides::default(),
            };
            app.promote(&request).await
        }
        Err(e) => Err(AppError::new(Kind::Invalid, "invalid-name", e.to_string())),
    };
    match promoted {
        Ok(done) => Ok(see(&format!("/environments/{}", done.environment))),
        Err(e) => shown(&app, &catalog, version, Some(e), form).await,
    }
}

async fn shown(
    app: &App,
    catalog: &CatalogName,
    version: CatalogVersion,
    failure: Option<AppError>,
    typed: PromoteFirst,
) -> Result<Response, Error> {
    let found = app.version(catalog, version).await?;
    let pointers = app.catalog(catalog).await?.pointers;
    let status = failure.as_ref().map_or(StatusCode::OK, |e| error::kind(e.kind).0);
    let notice = failure.map(error::told);
    let frame = Frame::new(app, "/catalogs");
    Ok(page(status, &VersionPage { frame, version: found, pointers, notice, typed }))
}
