//! Registered servers: imported, listed, removed, and asked again, one or all of them.

mod add;
mod import;
mod pasted;
mod reference;
mod start;

use serde::Serialize;
use serde_json::json;
use tokio::{sync::mpsc::Sender, task::JoinSet};

pub use crate::mcp::{Progress, Step};
pub use import::{Change, Import, Imported, read, read_registry};
pub use pasted::{ByHand, Pasted};
pub(super) use reference::said;
pub(super) use start::Variables;

use super::{
    App, AppError, Kind,
    access::Right,
    view::{Drift, Recorded, SplitView},
};
use crate::{
    catalog::{
        Draft, ServerSource, ServerSpec,
        server::{AuthContext, HttpTransport},
    },
    config,
    json::Digest,
    mcp::{self, Ended, Source},
    name::{CatalogName, ServerName},
    snapshot::{Listing, Outcome},
};

/// Lists the tools of a server that a file describes, without a database: its references are resolved from the environment
/// of this process.
///
/// # Errors
/// Where a reference says nothing.
pub(super) async fn list_once(spec: &ServerSpec) -> Result<Listing, AppError> {
    let (variables, tokens) = (|name: &str| std::env::var(name).ok(), mcp::Tokens::default());
    let start = start::resolved(spec, &variables, &tokens).await.swap_remove(0);
    Ok(start.map_err(|unasked| unasked.error)?.list_tools(spec, &mcp::Limits::default()).await)
}

/// The most contexts that one server is asked under: each is a listing.
const MAX_CONTEXTS: usize = 16;
/// The longest name of one, in bytes.
const MAX_CONTEXT_NAME: usize = 64;

/// How one server of a sweep fared.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Swept {
    /// The server.
    pub server: ServerName,
    /// How its listing ended.
    pub outcome: Outcome,
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
    /// Tools that it describes otherwise under another authorization context.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub split_views: Vec<SplitView>,
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
        self.servers.iter().all(|swept| swept.outcome == Outcome::Ok)
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
        self.permit_whole(Right::Configure)?;
        let spec = self.registered_server(name).await?;
        let data = json!({ "source": shown(&spec.source) });
        let event = self.event(actor, "server.removed", format!("server/{name}"), data);
        if self.store.unregister(name, event).await? {
            Ok(())
        } else {
            self.registered_server(name).await.map(|_| ())
        }
    }

    /// Follows a registered server under the context that catalogs rely on: sends its listing, and another whenever it
    /// says that a list changed.
    ///
    /// # Errors
    /// Where nobody registered it, or a variable it refers to is not set.
    pub async fn follow(&self, name: &ServerName, listings: &Sender<Listing>) -> Result<Ended, AppError> {
        let spec = self.registered_server(name).await?;
        let start = start::resolved(&spec, &*self.variables, &self.tokens).await.swap_remove(0);
        let start = start.map_err(|unasked| unasked.error)?;
        Ok(start.follow(&spec, &self.limits_for(name).await?, listings).await)
    }

    /// Records what came by following a server, where it is news. Where it is asked under several contexts, it is asked
    /// under all of them: what one is told is held against what the others are told at the same time.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn record_news(
        &self,
        name: &ServerName,
        listing: Listing,
        actor: &str,
    ) -> Result<Recorded, AppError> {
        if let Some(registration) = self.store.registration(name).await?
            && let [first, _, ..] = registration.spec.contexts.as_slice()
            && first.name == listing.provenance.auth_context
        {
            // The room that it takes may be what is waited for.
            drop(listing);
            return self.ask_registered(name, true, actor).await;
        }
        self.record_all(name, vec![listing], true, actor).await
    }

    /// Follows a server that need not be registered; see [`Self::follow`].
    pub async fn follow_source(&self, source: &Source, listings: &Sender<Listing>) -> Ended {
        mcp::changes(source, &self.limits, listings).await
    }

    /// Asks a server, found at this source or where it is registered, and records what is news.
    ///
    /// # Errors
    /// As [`Self::snapshot`] and [`Self::snapshot_registered`].
    pub async fn ask(
        &self,
        name: &ServerName,
        source: Option<&Source>,
        actor: &str,
    ) -> Result<Recorded, AppError> {
        let Some(source) = source else { return self.ask_registered(name, true, actor).await };
        let limits = self.limits_for(name).await?.under("default");
        self.record_news(name, mcp::list(source, &limits).await, actor).await
    }

    /// Adds, replaces or removes an authorization context of a registered server; gives the names of all that it has.
    ///
    /// # Errors
    /// Where nobody registered the server, the context has no use there, or it holds a secret in clear.
    pub async fn set_context(
        &self,
        name: &ServerName,
        context: AuthContext,
        remove: bool,
        actor: &str,
    ) -> Result<Vec<String>, AppError> {
        let mut spec = self.registered_server(name).await?;
        let invalid = |message: String| AppError::new(Kind::Invalid, "invalid-context", message);
        if context.name.trim().is_empty() || context.name.len() > MAX_CONTEXT_NAME {
            return Err(invalid(format!("a context's name has 1 to {MAX_CONTEXT_NAME} bytes")));
        }
        let fits = match &spec.source {
            ServerSource::Stdio { .. } => context.headers.is_empty() && context.oauth.is_none(),
            ServerSource::Http { .. } => context.env.is_empty(),
        };
        if !fits {
            return Err(invalid(format!("headers are for a URL and variables for a command; see `{name}`")));
        }
        let known = spec.contexts.iter().position(|c| c.name == context.name);
        match (known, remove) {
            (None, true) => {
                return Err(invalid(format!("server `{name}` has no context `{}`", context.name)));
            }
            (Some(at), true) => _ = spec.contexts.remove(at),
            (Some(at), false) => spec.contexts[at] = context,
            (None, false) if spec.contexts.len() == MAX_CONTEXTS => {
                return Err(invalid(format!(
                    "server `{name}` has {MAX_CONTEXTS} contexts, the most there may be"
                )));
            }
            (None, false) => spec.contexts.push(context),
        }
        if let Some(note) = config::clear(&mut spec).into_iter().next() {
            return Err(invalid(note).help("write a reference such as `${TOKEN}`, and set that variable"));
        }
        let names = spec.contexts.iter().map(|c| c.name.clone()).collect();
        self.register(vec![spec], actor).await?;
        Ok(names)
    }

    /// Lists a registered server and records how it ended.
    ///
    /// # Errors
    /// Where nobody registered it, or the store fails. One that cannot be asked, because a variable it refers to is not set,
    /// is an answer, with its outcome.
    pub async fn snapshot_registered(&self, name: &ServerName, actor: &str) -> Result<Recorded, AppError> {
        self.ask_registered(name, false, actor).await
    }

    /// The same, with somebody who looks on.
    ///
    /// # Errors
    /// As [`Self::snapshot_registered`].
    pub async fn snapshot_watched(
        &self,
        name: &ServerName,
        actor: &str,
        progress: Progress,
    ) -> Result<Recorded, AppError> {
        self.ask_watched(name, false, actor, progress).await
    }

    /// The same; `only_news` records nothing that the listing before said as well.
    pub(super) async fn ask_registered(
        &self,
        name: &ServerName,
        only_news: bool,
        actor: &str,
    ) -> Result<Recorded, AppError> {
        self.ask_watched(name, only_news, actor, Progress::default()).await
    }

    async fn ask_watched(
        &self,
        name: &ServerName,
        only_news: bool,
        actor: &str,
        progress: Progress,
    ) -> Result<Recorded, AppError> {
        let spec = self.registered_server(name).await?;
        let starts = start::resolved(&spec, &*self.variables, &self.tokens).await;
        let known = self.limits_for(name).await?.watched(progress.clone());
        let listings = start::list(starts, &spec, &known).await;
        progress.at(Step::Comparing);
        self.record_all(name, listings, only_news, actor).await
    }

    /// Lists a registered server under the context that catalogs rely on; nothing is recorded.
    pub(super) async fn list_registered(&self, name: &ServerName) -> Result<Listing, AppError> {
        let spec = self.registered_server(name).await?;
        let mut starts = start::resolved(&spec, &*self.variables, &self.tokens).await;
        starts.truncate(1);
        let listed = start::list(starts, &spec, &self.limits_for(name).await?).await;
        listed.into_iter().next().ok_or_else(|| {
            AppError::new(Kind::Internal, "no-listing", format!("`{name}` was asked in no way"))
        })
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
                let app = self.clone();
                asked.spawn(async move {
                    let listings = async {
                        let known = app.limits_for(&spec.name).await?;
                        let starts = start::resolved(&spec, &*app.variables, &app.tokens).await;
                        Ok::<_, AppError>(start::list(starts, &spec, &known).await)
                    };
                    (listings.await, spec.name)
                });
            }
            let Some(ended) = asked.join_next().await else { break };
            let (listings, server) = ended.map_err(|e| {
                AppError::new(
                    Kind::Internal,
                    "listing-lost",
                    format!("a listing ended without an answer: {e}"),
                )
            })?;
            // One after the other: the database has one writer, and no more than `jobs` lists are held at once.
            let recorded = self.keep_all(&server, listings?, false, actor).await?;
            let swept = Swept::of(server, recorded);
            each(&swept);
            sweep.servers.push(swept);
        }
        sweep.servers.sort_by(|a, b| a.server.cmp(&b.server));
        let good = sweep.servers.iter().filter(|s| s.outcome == Outcome::Ok).map(|s| &s.server);
        let good: Vec<&ServerName> = good.collect();
        (sweep.drafts, sweep.skipped) = self.drafts_of(&good, actor).await?;
        Ok(sweep)
    }
}

