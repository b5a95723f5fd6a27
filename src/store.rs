//! What must outlive the process, in catalog terms. SQLite or PostgreSQL stands behind it.
//!
//! Between the pure core and the use cases. A store keeps, finds and compares-and-sets; it judges nothing. Every write
//! is one transaction and takes the event that describes it, so neither exists without the other.

mod access;
mod changes;
mod checks;
mod place;
pub mod postgres;
mod sql;
pub mod sqlite;
mod trail;
mod upkeep;
mod webhooks;

pub use access::{Access, Login, Owned, Session, Team, Token};
pub use changes::{Moved, PointerChange, PointerChanges};
pub use checks::{CheckQuery, CheckRow, Checks};
pub use place::{InvalidPlace, Place};
pub use trail::{Signed, Trail, Unreadable};
pub use upkeep::Condition;
pub use webhooks::{Attempted, Planned, Queue, Sending, Webhooks};

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{
    catalog::{
        Catalog, CatalogVersion, Content, Draft, DraftStatus, EnvironmentPointer, Event, Freeze, Move,
        ServerSpec, Version,
        event::NewEvent,
        review::{Approval, Comment, Decision},
    },
    contract::Contract,
    diff::{Report, Verdict},
    json::Digest,
    name::{CatalogName, EnvironmentName, ServerName},
    snapshot::{Evidence, Outcome, Provenance, RawItem, Snapshot, SurfaceKind, SurfaceListing},
};

/// Why a store could not do it. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The pointer stands elsewhere than the caller saw; where, if anywhere.
    #[error("the pointer has moved")]
    Moved(Option<Box<EnvironmentPointer>>),
    /// The idempotency key was used for another request.
    #[error("the idempotency key belongs to another request")]
    KeyReused,
    /// The draft was decided meanwhile, its catalog has a newer version than the draft's base, or a server of it a newer
    /// snapshot than the draft pins.
    #[error("the draft's state has changed")]
    DraftChanged,
    /// Something that the write was decided on has changed since it was read; see [`Basis`].
    #[error("what the decision rests on has changed")]
    Shifted,
    /// The version exists already, with other content.
    #[error("the version exists")]
    VersionExists,
    /// A stored value cannot be read back: someone else wrote to the database, or a newer toolpact did.
    #[error("the stored {what} cannot be read: {cause}")]
    Corrupt {
        /// Which value.
        what: &'static str,
        /// Why not.
        cause: String,
    },
    /// The server was claimed by somebody else meanwhile, or registered anew.
    #[error("server `{0}` is held by another process, or was registered anew")]
    ClaimLost(ServerName),
    /// So many migrations have not run. Only where they do not run by themselves.
    #[error("its tables are not up to date: {0} migrations have not run")]
    Outdated(usize),
    /// The database itself.
    #[error("the database did not answer")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The answer of a store.
pub type Result<T> = std::result::Result<T, StoreError>;

/// One recorded listing.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListingRow {
    /// Its number.
    pub id: i64,
    /// The server.
    pub server: ServerName,
    /// When it ended.
    pub at: DateTime<Utc>,
    /// How it ended.
    pub outcome: Outcome,
    /// The snapshot's digest; only for `ok`.
    pub digest: Option<Digest>,
    /// How many tools; only for `ok`.
    pub tools: Option<usize>,
    /// What the list depends on.
    pub provenance: Provenance,
    /// What was seen.
    pub evidence: Evidence,
    /// What else the server declared to have; only for `ok`.
    pub surfaces: Vec<SurfaceRow>,
    /// Whether catalogs rely on this context's lists.
    pub primary: bool,
}

/// One surface of a recorded listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SurfaceRow {
    /// Which.
    pub kind: SurfaceKind,
    /// How its listing ended.
    pub outcome: Outcome,
    /// What happened; absent for `ok`.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub message: String,
    /// Over its items; only for `ok`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub digest: Option<Digest>,
    /// How many items; only for `ok`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub count: Option<usize>,
}

impl From<&SurfaceListing> for SurfaceRow {
    fn from(listing: &SurfaceListing) -> Self {
        Self {
            kind: listing.kind,
            outcome: listing.outcome,
            message: listing.message.clone(),
            digest: listing.digest.clone(),
            count: listing.digest.is_some().then_some(listing.items.len()),
        }
    }
}

