//! `/servers` and `/servers/{server}`: what each server listed, how each listing ended, where it is live, and asking it now.
//!
//! A server that is found by a URL is added here. A command is never taken from a browser: what this machine runs is for those
//! who can log in to it to say.

use std::{cmp::Reverse, collections::HashMap};

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    error::{self, Error},
    filters,
    page::{Form, Frame, Path, Query, configures, drafts, page, see},
};
use crate::{
    app::{
        App, AppError, Kind,
        lists::Slice,
        overview::{Live, LiveDrift},
        view::{self, ListingRow},
    },
    catalog::{
        ServerSource, ServerSpec,
        server::{HttpTransport, Symbolic},
    },
    guard::Acting,
    json::Digest,
    name::{InvalidName, ServerName, TeamName},
    snapshot::{Outcome, Transport},
};

/// Servers of one page.
const SERVERS: usize = 100;
/// How many are looked at for one page, so that a filter that hardly any fits has an end.
const LOOKED_AT: usize = 2_000;
/// Tools of one page of a server.
const TOOLS: usize = 200;
/// Listings of one page of a server.
const LISTINGS: usize = 30;

#[derive(Template)]
#[template(path = "servers.html")]
struct Servers {
    frame: Frame,
    servers: Vec<Row>,
    query: ServersQuery,
    /// The page behind this one.
    next: Option<String>,
    may_add: bool,
    notice: Option<(String, String)>,
    typed: AddForm,
}

/// A server with who owns it and where it is live.
struct Row {
    server: view::ServerSummary,
    team: Option<TeamName>,
    standing: Standing,
}

/// Where what a server listed is live, and whether it lists that still.
#[derive(Default, Clone)]
struct Standing {
    live: Vec<Live>,
    drifts: bool,
}

impl Servers {
    const OUTCOMES: [Outcome; 9] = Outcome::ALL;
}

/// What stands in a cell about how a server is spoken to.
fn transport(row: &ListingRow) -> &'static str {
    match row.provenance.transport {
        Transport::Stdio => "stdio",
        Transport::Http => "Streamable HTTP",
        Transport::Sse => "HTTP+SSE",
        Transport::File => "saved answer",
    }
}

impl Row {
    fn transport(&self) -> Option<&'static str> {
        self.server.last_ok.as_ref().or(self.server.last.as_ref()).map(transport)
    }

    /// The revision that was spoken last.
    fn revision(&self) -> Option<&str> {
        self.server.last_ok.as_ref()?.provenance.protocol_version.as_deref()
    }
}

#[derive(Default, Deserialize)]
pub(super) struct ServersQuery {
    /// How the newest listing ended.
    #[serde(default)]
    outcome: String,
    /// Who owns it.
    #[serde(default)]
    team: String,
    /// What stands in its name.
    #[serde(default)]
    name: String,
    /// The server that the page before ended with.
    after: Option<ServerName>,
}

impl ServersQuery {
    fn outcome(&self) -> Result<Option<Outcome>, AppError> {
        if self.outcome.is_empty() {
            return Ok(None);
        }
        let found = Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == self.outcome);
        found.map(Some).ok_or_else(|| {
            let message = format!("`{}` is no way in which a listing ends", self.outcome);
            AppError::new(Kind::Invalid, "invalid-request", message)
        })
    }

    fn is_asked(&self) -> bool {
        !(self.outcome.is_empty() && self.team.trim().is_empty() && self.name.trim().is_empty())
    }

    fn takes(&self, name: &ServerName, team: Option<&TeamName>) -> bool {
        let (wanted, part) = (self.team.trim(), self.name.trim().to_ascii_lowercase());
        (wanted.is_empty() || team.is_some_and(|team| team.as_str() == wanted))
            && name.as_str().to_ascii_lowercase().contains(&part)
    }

    fn behind(&self, after: &ServerName) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (part, text) in [("name", &self.name), ("team", &self.team), ("outcome", &self.outcome)] {
            if !text.trim().is_empty() {
                query.append_pair(part, text.trim());
            }
        }
        format!("/servers?{}", query.append_pair("after", after.as_str()).finish())
    }
}

