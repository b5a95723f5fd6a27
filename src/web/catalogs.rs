//! `/catalogs` and `/catalogs/{catalog}`: versions, drafts, and where each version is live.

use askama::Template;
use axum::{http::StatusCode, response::Response};

use super::{
    error::Error,
    filters,
    page::{Frame, Path, page},
};
use crate::{
    app::view,
    catalog::{CatalogVersion, EnvironmentPointer},
    guard::Acting,
    name::CatalogName,
};

#[derive(Template)]
#[template(path = "catalogs.html")]
struct Catalogs {
    frame: Frame,
    catalogs: Vec<view::CatalogSummary>,
}

/// Every catalog.
pub(super) async fn show_catalogs(Acting { app, .. }: Acting) -> Result<Response, Error> {
    let catalogs = app.catalogs().await?;
    Ok(page(StatusCode::OK, &Catalogs { frame: Frame::new(&app, "/catalogs"), catalogs }))
}

#[derive(Template)]
#[template(path = "catalog.html")]
struct Catalog {
    frame: Frame,
    page: view::CatalogPage,
}

impl Catalog {
    fn live(&self, version: &CatalogVersion) -> Vec<&EnvironmentPointer> {
        self.page.pointers.iter().filter(|p| p.version == *version).collect()
    }

    fn fail_on(&self) -> String {
        let words: Vec<_> = self.page.catalog.policy.fail_on.iter().map(|l| l.as_str()).collect();
        if words.is_empty() { "nothing".to_owned() } else { words.join(" and ") }
    }
}

/// One catalog.
pub(super) async fn show_catalog(
    Acting { app, .. }: Acting,
    Path(catalog): Path<CatalogName>,
) -> Result<Response, Error> {
    let found = app.catalog(&catalog).await?;
    Ok(page(StatusCode::OK, &Catalog { frame: Frame::new(&app, "/catalogs"), page: found }))
}