/// A server at a glance.
#[derive(Debug, Clone)]
pub struct ServerRow {
    /// Its name.
    pub name: ServerName,
    /// What is registered; nothing where nobody did.
    pub spec: Option<ServerSpec>,
    /// When it was asked last by polling.
    pub asked: Option<DateTime<Utc>>,
    /// The newest listing under each authorization context, by context.
    pub last: Vec<ListingRow>,
    /// The newest that ended `ok` while catalogs relied on its context.
    pub last_ok: Option<ListingRow>,
}

/// A catalog at a glance.
#[derive(Debug, Clone)]
pub struct CatalogRow {
    /// The catalog.
    pub catalog: Catalog,
    /// Its newest version.
    pub latest: Option<CatalogVersion>,
    /// The draft that waits.
    pub pending: Option<(i64, Verdict)>,
}

/// A version without what it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionRow {
    /// Its number.
    pub version: CatalogVersion,
    /// Over what it holds.
    pub digest: Digest,
    /// How many tools it holds.
    pub tools: usize,
    /// Who approved it.
    pub approved_by: String,
    /// Why.
    pub reason: String,
    /// When.
    pub approved_at: DateTime<Utc>,
}

/// A draft without what it holds and how that is judged in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DraftRow {
    /// Its number.
    pub id: i64,
    /// Whose draft.
    pub catalog: CatalogName,
    /// The version it was compared with.
    pub base: Option<CatalogVersion>,
    /// Over what it holds.
    pub digest: Digest,
    /// What became of it.
    pub status: DraftStatus,
    /// The judgement in a word.
    pub verdict: Verdict,
    /// Who made it.
    pub created_by: String,
    /// When.
    pub created_at: DateTime<Utc>,
    /// Who decided.
    pub decided_by: Option<String>,
    /// The version it became.
    pub version: Option<CatalogVersion>,
}

/// Which events are looked for; all that is given has to fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// The object, exactly.
    pub subject: Option<String>,
    /// What happened, exactly.
    pub kind: Option<String>,
    /// What it begins with.
    pub family: Option<String>,
    /// Who, exactly.
    pub actor: Option<String>,
}

/// A listing to be recorded.
#[derive(Debug, Clone)]
pub struct NewListing {
    /// The server.
    pub server: ServerName,
    /// When it ended.
    pub at: DateTime<Utc>,
    /// How it ended.
    pub outcome: Outcome,
    /// What the list depends on.
    pub provenance: Provenance,
    /// What was seen.
    pub evidence: Evidence,
    /// What it brought, with the contracts of its tools in order; for `ok`, and only then.
    pub snapshot: Option<(Snapshot, Vec<Contract>)>,
    /// What else the server declared to have.
    pub surfaces: Vec<SurfaceListing>,
    /// Whether catalogs rely on this context's lists.
    pub primary: bool,
}

/// A draft to be opened.
#[derive(Debug, Clone)]
pub struct NewDraft {
    /// Whose draft.
    pub catalog: CatalogName,
    /// The version it was compared with.
    pub base: Option<CatalogVersion>,
    /// What it would hold.
    pub content: Content,
    /// The judgement.
    pub report: Report,
    /// The same against older versions.
    pub earlier: Vec<Report>,
    /// What it was decided on, as far as that was not said yet: that nobody is at work on the draft that it supersedes.
    pub basis: Basis,
    /// Who.
    pub created_by: String,
    /// When.
    pub created_at: DateTime<Utc>,
}

/// Who ended a draft, when and why.
#[derive(Debug, Clone)]
pub struct Ending {
    /// Who.
    pub actor: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Why.
    pub reason: String,
}

/// A key that makes a retry safe. It is kept as long as the move that it stands for (a release with the move that it
/// follows), which is for ever: a few hundred
/// bytes, and a retry that comes late is still no second move.
#[derive(Debug, Clone)]
pub struct Idempotency {
    /// The caller's key.
    pub key: String,
    /// The digest of the whole request.
    pub request: Digest,
}

