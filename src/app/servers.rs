//! Registered servers: imported, listed, removed, and asked again, one or all of them.

mod import;
mod start;

use serde::Serialize;
use serde_json::json;
use tokio::task::JoinSet;

pub use import::{Change, Import, Imported, read, read_registry};
pub(super) use start::Variables;

use super::{
    App, AppError, Kind,
    view::{Drift, Recorded},
};
use crate::{
    catalog::{Draft, ServerSource, ServerSpec},
    json::Digest,
    mcp::Source,
    name::{CatalogName, ServerName},
    snapshot::Outcome,
};

/// How one server of a sweep fared.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Swept {
    /// The server.
    pub server: ServerName,
    /// How its listing ended; nothing where it could not even be asked, which is recorded nowhere.
    pub outcome: Option<Outcome>,
    /// Why it did not end well; empty for `ok`.
    pub message: String,
    /// How many tools; only for `ok`.
    pub tools: Option<usize>,
    /// The snapshot's digest; only for `ok`.
    pub digest: Option<Digest>,
    /// Against the snapshot before.
    pub drift: Drift,
    /// How long it took.
    pub elapsed_ms: u64,
}

/// What a sweep led to.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sweep {
    /// Every server, by name.
    pub servers: Vec<Swept>,
    /// Drafts that formed because of it.
    pub drafts: Vec<Draft>,
    /// Catalogs of which no draft could be formed, and why.
    pub skipped: Vec<(CatalogName, String)>,
}

impl Sweep {
    /// Whether every server could be asked and answered well.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.servers.iter().all(|swept| swept.outcome == Some(Outcome::Ok))
    }
}

impl App {
    /// The registered servers, by name.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn registered(&self) -> Result<Vec<ServerSpec>, AppError> {
        Ok(self.store.registrations().await?.into_iter().map(|r| r.spec).collect())
    }

    /// A registered server's spec.
    ///
    /// # Errors
    /// Where nobody registered it.
    pub async fn registered_server(&self, name: &ServerName) -> Result<ServerSpec, AppError> {
        if let Some(registration) = self.store.registration(name).await? {
            return Ok(registration.spec);
        }
        if !self.store.listings(name, 1).await?.is_empty() {
            let message =
                format!("server `{name}` was listed here and is not registered, so it cannot be found");
            return Err(AppError::new(Kind::NotFound, "not-registered", message).help(format!(
                "say where it is (`toolpact snapshot {name} -- COMMAND`), or register it with `toolpact import`"
            )));
        }
        let known: Vec<String> = self.registered().await?.into_iter().map(|spec| spec.name.into()).collect();
        Err(AppError::unknown("server", "unknown-server", name.as_str(), &known))
    }

    /// Forgets where a server is found. What it listed stays.
    ///
    /// # Errors
    /// Where nobody registered it.
    pub async fn remove_server(&self, name: &ServerName, actor: &str) -> Result<(), AppError> {
        let spec = self.registered_server(name).await?;
        let data = json!({ "source": shown(&spec.source) });
        let event = self.event(actor, "server.removed", format!("server/{name}"), data);
        if self.store.unregister(name, event).await? {
            Ok(())
        } else {
            self.registered_server(name).await.map(|_| ())
        }
    }

    /// Lists a registered server and records how it ended.
    ///
    /// # Errors
    /// Where nobody registered it, a variable it refers to is not set, or the store fails.
    pub async fn snapshot_registered(&self, name: &ServerName, actor: &str) -> Result<Recorded, AppError> {
        let spec = self.registered_server(name).await?;
        let start = start::resolved(&spec, &*self.variables)?;
        let listing = start.list(&spec, &self.limits).await;
        self.record(name, listing, actor).await
    }

    /// Lists these servers, at most `jobs` at once, and records each as it ends; `each` is told of every one. Drafts form
    /// once, at the end: one a catalog, however many of its servers drifted.
    ///
    /// # Errors
    /// Where the store fails. A server that cannot be asked is an answer.
    pub async fn sweep(
        &self,
        servers: Vec<ServerSpec>,
        jobs: usize,
        actor: &str,
        mut each: impl FnMut(&Swept),
    ) -> Result<Sweep, AppError> {
        let mut sweep = Sweep { servers: Vec::new(), drafts: Vec::new(), skipped: Vec::new() };
        let mut waiting = servers.into_iter();
        // Dropped with this future, and every server that is being asked ends with it.
        let mut asked = JoinSet::new();
        loop {
            while asked.len() < jobs.max(1)
                && let Some(spec) = waiting.next()
            {
                match start::resolved(&spec, &*self.variables) {
                    Ok(start) => {
                        let limits = self.limits.clone();
                        _ = asked.spawn(async move { (start.list(&spec, &limits).await, spec.name) });
                    }
                    Err(error) => {
                        let swept = not_asked(spec.name, error.message);
                        each(&swept);
                        sweep.servers.push(swept);
                    }
                }
            }
            let Some(ended) = asked.join_next().await else { break };
            let (listing, server) = ended.map_err(|e| {
                AppError::new(
                    Kind::Internal,
                    "listing-lost",
                    format!("a listing ended without an answer: {e}"),
                )
            })?;
            let elapsed_ms = listing.evidence.elapsed_ms;
            // One after the other: the database has one writer, and no more than `jobs` lists are held at once.
            let Recorded { listing: row, drift, .. } = self.keep(&server, listing, actor).await?;
            let swept = Swept {
                server,
                outcome: Some(row.outcome),
                message: row.evidence.message,
                tools: row.tools,
                digest: row.digest,
                drift,
                elapsed_ms,
            };
            each(&swept);
            sweep.servers.push(swept);
        }
        sweep.servers.sort_by(|a, b| a.server.cmp(&b.server));
        let good = sweep.servers.iter().filter(|s| s.outcome == Some(Outcome::Ok)).map(|s| &s.server);
        let good: Vec<&ServerName> = good.collect();
        (sweep.drafts, sweep.skipped) = self.drafts_of(&good, actor).await?;
        Ok(sweep)
    }
}

fn not_asked(server: ServerName, message: String) -> Swept {
    Swept { server, outcome: None, message, tools: None, digest: None, drift: Drift::Unknown, elapsed_ms: 0 }
}

/// A source as it may be shown and kept: symbolic, and without what its names call secret.
pub(super) fn shown(source: &ServerSource) -> String {
    match source {
        ServerSource::Stdio { program, args, .. } => {
            let args = args.iter().map(|arg| arg.as_str().to_owned()).collect();
            Source::command(program.as_str().to_owned(), args).target()
        }
        ServerSource::Http { url, .. } => {
            let shown = Source::Http { url: url.as_str().to_owned(), headers: Vec::new() }.target();
            // References in it are not to be read as what a URL has to encode.
            shown.replace("%7B", "{").replace("%7D", "}")
        }
    }
}
