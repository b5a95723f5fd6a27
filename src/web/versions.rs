//! `/catalogs/{catalog}/versions/{version}`: what exactly was approved, and where it may go.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    error::{self, Error},
    filters,
    page::{Frame, Path, Query, page, see},
};
use crate::{
    app::{App, AppError, Kind, lists::Slice},
    catalog::{CatalogVersion, EnvironmentPointer, Member, Version},
    guard::Acting,
    json::Digest,
    name::{CatalogName, EnvironmentName, ServerName},
};

/// Tools of one page.
const TOOLS: usize = 250;
/// Versions that are offered to compare with.
const OTHERS: usize = 50;

#[derive(Template)]
#[template(path = "version.html")]
struct VersionPage {
    frame: Frame,
    version: Version,
    pointers: Vec<EnvironmentPointer>,
    /// The keys that it was signed with; none where none was configured then.
    keys: Vec<Digest>,
    /// Other versions, the newest first.
    others: Vec<CatalogVersion>,
    /// The number of the first tool that stands here, from 0.
    first_tool: usize,
    /// Every server of it is registered, so that hosts can be told where they are.
    registered: bool,
    notice: Option<(String, String)>,
    /// The environment that was typed, so that it need not be typed again.
    typed: String,
}

impl VersionPage {
    /// Promoting it there would be refused.
    fn holds(&self, pointer: &EnvironmentPointer) -> bool {
        pointer.hold.as_ref() == Some(&self.version.version)
    }

    /// The tools that stand here, by server.
    fn groups(&self) -> Vec<(Option<&ServerName>, &[Member])> {
        let members = self.version.content.members.get(self.first_tool..).unwrap_or_default();
        let here = &members[..members.len().min(TOOLS)];
        here.chunk_by(|a, b| a.server == b.server).map(|group| (group[0].server.as_ref(), group)).collect()
    }

    /// The tools behind these, by the number of the first.
    fn more_tools(&self) -> Option<usize> {
        let next = self.first_tool + TOOLS;
        (next < self.version.content.members.len()).then_some(next)
    }

    /// Every contract of it is known byte for byte.
    fn is_pinned(&self) -> bool {
        self.version.content.members.iter().all(|member| member.server.is_some() && member.digests.is_some())
    }

    /// Where it is live.
    fn live(&self) -> Vec<&EnvironmentPointer> {
        self.pointers.iter().filter(|p| p.version == self.version.version).collect()
    }

    fn address(&self) -> String {
        format!("/catalogs/{}/versions/{}", self.version.catalog, self.version.version)
    }
}

#[derive(Default, Deserialize)]
pub(super) struct VersionQuery {
    /// The number of the first tool that is shown, from 0.
    #[serde(default)]
    tools: usize,
}

/// One version.
pub(super) async fn show_version(
    Acting { app, .. }: Acting,
    Path((catalog, version)): Path<(CatalogName, CatalogVersion)>,
    Query(query): Query<VersionQuery>,
) -> Result<Response, Error> {
    shown(&app, &catalog, version, query.tools, None, String::new()).await
}

/// An environment that was typed: most often one that this catalog was never live in.
#[derive(Deserialize)]
pub(super) struct Where {
    #[serde(default)]
    environment: String,
}

/// Leads to the preflight of a promotion to the environment that was typed.
pub(super) async fn plan_promotion(
    Acting { app, .. }: Acting,
    Path((catalog, version)): Path<(CatalogName, CatalogVersion)>,
    Query(query): Query<Where>,
) -> Result<Response, Error> {
    match query.environment.trim().parse::<EnvironmentName>() {
        Ok(environment) => Ok(see(&format!(
            "/environments/{environment}/preflight?kind=promote&catalog={catalog}&version={version}"
        ))),
        Err(e) => {
            let failure = AppError::new(Kind::Invalid, "invalid-name", e.to_string());
            shown(&app, &catalog, version, 0, Some(failure), query.environment).await
        }
    }
}

async fn shown(
    app: &App,
    catalog: &CatalogName,
    version: CatalogVersion,
    first_tool: usize,
    failure: Option<AppError>,
    typed: String,
) -> Result<Response, Error> {
    let found = app.version(catalog, version).await?;
    let mut keys: Vec<Digest> =
        app.version_signatures(catalog, version).await?.into_iter().map(|signed| signed.key).collect();
    keys.dedup();
    let others = app.versions_page(catalog, &Slice { after: None, limit: OTHERS }).await?.items;
    let known = app.registered().await?;
    let registered = found.content.servers.iter().all(|pin| known.iter().any(|spec| spec.name == pin.server));
    let status = failure.as_ref().map_or(StatusCode::OK, |e| error::kind(e.kind).0);
    let shown = VersionPage {
        frame: Frame::new(app, "/catalogs"),
        pointers: app.catalog(catalog).await?.pointers,
        keys,
        others: others.into_iter().map(|row| row.version).filter(|other| *other != version).collect(),
        first_tool,
        registered,
        version: found,
        notice: failure.map(error::told),
        typed,
    };
    Ok(page(status, &shown))
}