/// What a write was decided on: everything that was known of these subjects of [events](Event::subject) when the log
/// ended with `seq`. The write is refused as [`StoreError::Shifted`] where one of them has a later event, so that what is
/// written was judged on what stood then, whoever else writes at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Basis {
    /// The last event that was read before anything else was.
    pub seq: i64,
    /// `catalog/orders`, `environment/staging`.
    pub subjects: Vec<String>,
}

/// Settings of a catalog to be kept.
#[derive(Debug, Clone)]
pub struct NewSettings<'a> {
    /// The settings.
    pub catalog: &'a Catalog,
    /// What the next document is compared with, where that changes. A catalog's first settings always count so.
    pub applied: Option<&'a Catalog>,
    /// A version that comes with them.
    pub version: Option<&'a Version>,
    /// What it was decided on.
    pub basis: Basis,
}

/// Decisions to be kept; they get their numbers in this order.
pub type NewDecisions = Vec<Decision>;

/// An approval of a draft. [`StoreError::DraftChanged`] where the draft is not pending with this digest any more.
#[derive(Debug, Clone)]
pub struct NewApproval {
    /// The approval.
    pub approval: Approval,
    /// The changes that are accepted with it.
    pub accepted: NewDecisions,
    /// The version that the draft becomes, where this was the last approval that it needed, and the version that has to
    /// be the newest until then.
    pub version: Option<(Version, Option<CatalogVersion>)>,
    /// What it was decided on.
    pub basis: Basis,
}

/// The end of a pending draft that becomes no version: rejected or superseded. [`StoreError::DraftChanged`] where it is not
/// pending any more, or holds something else.
#[derive(Debug, Clone)]
pub struct Closing {
    /// The draft.
    pub draft: i64,
    /// What becomes of it.
    pub status: DraftStatus,
    /// What it was seen to hold.
    pub seen: Digest,
    /// Who ends it.
    pub ending: Ending,
    /// What it was decided on.
    pub basis: Basis,
}

/// An edit of a pending draft.
#[derive(Debug, Clone)]
pub struct NewEdit {
    /// What it was decided on.
    pub basis: Basis,
    /// The draft.
    pub draft: i64,
    /// What the editor saw. [`StoreError::DraftChanged`] where it holds something else now.
    pub seen: Digest,
    /// What it holds from now on.
    pub content: Content,
    /// The judgement of that.
    pub report: Report,
    /// The same against older versions.
    pub earlier: Vec<Report>,
    /// Who.
    pub editor: String,
}

/// A pointer move to be made. `order.generation - 1` is the generation that has to stand now.
#[derive(Debug, Clone)]
pub struct NewMove {
    /// What it was decided on.
    pub basis: Basis,
    /// The move as it will stand in the history.
    pub order: Move,
    /// The retry key, if the caller gave one.
    pub key: Option<Idempotency>,
}

/// The release of a hold.
#[derive(Debug, Clone)]
pub struct NewRelease {
    /// The environment.
    pub environment: EnvironmentName,
    /// The catalog.
    pub catalog: CatalogName,
    /// Where the pointer has to stand.
    pub generation: i64,
    /// What is held.
    pub held: CatalogVersion,
    /// Makes a retry safe.
    pub key: Option<Idempotency>,
}

