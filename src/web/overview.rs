//! `/`: where everything stands, and what waits for somebody.

use askama::Template;
use axum::{http::StatusCode, response::Response};

use super::{
    environments::lanes,
    error::Error,
    filters,
    page::{Frame, page},
};
use crate::{
    app::{lists::Slice, view},
    catalog::EnvironmentPointer,
    diff::Verdict,
    guard::Acting,
    name::{CatalogName, EnvironmentName},
};

/// How many of each stand here; their own pages have all.
const SHOWN: usize = 100;

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    frame: Frame,
    environments: Vec<(EnvironmentName, Vec<EnvironmentPointer>)>,
    waiting: Vec<(CatalogName, i64, Verdict)>,
    catalogs: Vec<view::CatalogSummary>,
    more_catalogs: usize,
    servers: Vec<view::ServerSummary>,
    more_servers: bool,
}

/// The first page.
pub(super) async fn show_overview(Acting { app, .. }: Acting) -> Result<Response, Error> {
    let environments = lanes(&app).await?;
    let mut catalogs = app.catalogs().await?;
    let waiting = catalogs
        .iter()
        .flat_map(|c| c.pending.iter().map(|(id, verdict)| (c.catalog.name.clone(), *id, *verdict)))
        .collect();
    let more_catalogs = catalogs.len().saturating_sub(SHOWN);
    catalogs.truncate(SHOWN);
    let page_of = app.servers_page(None, &Slice { after: None, limit: SHOWN }).await?;
    let (servers, more_servers) = (page_of.items, page_of.next.is_some());
    let frame = Frame::new(&app, "/");
    let overview = Overview { frame, environments, waiting, catalogs, more_catalogs, servers, more_servers };
    Ok(page(StatusCode::OK, &overview))
}
