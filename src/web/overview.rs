//! `/`: where everything stands, and what waits for somebody.

use std::collections::HashMap;

use askama::Template;
use axum::{http::StatusCode, response::Response};

use super::{
    environments::lanes,
    error::Error,
    filters,
    page::{Frame, page},
    waivers::ends_soon,
};
use crate::{
    app::{
        App, AppError,
        lists::Slice,
        overview::{Live, LiveDrift},
        view,
    },
    catalog::review::Decision,
    diff::Verdict,
    guard::Acting,
    name::{CatalogName, EnvironmentName},
    snapshot::Outcome,
};

/// How many of each stand here; their own pages have all.
const SHOWN: usize = 100;
/// How many servers that fare so stand here.
const TROUBLED: usize = 20;

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    frame: Frame,
    environments: Vec<(EnvironmentName, Vec<Live>)>,
    waiting: Vec<(CatalogName, i64, Verdict)>,
    /// Waivers that end soon or have ended, those that end first before the others.
    ending: Vec<Decision>,
    catalogs: Vec<view::CatalogSummary>,
    more_catalogs: usize,
    /// Servers whose newest listing did not end well.
    troubled: Vec<view::ServerSummary>,
    any_server: bool,
}

impl Overview {
    /// Where nothing is there yet: an id, what is done, and the command that does it.
    const STEPS: [(&str, &str, &str); 3] = [
        (
            "step-1",
            "Take a snapshot of a server.",
            "toolpact snapshot orders -- toolpact demo-server --release 1",
        ),
        ("step-2", "Collect its tools into a catalog.", "toolpact draft shop --server orders"),
        (
            "step-3",
            "Load this page again, review the draft and approve it; its page then offers to promote it. Or on the command line:",
            "toolpact approve shop d-1 --reason \"first catalog\"",
        ),
    ];
}

/// The first page.
pub(super) async fn show_overview(Acting { app, .. }: Acting) -> Result<Response, Error> {
    let frame = Frame::new(&app, "/");
    let mut catalogs = app.catalogs().await?;
    let waiting = catalogs
        .iter()
        .flat_map(|c| c.pending.iter().map(|(id, verdict)| (c.catalog.name.clone(), *id, *verdict)))
        .collect();
    let more_catalogs = catalogs.len().saturating_sub(SHOWN);
    catalogs.truncate(SHOWN);
    let mut ending = app.waivers().await?;
    ending.retain(|waiver| ends_soon(waiver, frame.now));
    ending.truncate(SHOWN);
    let overview = Overview {
        environments: live_lanes(&app).await?,
        waiting,
        ending,
        catalogs,
        more_catalogs,
        troubled: troubled(&app).await?,
        any_server: !app.servers_page(None, &Slice { after: None, limit: 1 }).await?.items.is_empty(),
        frame,
    };
    Ok(page(StatusCode::OK, &overview))
}

/// Every environment with what is live in it, in the order of travel.
async fn live_lanes(app: &App) -> Result<Vec<(EnvironmentName, Vec<Live>)>, AppError> {
    let mut by_name: HashMap<EnvironmentName, Vec<Live>> = HashMap::new();
    for live in app.lives().await? {
        by_name.entry(live.pointer.environment.clone()).or_default().push(live);
    }
    let order = lanes(app).await?.into_iter().map(|(name, _)| name);
    Ok(order.filter_map(|name| by_name.remove_entry(&name)).collect())
}

/// Servers whose newest listing did not end well, a few of each outcome.
async fn troubled(app: &App) -> Result<Vec<view::ServerSummary>, AppError> {
    let mut all = Vec::new();
    for outcome in Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::Ok) {
        all.extend(app.servers_page(Some(outcome), &Slice { after: None, limit: TROUBLED }).await?.items);
    }
    Ok(all)
}
