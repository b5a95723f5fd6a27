//! The use cases: one function each, called by the three faces. The only place where core meets shell.

pub mod check;
pub mod error;
pub mod view;

use std::sync::Arc;

use chrono::{DateTime, Utc};

pub use error::{AppError, Kind};

use crate::{
    catalog::{CatalogVersion, Draft, Event, Move, Version},
    diff::{Assumption, Report, Side},
    mcp::Source,
    name::{CatalogName, EnvironmentName, ServerName},
    snapshot::Listing,
};

/// The time, as an argument.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> DateTime<Utc>;
}

/// The machine's clock.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }
}

/// What is asked of a pointer move.
#[derive(Debug, Clone)]
pub struct MoveRequest {
    /// The environment.
    pub environment: EnvironmentName,
    /// The catalog; may be left out where there is only one.
    pub catalog: Option<CatalogName>,
    /// The target; always explicit.
    pub version: CatalogVersion,
    /// The generation the caller saw; 0 where nothing was live. The move is refused as stale where it is another.
    pub generation: i64,
    /// Why; not empty.
    pub reason: String,
    /// Who.
    pub actor: String,
    /// Makes a retry safe: the same key and request give the stored answer.
    pub idempotency_key: Option<String>,
}

/// The use cases over one store.
#[derive(Clone)]
pub struct App {
    clock: Arc<dyn Clock>,
}

impl App {
    /// Opens (and migrates) the SQLite file.
    pub async fn open(database: &std::path::Path, clock: Arc<dyn Clock>) -> Result<Self, AppError> {
        let _ = database;
        Ok(Self { clock })
    }

    // -- servers and snapshots --------------------------------------------------------------------------------------

    /// Lists the server and records how it ended. Where the content is new and a catalog holds the server, a draft
    /// forms.
    pub async fn snapshot(
        &self,
        server: &ServerName,
        source: &Source,
        actor: &str,
    ) -> Result<view::Recorded, AppError> {
        let _ = (server, source, actor);
        todo!()
    }
    /// Records a listing that was taken elsewhere (a saved answer).
    pub async fn record(
        &self,
        server: &ServerName,
        listing: Listing,
        actor: &str,
    ) -> Result<view::Recorded, AppError> {
        let _ = (server, listing, actor);
        todo!()
    }
    /// Every server, by name.
    pub async fn servers(&self) -> Result<Vec<view::ServerSummary>, AppError> {
        todo!()
    }
    /// One server with its listings, newest first.
    pub async fn server(&self, name: &ServerName) -> Result<view::ServerPage, AppError> {
        let _ = name;
        todo!()
    }

    // -- diffs ------------------------------------------------------------------------------------------------------

    /// Resolves what a person wrote for one side: `server@latest`, `server@sha256:…` (or the first 6 and more hex
    /// digits), `catalog@2026.11.30`, or an environment's name. Files are resolved by [`view::file_side`].
    pub async fn side(&self, text: &str) -> Result<Side, AppError> {
        let _ = text;
        todo!()
    }

    // -- catalogs ---------------------------------------------------------------------------------------------------

    /// Applies a catalog document: the catalog, its policy and servers; and, where it has tools and a
    /// `catalogVersion`, that version as approved. `name` is used where the document names no catalog.
    pub async fn apply(&self, name: &str, text: &str, actor: &str) -> Result<view::Applied, AppError> {
        let _ = (name, text, actor);
        todo!()
    }
    /// The document of a version (the newest where none is given), or of a catalog without versions.
    pub async fn export(
        &self,
        catalog: &CatalogName,
        version: Option<CatalogVersion>,
    ) -> Result<String, AppError> {
        let _ = (catalog, version);
        todo!()
    }
    /// Every catalog, by name.
    pub async fn catalogs(&self) -> Result<Vec<view::CatalogSummary>, AppError> {
        todo!()
    }
    /// One catalog with its versions and drafts, newest first.
    pub async fn catalog(&self, name: &CatalogName) -> Result<view::CatalogPage, AppError> {
        let _ = name;
        todo!()
    }
    /// One version.
    pub async fn version(&self, catalog: &CatalogName, version: CatalogVersion) -> Result<Version, AppError> {
        let _ = (catalog, version);
        todo!()
    }
    /// Makes a draft of a catalog from the latest snapshots of its servers. The catalog is created where it does not
    /// exist and `servers` names some.
    pub async fn draft(
        &self,
        catalog: &CatalogName,
        servers: &[ServerName],
        actor: &str,
    ) -> Result<Draft, AppError> {
        let _ = (catalog, servers, actor);
        todo!()
    }
    /// One draft, with the report as it was judged when the draft was made.
    pub async fn get_draft(&self, catalog: &CatalogName, id: i64) -> Result<Draft, AppError> {
        let _ = (catalog, id);
        todo!()
    }
    /// The draft's content against its base, judged again under this assumption (for reading; decides nothing).
    pub async fn draft_report(
        &self,
        catalog: &CatalogName,
        id: i64,
        assumption: Assumption,
    ) -> Result<Report, AppError> {
        let _ = (catalog, id, assumption);
        todo!()
    }
    /// Makes a pending draft an approved version. Where the catalog's policy blocks its report, `accept_breaking` has
    /// to be true, and a reason is always needed. Absolute findings cannot be accepted.
    pub async fn approve(
        &self,
        catalog: &CatalogName,
        id: i64,
        accept_breaking: bool,
        reason: &str,
        actor: &str,
    ) -> Result<Version, AppError> {
        let _ = (catalog, id, accept_breaking, reason, actor);
        todo!()
    }
    /// Refuses a pending draft, for good.
    pub async fn reject(
        &self,
        catalog: &CatalogName,
        id: i64,
        reason: &str,
        actor: &str,
    ) -> Result<Draft, AppError> {
        let _ = (catalog, id, reason, actor);
        todo!()
    }

    // -- environments -----------------------------------------------------------------------------------------------

    /// Every environment that a catalog was ever promoted to, by name and catalog.
    pub async fn environments(&self) -> Result<Vec<view::EnvironmentPage>, AppError> {
        todo!()
    }
    /// One environment: a page per catalog that was ever live there.
    pub async fn environment(&self, name: &EnvironmentName) -> Result<Vec<view::EnvironmentPage>, AppError> {
        let _ = name;
        todo!()
    }
    /// Moves a pointer to an approved version.
    pub async fn promote(&self, request: &MoveRequest) -> Result<Move, AppError> {
        let _ = request;
        todo!()
    }
    /// Moves a pointer back to a version that was live there before, and holds the version that was left.
    pub async fn rollback(&self, request: &MoveRequest) -> Result<Move, AppError> {
        let _ = request;
        todo!()
    }
    /// Lets a held version be promoted again.
    pub async fn release_hold(
        &self,
        environment: &EnvironmentName,
        catalog: Option<&CatalogName>,
        generation: i64,
        reason: &str,
        actor: &str,
    ) -> Result<(), AppError> {
        let _ = (environment, catalog, generation, reason, actor);
        todo!()
    }

    // -- audit ------------------------------------------------------------------------------------------------------

    /// The newest events first, at most `limit`.
    pub async fn events(&self, limit: usize) -> Result<Vec<Event>, AppError> {
        let _ = limit;
        todo!()
    }
    /// Recomputes the chain of events.
    pub async fn verify_events(&self) -> Result<view::ChainCheck, AppError> {
        todo!()
    }

    /// Now, by this app's clock.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }
}
