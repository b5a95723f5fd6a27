//! `/`: where everything stands, and what waits for somebody.

use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};

use super::{
    environments::lanes,
    error::Error,
    filters,
    page::{Frame, page},
};
use crate::{
    app::{App, view},
    catalog::EnvironmentPointer,
    diff::Verdict,
    name::{CatalogName, EnvironmentName},
};

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    frame: Frame,
    environments: Vec<(EnvironmentName, Vec<EnvironmentPointer>)>,
    waiting: Vec<(CatalogName, i64, Verdict)>,
    catalogs: Vec<view::CatalogSummary>,
    servers: Vec<view::ServerSummary>,
}

/// The first page.
pub(super) async fn show_overview(State(app): State<App>) -> Result<Response, Error> {
    let environments = lanes(&app).await?;
    let catalogs = app.catalogs().await?;
    let waiting = catalogs
        .iter()
        .flat_map(|c| c.pending.iter().map(|(id, verdict)| (c.catalog.name.clone(), *id, *verdict)))
        .collect();
    let servers = app.servers().await?;
    let overview = Overview { frame: Frame::new(&app, "/"), environments, waiting, catalogs, servers };
    Ok(page(StatusCode::OK, &overview))
}