/// A page of servers.
pub(super) async fn show_servers(
    Acting { app, .. }: Acting,
    Query(query): Query<ServersQuery>,
) -> Result<Response, Error> {
    list(&app, query, None, AddForm::default()).await
}

/// A server that is found by a URL.
#[derive(Default, Deserialize)]
pub(super) struct AddForm {
    name: String,
    #[serde(default)]
    url: String,
}

impl AddForm {
    fn spec(&self) -> Result<ServerSpec, AppError> {
        let name = self
            .name
            .trim()
            .parse()
            .map_err(|e: InvalidName| AppError::new(Kind::Invalid, "invalid-name", e.to_string()))?;
        let url = self.url.trim();
        if !url.starts_with("http://") && !url.starts_with("https://") {
            let message = format!("server `{name}` is not registered: `{url}` is no URL");
            return Err(AppError::new(Kind::Invalid, "invalid-source", message).help(format!(
                "write `https://…`; a command is added on the machine that runs it: `toolpact servers add {name} -- COMMAND`"
            )));
        }
        // A text from a browser means itself: what it could refer to is this service's, not its sender's.
        let source = ServerSource::Http {
            url: Symbolic::literal(url),
            headers: std::collections::BTreeMap::new(),
            transport: HttpTransport::Auto,
            oauth: None,
        };
        Ok(ServerSpec::new(name, source))
    }
}

/// Registers a server that is found by a URL. Nothing is asked yet.
pub(super) async fn add_server(
    Acting { app, actor }: Acting,
    Form(form): Form<AddForm>,
) -> Result<Response, Error> {
    let added = match form.spec() {
        Ok(spec) => {
            let name = spec.name.clone();
            app.add_server(spec, false, &actor).await.map(|_| name)
        }
        Err(e) => Err(e),
    };
    match added {
        Ok(name) => Ok(see(&format!("/servers/{name}"))),
        Err(e) => list(&app, ServersQuery::default(), Some(e), form).await,
    }
}

async fn list(
    app: &App,
    query: ServersQuery,
    failure: Option<AppError>,
    typed: AddForm,
) -> Result<Response, Error> {
    let outcome = query.outcome()?;
    let mut teams = HashMap::new();
    for team in app.teams().await? {
        teams.extend(team.servers.into_iter().map(|server| (server, team.name.clone())));
    }
    let standing = standing(app).await?;
    let (mut servers, mut after, mut looked_at) = (Vec::new(), query.after.clone(), 0);
    let next = loop {
        let room = if query.is_asked() { SERVERS * 2 } else { SERVERS };
        let found = app.servers_page(outcome, &Slice { after: after.clone(), limit: room }).await?;
        looked_at += found.items.len();
        let mut full = None;
        for server in found.items {
            if servers.len() == SERVERS {
                full = after.clone();
                break;
            }
            after = Some(server.name.clone());
            let team = teams.get(&server.name).cloned();
            if query.takes(&server.name, team.as_ref()) {
                let standing = standing.get(&server.name).cloned().unwrap_or_default();
                servers.push(Row { server, team, standing });
            }
        }
        match (full, found.next) {
            (Some(last), _) => break Some(last),
            (None, None) => break None,
            (None, Some(last)) if servers.len() == SERVERS || looked_at >= LOOKED_AT => break Some(last),
            (None, Some(last)) => after = Some(last),
        }
    };
    let status = failure.as_ref().map_or(StatusCode::OK, |e| error::kind(e.kind).0);
    let shown = Servers {
        frame: Frame::new(app, "/servers"),
        servers,
        next: next.map(|last| query.behind(&last)),
        query,
        may_add: configures(app, None),
        notice: failure.map(error::told),
        typed,
    };
    Ok(page(status, &shown))
}

/// Where what each server listed is live.
async fn standing(app: &App) -> Result<HashMap<ServerName, Standing>, AppError> {
    let mut all: HashMap<ServerName, Standing> = HashMap::new();
    for live in app.lives().await? {
        for server in &live.servers {
            let of = all.entry(server.clone()).or_default();
            of.drifts |= matches!(&live.drift, LiveDrift::Servers(drifted) if drifted.contains(server));
            of.live.push(live.clone());
        }
    }
    Ok(all)
}