/// Listings and snapshots. The same bytes are stored once.
#[async_trait]
pub trait Snapshots: Send + Sync {
    /// Records a listing and, where it brought one, its snapshot. The event gains `listing`, the new number.
    async fn record_listing(&self, listing: NewListing, event: NewEvent) -> Result<ListingRow>;
    /// Every server with a listing, by name.
    async fn servers(&self) -> Result<Vec<ServerName>>;
    /// A server's listings, newest first.
    async fn listings(&self, server: &ServerName, limit: usize) -> Result<Vec<ListingRow>>;
    /// A server's listings before this number, newest first, that ended so where that is asked.
    async fn listings_before(
        &self,
        server: &ServerName,
        outcome: Option<Outcome>,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<ListingRow>>;
    /// The newest listing that ended `ok`, of the context that catalogs rely on.
    async fn last_ok(&self, server: &ServerName) -> Result<Option<ListingRow>>;
    /// The newest listing under each authorization context that ended `ok`, or however it ended, by context.
    async fn last_by_context(&self, server: &ServerName, ok: bool) -> Result<Vec<ListingRow>>;
    /// The tools of a snapshot in their order, each by name and raw digest.
    async fn tool_digests(&self, server: &ServerName, snapshot: &Digest) -> Result<Vec<(String, Digest)>>;
    /// A snapshot, byte for byte, with the provenance of its newest listing.
    async fn snapshot(&self, server: &ServerName, digest: &Digest) -> Result<Option<Snapshot>>;
    /// The surfaces that stood in the newest listing with this snapshot.
    async fn surfaces(&self, server: &ServerName, snapshot: &Digest) -> Result<Vec<SurfaceRow>>;
    /// The items of a surface, byte for byte.
    async fn surface_items(
        &self,
        server: &ServerName,
        kind: SurfaceKind,
        digest: &Digest,
    ) -> Result<Vec<RawItem>>;
    /// The digests of a server's snapshots that begin with these hex digits.
    async fn snapshots_like(&self, server: &ServerName, hex: &str) -> Result<Vec<Digest>>;
    /// The texts of tools by their raw digests, whoever listed them; those that are not stored are not in it.
    async fn tool_texts(&self, raws: &[&Digest]) -> Result<HashMap<Digest, String>>;
    /// The text of one.
    async fn tool_text(&self, raw: &Digest) -> Result<Option<String>> {
        Ok(self.tool_texts(&[raw]).await?.remove(raw))
    }
}

/// A server that can be asked again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The server.
    pub spec: ServerSpec,
    /// Who registered it, or changed it last.
    pub registered_by: String,
    /// When.
    pub registered_at: DateTime<Utc>,
}

/// Registered servers. What they listed is kept apart, and longer.
#[async_trait]
pub trait Servers: Send + Sync {
    /// Servers that are registered or were listed, by name, from the one after this; whose newest listing ended so where
    /// that is asked.
    async fn server_rows(
        &self,
        after: Option<&ServerName>,
        outcome: Option<Outcome>,
        limit: usize,
    ) -> Result<Vec<ServerRow>>;
    /// Every registered server, by name.
    async fn registrations(&self) -> Result<Vec<Registration>>;
    /// One registered server.
    async fn registration(&self, server: &ServerName) -> Result<Option<Registration>>;
    /// Registers servers, or replaces what was registered under their names. All of them with all events, or none.
    async fn register(&self, servers: &[Registration], events: Vec<NewEvent>) -> Result<()>;
    /// Forgets a registration; what the server listed stays. False, and no event, where there is none.
    async fn unregister(&self, server: &ServerName, event: NewEvent) -> Result<bool>;
}

