//! The use cases: one function each, called by the three faces. The only place where core meets shell.
//!
//! Each file below holds the use cases of one noun as methods of [`App`]. A use case reads, lets the core decide, and
//! writes once: the write and the event that describes it are one transaction of the store.

pub mod access;
mod announced;
pub mod answers;
pub mod audit;
pub mod catalogs;
pub mod check;
pub mod checks;
pub mod counts;
pub mod demo;
mod drafts;
mod earlier;
mod environments;
pub mod error;
pub mod feed;
pub mod history;
mod ingest;
mod kept;
pub mod lists;
pub mod live;
pub mod messenger;
mod moves;
pub mod overview;
pub mod poll;
mod probe;
pub mod retention;
pub mod review;
pub mod search;
pub mod self_test;
pub mod servers;
mod sides;
pub mod signing;
pub mod simulate;
pub mod standing;
mod surfaces;
pub mod syslog;
pub mod tree;
pub mod upkeep;
pub mod view;
pub mod webhooks;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use chrono::{DateTime, SecondsFormat, SubsecRound as _, Utc};
use serde_json::Value;

pub use error::{AppError, Kind};

pub use crate::{
    reach::{IpNet, Reach, innermost},
    store::Place,
};

use crate::{
    catalog::{CatalogVersion, event::NewEvent, sign::SigningKey},
    mcp::{Limits, Tokens},
    name::{CatalogName, EnvironmentName},
    store::{Basis, Claim, Store, StoreError, sqlite::SqliteStore},
};

/// What a write was judged on is read and judged again where somebody wrote meanwhile; more often than this only where many
/// write at once.
const TRIES: usize = 5;

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
    /// What the caller insists on, whatever the gates say.
    pub overrides: Overrides,
}

/// What is asked of the release of a hold.
#[derive(Debug, Clone)]
pub struct ReleaseRequest {
    /// The environment.
    pub environment: EnvironmentName,
    /// The catalog; may be left out where there is only one.
    pub catalog: Option<CatalogName>,
    /// What is held; may be left out where only one version is.
    pub version: Option<CatalogVersion>,
    /// The generation the caller saw. The release is refused as stale where it is another.
    pub generation: i64,
    /// Why; not empty.
    pub reason: String,
    /// Who.
    pub actor: String,
    /// Makes a retry safe: the same key and request are answered as the first time.
    pub idempotency_key: Option<String>,
}

/// Gates that a caller may override; each is kept with the move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overrides {
    /// A promotion goes on where the servers do not serve what is pinned, and what they serve is recorded.
    pub record_probe: bool,
    /// A rollback goes on whatever the environment's policy and freezes say.
    pub emergency: bool,
}

/// The use cases over one store.
#[derive(Clone)]
pub struct App {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// What the references of registered servers are resolved with.
    variables: Arc<servers::Variables>,
    /// What asking a server may cost and touch.
    limits: Limits,
    /// The tokens that authorization servers gave.
    tokens: Tokens,
    /// What is live, as hosts are answered.
    cache: Arc<live::cache::Cache>,
    /// Reports that no draft stores.
    reports: Arc<kept::Reports>,
    /// Callers that were looked up a moment ago.
    known: Arc<access::Known>,
    /// What was printed for whoever started the service.
    links: Arc<access::sessions::Links>,
    /// Whom people sign in through, where there is somebody.
    oidc: Option<Arc<crate::oidc::Provider>>,
    /// Who acts, where that is not whoever can open the database.
    by: Option<Arc<access::By>>,
    /// What the log calls a request of somebody who is not known yet.
    asked: Option<Arc<str>>,
    /// Who follows the log.
    feed: Arc<feed::Feed>,
    /// What versions and moves are signed with, where anything is.
    signing: Option<SigningKey>,
    /// Whether the process is about to end.
    draining: Arc<AtomicBool>,
}

