//! `/servers` and `/servers/{server}`: what each server listed, and how each listing ended.

use askama::Template;
use axum::{http::StatusCode, response::Response};

use super::{
    error::Error,
    filters,
    page::{Frame, Path, page},
};
use crate::{app::view, guard::Acting, name::ServerName, snapshot::Outcome};

#[derive(Template)]
#[template(path = "servers.html")]
struct Servers {
    frame: Frame,
    servers: Vec<view::ServerSummary>,
}

/// Every server.
pub(super) async fn show_servers(Acting { app, .. }: Acting) -> Result<Response, Error> {
    let servers = app.servers().await?;
    Ok(page(StatusCode::OK, &Servers { frame: Frame::new(&app, "/servers"), servers }))
}

#[derive(Template)]
#[template(path = "server.html")]
struct Server {
    frame: Frame,
    server: view::ServerPage,
    /// The newest listing was not good, so the tools shown are older.
    last_failed: bool,
}

impl Server {
    /// The digest of the good listing before this one under the same context, where the content is another.
    fn changed_from(&self, position: usize) -> Option<&crate::json::Digest> {
        let listing = self.server.listings.get(position)?;
        let context = &listing.provenance.auth_context;
        let earlier = self.server.listings.iter().skip(position + 1);
        let before =
            earlier.filter(|l| l.provenance.auth_context == *context).find_map(|l| l.digest.as_ref())?;
        (before != listing.digest.as_ref()?).then_some(before)
    }
}

/// One server.
pub(super) async fn show_server(
    Acting { app, .. }: Acting,
    Path(server): Path<ServerName>,
) -> Result<Response, Error> {
    let server = app.server(&server).await?;
    let last_failed = server.listings.first().is_some_and(|l| l.outcome != Outcome::Ok);
    Ok(page(StatusCode::OK, &Server { frame: Frame::new(&app, "/servers"), server, last_failed }))
}