/// Catalogs, their drafts and versions.
#[async_trait]
pub trait Catalogs: Send + Sync {
    /// Every catalog, by name.
    async fn catalogs(&self) -> Result<Vec<Catalog>>;
    /// Catalogs at a glance, by name, from the one after this.
    async fn catalog_rows(&self, after: Option<&CatalogName>, limit: usize) -> Result<Vec<CatalogRow>>;
    /// One catalog.
    async fn catalog(&self, name: &CatalogName) -> Result<Option<Catalog>>;
    /// What a catalog was set to when it was made, or by the last document that was applied; see [`App::apply`].
    ///
    /// [`App::apply`]: crate::app::App::apply
    async fn applied(&self, name: &CatalogName) -> Result<Option<Catalog>>;
    /// Creates or replaces a catalog's settings, and adds a version where one is given. All events, or none.
    /// [`StoreError::VersionExists`] where that number is taken.
    async fn apply(&self, new: NewSettings<'_>, events: Vec<NewEvent>) -> Result<()>;
    /// A catalog's versions, newest first.
    async fn versions(&self, catalog: &CatalogName) -> Result<Vec<Version>>;
    /// A catalog's versions at a glance, newest first, from the one before this.
    async fn version_rows(
        &self,
        catalog: &CatalogName,
        before: Option<CatalogVersion>,
        limit: usize,
    ) -> Result<Vec<VersionRow>>;
    /// The numbers of a catalog's versions, newest first.
    async fn version_numbers(&self, catalog: &CatalogName) -> Result<Vec<CatalogVersion>>;
    /// One version.
    async fn version(&self, catalog: &CatalogName, version: CatalogVersion) -> Result<Option<Version>>;
    /// The version with the highest number.
    async fn latest_version(&self, catalog: &CatalogName) -> Result<Option<Version>>;
    /// A catalog's drafts at a glance, newest first, from the one before this; of which that became where it is asked.
    async fn draft_rows(
        &self,
        catalog: &CatalogName,
        status: Option<DraftStatus>,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<DraftRow>>;
    /// One draft.
    async fn draft(&self, catalog: &CatalogName, id: i64) -> Result<Option<Draft>>;
    /// The newest draft, whatever became of it.
    async fn latest_draft(&self, catalog: &CatalogName) -> Result<Option<Draft>>;
    /// Opens a draft; a pending one of the same catalog becomes superseded. The event gains `draft` and `supersedes`.
    /// [`StoreError::DraftChanged`] where `base` is not the newest version any more, or a pin not its server's newest
    /// snapshot: of two that form at once, the one from older snapshots must not supersede the other.
    async fn open_draft(&self, draft: NewDraft, event: NewEvent) -> Result<Draft>;
    /// Ends a pending draft without a version.
    async fn close_draft(&self, closing: Closing, event: NewEvent) -> Result<()>;
}

/// Reviews: what was decided, approved and said.
#[async_trait]
pub trait Reviews: Send + Sync {
    /// Everything that was ever decided on changes of a catalog, in order.
    async fn decisions(&self, catalog: &CatalogName) -> Result<Vec<Decision>>;
    /// The waivers that are the newest decision on their change in their scope, those that end first before the others.
    async fn waivers(&self) -> Result<Vec<Decision>>;
    /// Keeps decisions, all or none; answers them with their numbers.
    async fn decide(&self, decisions: NewDecisions, event: NewEvent) -> Result<Vec<Decision>>;
    /// The approvals of a draft, in order; also of what it held before it was edited.
    async fn approvals(&self, draft: i64) -> Result<Vec<Approval>>;
    /// Approves a draft, and makes it a version where it says so. An approver who had approved the same already is kept
    /// once.
    async fn approve(&self, new: NewApproval, events: Vec<NewEvent>) -> Result<()>;
    /// Changes what a pending draft holds.
    async fn edit_draft(&self, edit: NewEdit, event: NewEvent) -> Result<()>;
    /// What was said of a draft, in order.
    async fn comments(&self, draft: i64) -> Result<Vec<Comment>>;
    /// Keeps a remark; answers it with its number.
    async fn comment(&self, comment: Comment, event: NewEvent) -> Result<Comment>;
}

/// Pointers and their moves.
#[async_trait]
pub trait Environments: Send + Sync {
    /// Every pointer, by environment and catalog.
    async fn pointers(&self) -> Result<Vec<EnvironmentPointer>>;
    /// One pointer.
    async fn pointer(
        &self,
        environment: &EnvironmentName,
        catalog: &CatalogName,
    ) -> Result<Option<EnvironmentPointer>>;
    /// The moves of an environment, of one catalog where that is asked: the newest first, then by catalog. From the one
    /// behind this time, catalog and generation.
    async fn moves(
        &self,
        environment: &EnvironmentName,
        catalog: Option<&CatalogName>,
        behind: Option<(DateTime<Utc>, &CatalogName, i64)>,
        limit: usize,
    ) -> Result<Vec<Move>>;
    /// Whether a version was ever live in an environment.
    async fn was_live(
        &self,
        environment: &EnvironmentName,
        catalog: &CatalogName,
        version: CatalogVersion,
    ) -> Result<bool>;
    /// The versions that were ever live, in one environment or in any.
    async fn ever_live(
        &self,
        catalog: &CatalogName,
        environment: Option<&EnvironmentName>,
    ) -> Result<Vec<CatalogVersion>>;
    /// What was answered under a key, with the digest of the request it belongs to. Of a release it is the move that the
    /// pointer stood at.
    async fn answered(&self, key: &str) -> Result<Option<(Digest, Move)>>;
    /// Moves a pointer by compare-and-set on its generation, adds the move, remembers the key; a rollback also holds the
    /// version that it leaves. A retry under the same
    /// key and request gives the stored move and writes nothing.
    async fn move_pointer(&self, new: NewMove, event: NewEvent) -> Result<Move>;
    /// Every move that is committed from now on, by whichever process.
    async fn changes(&self) -> Result<PointerChanges>;
    /// The versions that are held, the newest hold first.
    async fn holds(
        &self,
        environment: &EnvironmentName,
        catalog: &CatalogName,
    ) -> Result<Vec<CatalogVersion>>;
    /// Takes a hold off, where the pointer's generation is this, and remembers the key. [`StoreError::Moved`] where it is
    /// another, or the version is not held. A retry under the same key and request writes nothing.
    async fn release_hold(&self, new: NewRelease, event: NewEvent) -> Result<()>;
}

/// Environments in which nothing moves for now.
#[async_trait]
pub trait Freezes: Send + Sync {
    /// Every freeze, by environment and catalog.
    async fn freezes(&self) -> Result<Vec<Freeze>>;
    /// Freezes; false, and no event, where that is frozen already.
    async fn freeze(&self, freeze: &Freeze, event: NewEvent) -> Result<bool>;
    /// Ends a freeze; false, and no event, where there is none.
    async fn unfreeze(
        &self,
        environment: &EnvironmentName,
        catalog: Option<&CatalogName>,
        event: NewEvent,
    ) -> Result<bool>;
}

/// The audit log; written by every other write.
#[async_trait]
pub trait Events: Send + Sync {
    /// The newest events first.
    async fn events(&self, limit: usize) -> Result<Vec<Event>>;
    /// Events that fit, the newest first, with numbers from `first` to the one before `before`.
    async fn events_before(
        &self,
        query: &EventQuery,
        first: i64,
        before: i64,
        limit: usize,
    ) -> Result<Vec<Event>>;
    /// The number of the newest event; 0 where there is none.
    async fn last_event(&self) -> Result<i64>;
    /// Adds an event of something that was seen, and that no other write stands for.
    async fn note(&self, event: NewEvent) -> Result<()>;
    /// Events in order, from the one after `seq`.
    async fn events_after(&self, seq: i64, limit: usize) -> Result<Vec<Event>>;
}

/// A registered server that one process is to ask now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Under which name it is held.
    pub holder: String,
    /// Its number; a later claim has a higher one.
    pub fence: i64,
    /// The server.
    pub server: ServerName,
    /// How often in a row it did not answer well.
    pub failures: u32,
}

/// What is known of a server when a claim ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// When it was asked.
    pub asked: DateTime<Utc>,
    /// When it is to be asked again.
    pub due: DateTime<Utc>,
    /// How often in a row it did not answer well.
    pub failures: u32,
}