impl App {
    /// The use cases over this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let variables = Arc::new(|name: &str| std::env::var(name).ok());
        let (limits, tokens, cache) = (Limits::default(), Tokens::default(), Arc::default());
        let (known, links, oidc) = (Arc::default(), Arc::default(), None);
        let (by, asked) = (None, None);
        let reports = Arc::default();
        let (feed, signing, draining) = (Arc::default(), None, Arc::default());
        Self {
            store,
            clock,
            variables,
            limits,
            tokens,
            cache,
            reports,
            known,
            links,
            oidc,
            by,
            asked,
            feed,
            signing,
            draining,
        }
    }

    /// The same for whoever holds a claim: nothing is written any more once somebody else has it.
    #[must_use]
    pub fn under(&self, claim: &Claim) -> Self {
        Self { store: self.store.under(claim), ..self.clone() }
    }

    /// The same, reaching no further than this when it asks servers.
    #[must_use]
    pub fn reaching(mut self, reach: Reach) -> Self {
        self.limits.reach = reach;
        self
    }

    /// The same with other variables than those of this process.
    #[must_use]
    pub fn with_variables(self, variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self { variables: Arc::new(variables), ..self }
    }

    /// Opens a database. A file is made with its folder where it does not exist, and brought up to date.
    ///
    /// # Errors
    /// Where it cannot be opened; on a server also where it is not up to date.
    pub async fn open(place: &Place, clock: Arc<dyn Clock>) -> Result<Self, AppError> {
        make_folder(place)?;
        Ok(Self::new(place.open().await.map_err(|e| not_opened(place, e))?, clock))
    }

    /// Brings the tables of a database up to date; answers how many migrations ran.
    ///
    /// # Errors
    /// Where it cannot be opened.
    pub async fn migrate(place: &Place) -> Result<usize, AppError> {
        make_folder(place)?;
        place.migrate().await.map_err(|e| not_opened(place, e))
    }

    /// Over a database that is forgotten with this value.
    ///
    /// # Errors
    /// Where SQLite itself fails.
    pub async fn in_memory(clock: Arc<dyn Clock>) -> Result<Self, AppError> {
        Ok(Self::new(Arc::new(SqliteStore::in_memory().await?), clock))
    }

    /// Says that the process is about to end, so that nobody sends new work to it.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether the process is about to end.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Now, by this app's clock, as exactly as the store keeps it.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now().trunc_subsecs(6)
    }

    /// What a write about to be decided rests on; read before anything else is.
    async fn basis(&self, subjects: impl IntoIterator<Item = String>) -> Result<Basis, AppError> {
        Ok(Basis { seq: self.store.last_event().await?, subjects: subjects.into_iter().collect() })
    }

    /// An event that happens now.
    fn event(&self, actor: &str, kind: &'static str, subject: String, data: Value) -> NewEvent {
        let origin = self.by.as_deref().map(access::By::origin);
        NewEvent { at: self.now(), actor: actor.to_owned(), kind, subject, data, origin, seal: None }
    }
}

/// Makes the folder that a file is to stand in.
fn make_folder(place: &Place) -> Result<(), AppError> {
    let Place::File(path) = place else { return Ok(()) };
    let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(|e| not_opened(place, StoreError::Database(e.into())))
}

/// Why a database could not be opened, and what to do.
fn not_opened(place: &Place, error: StoreError) -> AppError {
    let code = match error {
        StoreError::Outdated(_) => "database-outdated",
        _ => "database-unavailable",
    };
    let help = match (place, &error) {
        (_, StoreError::Outdated(_)) => "run `toolpact migrate`",
        (Place::File(_), _) => {
            "name a file that toolpact made, or a new one in a folder that can be written to"
        }
        (Place::Server(_), _) => {
            "see that the server runs and lets this user in, and that the database is there and toolpact's own"
        }
    };
    AppError::new(
        Kind::Unavailable,
        code,
        format!("database `{place}` could not be opened: {}", innermost(&error)),
    )
    .help(help)
    .caused_by(error)
}

/// A reason given by a person; never empty.
fn reason(said: &str) -> Result<String, AppError> {
    if said.trim().is_empty() {
        let help = "say why, for whoever reads the history";
        return Err(AppError::new(Kind::Invalid, "empty-reason", "the reason is empty").help(help));
    }
    text(("reason", "invalid-reason"), said, Text::Prose)
}

/// Who answers for a waiver.
fn owner(said: &str) -> Result<String, AppError> {
    text(("owner", "invalid-owner"), said, Text::Name)
}

/// The name of whoever acts.
///
/// # Errors
/// Where it is empty, has more than 100 characters, or one that does not show.
pub fn actor(said: &str) -> Result<String, AppError> {
    text(("actor's name", "invalid-actor"), said, Text::Name)
}

/// What a person writes: how much, and in which characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Text {
    /// Sentences, of at most 4,000 bytes.
    Prose,
    /// 1 to 100 characters of one line.
    Name,
}

/// A text given by a person, without the space around it and never with U+0000, which PostgreSQL has in no text.
fn text((what, code): (&str, &'static str), said: &str, kind: Text) -> Result<String, AppError> {
    const PROSE_BYTES: usize = 4_000;
    const NAME_CHARACTERS: usize = 100;
    let said = said.trim();
    let (bytes, characters) = (said.len(), said.chars().count());
    let refused = |cause: String, help: &str| {
        Err(AppError::new(Kind::Invalid, code, format!("the {what} {cause}")).help(help))
    };
    if said.contains('\0') {
        return refused("holds U+0000, which not every database can keep".to_owned(), "write it without");
    }
    match kind {
        Text::Prose if bytes > PROSE_BYTES => {
            let cause = format!("has {bytes} bytes; at most {PROSE_BYTES} are kept");
            refused(cause, "say it in fewer words, or say where more is written")
        }
        Text::Name if !(1..=NAME_CHARACTERS).contains(&characters) => {
            let cause = format!("has {characters} characters, not 1 to {NAME_CHARACTERS}");
            refused(cause, "give a name that readers of the history know")
        }
        Text::Name if said.chars().any(char::is_control) => {
            refused("holds a control character".to_owned(), "write it without")
        }
        Text::Prose | Text::Name => Ok(said.to_owned()),
    }
}

/// A time as messages show it.
fn shown(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}