#[derive(Template)]
#[template(path = "server.html")]
struct Server {
    frame: Frame,
    name: ServerName,
    source: Option<String>,
    asked: Option<chrono::DateTime<chrono::Utc>>,
    team: Option<TeamName>,
    standing: Standing,
    split_views: Vec<view::SplitView>,
    tools: Vec<view::ToolRow>,
    all_tools: usize,
    /// The number of the first tool that stands here, from 0.
    first_tool: usize,
    /// Newest first, and one more than stands here, to tell what changed.
    listings: Vec<ListingRow>,
    older: Option<i64>,
    query: ServerQuery,
    /// The newest listing was not good, so the tools shown are older.
    last_failed: bool,
    may_ask: bool,
    notice: Option<(String, String)>,
}

impl Server {
    /// The listings that stand here.
    fn shown(&self) -> &[ListingRow] {
        &self.listings[..self.listings.len().min(LISTINGS)]
    }

    /// The digest of the good listing before this one under the same context, where the content is another.
    fn changed_from(&self, position: usize) -> Option<&Digest> {
        let listing = self.listings.get(position)?;
        let context = &listing.provenance.auth_context;
        let earlier = self.listings.iter().skip(position + 1);
        let before =
            earlier.filter(|l| l.provenance.auth_context == *context).find_map(|l| l.digest.as_ref())?;
        (before != listing.digest.as_ref()?).then_some(before)
    }

    /// The newest listing that says how it is spoken to: a good one, where there is one.
    fn newest(&self) -> Option<&ListingRow> {
        let primary = || self.listings.iter().filter(|row| row.primary);
        primary().find(|row| row.outcome == Outcome::Ok).or_else(|| primary().next())
    }

    fn transport(row: &ListingRow) -> &'static str {
        transport(row)
    }

    /// The tools behind these, by the number of the first.
    fn more_tools(&self) -> Option<usize> {
        let next = self.first_tool + self.tools.len();
        (next < self.all_tools).then_some(next)
    }
}

#[derive(Default, Deserialize)]
pub(super) struct ServerQuery {
    /// The number of the first tool that is shown, from 0.
    #[serde(default)]
    tools: usize,
    /// The listing that the page before ended with.
    before: Option<i64>,
}

/// One server.
pub(super) async fn show_server(
    Acting { app, .. }: Acting,
    Path(server): Path<ServerName>,
    Query(query): Query<ServerQuery>,
) -> Result<Response, Error> {
    one(&app, &server, query, None).await
}

/// Asks a registered server now, and shows what came of it.
pub(super) async fn snapshot_server(
    Acting { app, actor }: Acting,
    Path(server): Path<ServerName>,
) -> Result<Response, Error> {
    match app.snapshot_registered(&server, &actor).await {
        Ok(_) => Ok(see(&format!("/servers/{server}#listings"))),
        Err(e) => one(&app, &server, ServerQuery::default(), Some(e)).await,
    }
}

async fn one(
    app: &App,
    name: &ServerName,
    query: ServerQuery,
    failure: Option<AppError>,
) -> Result<Response, Error> {
    let mut found = app.server(name).await?;
    let last_failed = found.listings.first().is_some_and(|l| l.outcome != Outcome::Ok);
    let all_tools = found.tools.len();
    let first_tool = query.tools.min(all_tools);
    let tools: Vec<_> = found.tools.drain(first_tool..).take(TOOLS).collect();
    let slice = Slice { after: query.before.map(Reverse), limit: LISTINGS + 1 };
    let listings = app.listings_page(name, None, &slice).await?.items;
    let older = listings.get(LISTINGS).and_then(|_| listings.get(LISTINGS - 1)).map(|row| row.id);
    let status = failure.as_ref().map_or(StatusCode::OK, |e| error::kind(e.kind).0);
    let may_ask = found.source.is_some() && drafts(app);
    let shown = Server {
        frame: Frame::new(app, "/servers"),
        name: name.clone(),
        source: found.source,
        asked: found.asked,
        team: app.owner_of_server(name).await?.map(|team| team.name),
        standing: standing(app).await?.remove(name).unwrap_or_default(),
        split_views: found.split_views,
        tools,
        all_tools,
        first_tool,
        listings,
        older,
        query,
        last_failed,
        may_ask,
        notice: failure.map(error::told),
    };
    Ok(page(status, &shown))
}