/// When registered servers are asked next, and which of many processes asks them. A claim is a lease: where it is not
/// renewed it ends by itself. Neither is an event: nothing is decided here.
#[async_trait]
pub trait Polls: Send + Sync {
    /// Claims at most so many servers that are due and that nobody holds, the longest due first. One whose claim ended by
    /// itself is due, whatever was noted.
    async fn claim_due(
        &self,
        holder: &str,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
        most: usize,
    ) -> Result<Vec<Claim>>;
    /// The same store for whoever holds a claim: once somebody else has claimed the server, every write is refused with
    /// [`StoreError::ClaimLost`]. A process that slept through the end of its lease cannot know that it did.
    fn under(&self, claim: &Claim) -> Arc<dyn Store>;
    /// Holds a claim for longer. `false` where it is not this holder's any more.
    async fn renew_claim(&self, claim: &Claim, until: DateTime<Utc>) -> Result<bool>;
    /// Says when a server was asked and is due again, and holds it further. `false` as for the others.
    async fn note_poll(&self, claim: &Claim, next: Next) -> Result<bool>;
    /// Gives a claim back and says when the server is due again. `false` where it was not this holder's any more, and
    /// nothing was written.
    async fn end_claim(&self, claim: &Claim, next: Next) -> Result<bool>;
    /// Gives back all claims of holders whose names begin so, a colon after it; their servers are due now.
    async fn release_claims(&self, holder: &str, now: DateTime<Utc>) -> Result<()>;
    /// When a server was asked last, by whichever process.
    async fn asked(&self, server: &ServerName) -> Result<Option<DateTime<Utc>>>;
    /// When the next server can be claimed; nothing where none is registered.
    async fn next_due(&self) -> Result<Option<DateTime<Utc>>>;
}