impl Swept {
    /// The worst of its contexts, for one that cannot be asked is one that is not known.
    fn of(server: ServerName, recorded: Recorded) -> Self {
        let Recorded { listing, drift, contexts, split_views, .. } = recorded;
        let elapsed_ms = contexts.iter().map(|(row, _)| row.evidence.elapsed_ms).sum::<u64>()
            + listing.evidence.elapsed_ms;
        let (tools, digest) = (listing.tools, listing.digest.clone());
        let worst = std::iter::once(listing)
            .chain(contexts.into_iter().map(|(row, _)| row))
            .find(|row| row.outcome != Outcome::Ok);
        let (outcome, message) = match worst {
            None => (Outcome::Ok, String::new()),
            Some(row) if row.primary => (row.outcome, row.evidence.message),
            Some(row) => {
                (row.outcome, format!("under {}: {}", row.provenance.auth_context, row.evidence.message))
            }
        };
        Self { server, outcome, message, tools, digest, drift, elapsed_ms, split_views }
    }
}

/// A source as it may be shown and kept: symbolic, and without what its names call secret.
pub(super) fn shown(source: &ServerSource) -> String {
    match source {
        ServerSource::Stdio { program, args, .. } => {
            let args = args.iter().map(|arg| arg.as_str().to_owned()).collect();
            Source::command(program.as_str().to_owned(), args).target()
        }
        ServerSource::Http { url, .. } => {
            let shown = Source::Http {
                url: url.as_str().to_owned(),
                headers: Vec::new(),
                oauth: None,
                transport: HttpTransport::Auto,
            }
            .target();
            // References in it are not to be read as what a URL has to encode.
            shown.replace("%7B", "{").replace("%7D", "}")
        }
    }
}
