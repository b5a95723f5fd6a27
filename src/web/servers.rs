//! `/servers` and `/servers/{server}`: what each server listed, how each listing ended, where it is live, and asking it now.
//!
//! A server that is found by a URL is added here. A command is never taken from a browser: what this machine runs is for those
//! who can log in to it to say.

use std::{cmp::Reverse, collections::HashMap};

use askama::Template;
use axum::{
    http::{HeaderMap, StatusCode},
    response::Response,
};
use serde::Deserialize;

use super::{
    error::{self, Error},
    filters,
    page::{Form, Frame, Path, Query, configures, drafts, page, see},
    progress,
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
    const TRANSPORTS: [Transport; 4] = [Transport::Http, Transport::Sse, Transport::Stdio, Transport::File];
}

/// How a server is spoken to, in words.
fn transport(transport: Transport) -> &'static str {
    match transport {
        Transport::Stdio => "stdio",
        Transport::Http => "Streamable HTTP",
        Transport::Sse => "HTTP+SSE",
        Transport::File => "saved answer",
    }
}

impl Row {
    fn transport(&self) -> Option<&'static str> {
        spoken(&self.server).map(transport)
    }

    /// About how many tokens its list costs a model.
    fn tokens(&self) -> Option<usize> {
        tokens(&self.server)
    }

    /// The revision that was spoken last.
    fn revision(&self) -> Option<&str> {
        self.server.last_ok.as_ref()?.provenance.protocol_version.as_deref()
    }
}

/// The word for it in an address.
fn word(transport: Transport) -> &'static str {
    match transport {
        Transport::Stdio => "stdio",
        Transport::Http => "http",
        Transport::Sse => "sse",
        Transport::File => "file",
    }
}

/// How a server was spoken to last.
fn spoken(server: &view::ServerSummary) -> Option<Transport> {
    server.last_ok.as_ref().or(server.last.as_ref()).map(|row| row.provenance.transport)
}

/// About how many tokens the list of a server costs a model.
fn tokens(server: &view::ServerSummary) -> Option<usize> {
    server.last_ok.as_ref().map(|row| row.evidence.estimated_tokens())
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
    /// How it was spoken to last.
    #[serde(default)]
    transport: String,
    /// How many tokens its list costs at least.
    #[serde(default)]
    tokens: String,
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

    /// The filters, as the address names them.
    fn filters(&self) -> [(&'static str, &str); 5] {
        [
            ("name", self.name.trim()),
            ("team", self.team.trim()),
            ("transport", &self.transport),
            ("tokens", self.tokens.trim()),
            ("outcome", &self.outcome),
        ]
    }

    fn is_asked(&self) -> bool {
        self.filters().iter().any(|(_, text)| !text.is_empty())
    }

    /// The filter for what the store does not look through.
    fn wanted(&self) -> Result<Wanted<'_>, AppError> {
        let invalid = |message: String| AppError::new(Kind::Invalid, "invalid-request", message);
        let transport = match self.transport.as_str() {
            "" => None,
            text => {
                let found = Servers::TRANSPORTS.into_iter().find(|transport| word(*transport) == text);
                Some(found.ok_or_else(|| invalid(format!("`{text}` is no way to speak to a server")))?)
            }
        };
        let tokens = match self.tokens.trim() {
            "" => None,
            text => Some(text.parse().map_err(|_| invalid(format!("`{text}` is no number of tokens")))?),
        };
        Ok(Wanted { name: self.name.trim().to_ascii_lowercase(), team: self.team.trim(), transport, tokens })
    }

    fn behind(&self, after: &ServerName) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (part, text) in self.filters() {
            if !text.is_empty() {
                query.append_pair(part, text);
            }
        }
        format!("/servers?{}", query.append_pair("after", after.as_str()).finish())
    }
}

/// What is asked of a server beside how its newest listing ended.
struct Wanted<'q> {
    /// In small letters.
    name: String,
    team: &'q str,
    transport: Option<Transport>,
    tokens: Option<usize>,
}

impl Wanted<'_> {
    fn takes(&self, server: &view::ServerSummary, team: Option<&TeamName>) -> bool {
        (self.team.is_empty() || team.is_some_and(|team| team.as_str() == self.team))
            && server.name.as_str().to_ascii_lowercase().contains(&self.name)
            && self.transport.is_none_or(|transport| spoken(server) == Some(transport))
            && self.tokens.is_none_or(|least| tokens(server).is_some_and(|tokens| tokens >= least))
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
    let (outcome, wanted) = (query.outcome()?, query.wanted()?);
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
            if wanted.takes(&server, team.as_ref()) {
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
        transport(row.provenance.transport)
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

/// Asks a registered server now, and shows what came of it; step by step to whoever reads events.
pub(super) async fn snapshot_server(
    Acting { app, actor }: Acting,
    Path(server): Path<ServerName>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    if progress::is_wanted(&headers) {
        return Ok(progress::followed(&app, server, actor));
    }
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