/// An answer as it is sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    /// The status.
    pub status: u16,
    /// The headers that belong to the answer and not to its delivery, by name.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

/// What is known of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// Nothing: it is this request's now, until it is finished or forgotten.
    Fresh,
    /// The same request is being worked on.
    InFlight,
    /// The same request was answered.
    Answered(KeptAnswer),
    /// It belongs to another request.
    Reused,
}

/// What was answered under callers' keys. None of it is an event: the work that was answered has its own.
#[async_trait]
pub trait Answers: Send + Sync {
    /// Takes a key for a request. Forgets what was begun before `kept_since`, and what has this key and no answer since
    /// `given_up`: whoever worked on it is gone.
    async fn begin_answer(
        &self,
        key: &str,
        request: &Digest,
        now: DateTime<Utc>,
        kept_since: DateTime<Utc>,
        given_up: DateTime<Utc>,
    ) -> Result<Begun>;
    /// Keeps the answer to a request that was begun. Writes nothing where the key is another request's by now: one that
    /// comes late has no say over it.
    async fn finish_answer(&self, key: &str, request: &Digest, answer: KeptAnswer) -> Result<()>;
    /// Gives the key of a request back, where it still is this request's.
    async fn forget_answer(&self, key: &str, request: &Digest) -> Result<()>;
}

/// Which listings and checks are kept, whatever holds them. One stays where any of these says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// So many listings of each server and context, the newest.
    pub newest: usize,
    /// Listings and checks that are not older.
    pub since: DateTime<Utc>,
}

/// What no rule keeps and nothing holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Forgettable {
    /// Listings, by server, oldest first.
    pub listings: Vec<(ServerName, Vec<i64>)>,
    /// Snapshots that no other listing brought.
    pub snapshots: Vec<(ServerName, Digest)>,
    /// The same of surfaces.
    pub surfaces: Vec<(ServerName, SurfaceKind, Digest)>,
    /// Texts that stand in nothing else.
    pub texts: Vec<Digest>,
    /// Checks, oldest first, but for the newest of each catalog, environment and repository, and the newest that holds a change on
    /// which something was decided: it is the proof of what was decided, and says whose the change is.
    pub checks: Vec<i64>,
}

/// A part of that, for one transaction. What holds something goes before what it holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PruneBatch {
    /// Listings.
    pub listings: Vec<i64>,
    /// Snapshots.
    pub snapshots: Vec<(ServerName, Digest)>,
    /// Surfaces.
    pub surfaces: Vec<(ServerName, SurfaceKind, Digest)>,
    /// Texts.
    pub texts: Vec<Digest>,
    /// Checks.
    pub checks: Vec<i64>,
}

/// How many are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pruned {
    /// Listings.
    pub listings: u64,
    /// Snapshots.
    pub snapshots: u64,
    /// Surfaces.
    pub surfaces: u64,
    /// Texts.
    pub texts: u64,
    /// Checks.
    pub checks: u64,
}

/// Forgetting. What versions and drafts hold, the newest listings of each context, and all that was ever decided, moved or
/// noted is never forgotten.
#[async_trait]
pub trait Retention: Send + Sync {
    /// What may be forgotten, as things stand.
    async fn forgettable(&self, keep: &Keep) -> Result<Forgettable>;
    /// Forgets a part of it, but for what is held again by now. The event gains how many are gone; none is written where
    /// nothing is. [`StoreError::Shifted`] where anything but listings and checks was written after the event `since`.
    async fn prune(&self, batch: &PruneBatch, since: i64, event: NewEvent) -> Result<Pruned>;
}

/// All of it, as one object.
pub trait Store:
    Snapshots
    + Servers
    + Polls
    + Catalogs
    + Reviews
    + Environments
    + Freezes
    + Answers
    + Events
    + Trail
    + Retention
    + Access
    + Checks
    + Webhooks
{
}

impl<
    T: Snapshots
        + Servers
        + Polls
        + Catalogs
        + Reviews
        + Environments
        + Freezes
        + Answers
        + Events
        + Trail
        + Retention
        + Access
        + Checks
        + Webhooks,
> Store for T
{
}
