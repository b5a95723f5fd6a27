//! What the use cases answer, beside the core's own types.

use chrono::{DateTime, Utc};
use serde::Serialize;

pub use crate::store::{CheckQuery, CheckRow, DraftRow, ListingRow, Pruned, SurfaceRow, VersionRow};

use super::{AppError, Kind};
use crate::{
    catalog::{
        Catalog, CatalogVersion, Draft, EnvironmentPointer, Freeze, Grounds, Move, MoveKind, ServerPin,
        Version,
        alias::ToolAliases,
        announced::Notice,
        review::{Approval, Comment, Decision},
    },
    contract::Contract,
    diff::{Calls, Report, Side, Verdict, calls::CallsError},
    json::{Digest, ParseError},
    name::{CatalogName, EnvironmentName, ServerName},
    snapshot::{self, Evidence, FileError, Held, Listing, Outcome, Provenance, SavedList, SurfaceDiff},
    store::CatalogRow,
};

/// How much of a history stands on a page about something; its list has all of it.
pub(super) const SHOWN: usize = 200;

/// What recording a listing led to.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recorded {
    /// The listing.
    pub listing: ListingRow,
    /// Against the server's last `ok` snapshot.
    pub drift: Drift,
    /// How what it offers beside its tools differs from that listing; what is the same is left out.
    pub surfaces: Vec<SurfaceDiff>,
    /// Tools that the server describes otherwise under another authorization context.
    pub split_views: Vec<SplitView>,
    /// The listings under its other authorization contexts, each with how it relates to the one before.
    pub contexts: Vec<(ListingRow, Drift)>,
    /// Drafts that formed because of it, by catalog.
    pub drafts: Vec<Draft>,
    /// Catalogs that hold the server and for which no draft could be formed, and why.
    pub skipped: Vec<(CatalogName, String)>,
}

impl Recorded {
    /// A listing that led to nothing else.
    pub(super) fn of(listing: ListingRow, drift: Drift) -> Self {
        Self {
            listing,
            drift,
            surfaces: Vec::new(),
            split_views: Vec::new(),
            contexts: Vec::new(),
            drafts: Vec::new(),
            skipped: Vec::new(),
        }
    }
}

/// One tool that a server describes in several ways, by who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SplitView {
    /// The tool.
    pub tool: String,
    /// Its raw digest under each authorization context that lists it.
    pub views: Vec<(String, Digest)>,
}

impl SplitView {
    /// One sentence.
    #[must_use]
    pub fn told(&self) -> String {
        let mut groups: Vec<(&Digest, Vec<&str>)> = Vec::new();
        for (context, raw) in &self.views {
            match groups.iter_mut().find(|(digest, _)| *digest == raw) {
                Some((_, contexts)) => contexts.push(context),
                None => groups.push((raw, vec![context])),
            }
        }
        let sides: Vec<String> = groups.iter().map(|(_, contexts)| contexts.join(" and ")).collect();
        format!("tool `{}` is one thing under {}", self.tool, sides.join(" and another under "))
    }
}

/// How a snapshot relates to the one before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Drift {
    /// The first of this server.
    First,
    /// The same content.
    Identical,
    /// Other content than this snapshot.
    Drift(Digest),
    /// The listing failed; nothing is known.
    Unknown,
}

impl Drift {
    /// In a few words; none where nothing is known.
    #[must_use]
    pub fn told(&self) -> &'static str {
        match self {
            Self::First => "first snapshot",
            Self::Identical => "identical",
            Self::Drift(_) => "drift",
            Self::Unknown => "",
        }
    }
}

/// A server at a glance.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerSummary {
    /// Its name.
    pub name: ServerName,
    /// Where it is found, without what may be secret in it; nothing where nobody registered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// When it was asked last by polling, which records only what is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<DateTime<Utc>>,
    /// The newest listing, whatever its outcome; nothing where it was never asked.
    pub last: Option<ListingRow>,
    /// The newest `ok` listing of the context that catalogs rely on.
    pub last_ok: Option<ListingRow>,
    /// Tools that it describes otherwise under another authorization context.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub split_views: Vec<SplitView>,
    /// The authorization contexts under which it is asked, the one that catalogs rely on first; none where it is asked as its
    /// source stands.
    #[serde(skip)]
    pub contexts: Vec<String>,
}

/// A server with its listings.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerPage {
    /// Its name.
    pub name: ServerName,
    /// Where it is found, without what may be secret in it; nothing where nobody registered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// When it was asked last by polling, which records only what is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<DateTime<Utc>>,
    /// Newest first, at most 200.
    pub listings: Vec<ListingRow>,
    /// The tools of the newest `ok` snapshot: name, title or description's first line, contract digest.
    pub tools: Vec<ToolRow>,
    /// Tools that it describes otherwise under another authorization context.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub split_views: Vec<SplitView>,
}

/// A tool at a glance.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRow {
    /// Its name.
    pub name: String,
    /// What it says of itself.
    pub description: String,
    /// Digests.
    pub digests: crate::contract::Digests,
    /// The names that hosts give to it.
    pub aliases: ToolAliases,
    /// The tool as received.
    pub tool: serde_json::Value,
}

/// A catalog at a glance.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CatalogSummary {
    /// The catalog.
    pub catalog: Catalog,
    /// Its newest approved version.
    pub latest: Option<CatalogVersion>,
    /// Drafts that wait: number and verdict.
    pub pending: Vec<(i64, Verdict)>,
}

impl From<CatalogRow> for CatalogSummary {
    fn from(row: CatalogRow) -> Self {
        Self { catalog: row.catalog, latest: row.latest, pending: row.pending.into_iter().collect() }
    }
}

/// A catalog with its newest versions and drafts.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CatalogPage {
    /// The catalog.
    pub catalog: Catalog,
    /// Newest first, at most 200.
    pub versions: Vec<VersionRow>,
    /// Newest first, at most 200.
    pub drafts: Vec<DraftRow>,
    /// Where it is live.
    pub pointers: Vec<EnvironmentPointer>,
}

/// Everything that a move is judged on.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preflight {
    /// How it moves.
    pub kind: MoveKind,
    /// The environment.
    pub environment: EnvironmentName,
    /// The catalog.
    pub catalog: CatalogName,
    /// What is live; nothing before the first promotion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<CatalogVersion>,
    /// Where it would go.
    pub to: CatalogVersion,
    /// The digest of that.
    pub digest: Digest,
    /// The generation that was seen.
    pub generation: i64,
    /// What changes for whoever uses the environment; of a rollback, what is lost by going back. Absent for a first
    /// promotion, and where a contract of either version is not known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    /// The same against what was there before that, where the policy looks further back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Report>,
    /// What has to be so, each with whether it is. Servers are asked only where nothing else stands in the way.
    pub gates: Vec<GateCheck>,
    /// What the move would keep with it.
    pub grounds: Grounds,
    /// The server releases that belong to the target.
    pub servers: Vec<ServerPin>,
}

/// One thing that has to be so before a pointer moves.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GateCheck {
    /// Which: `frozen`, `order`, `approvals`, `too-many-tools`, `contracts-unknown`, `policy-blocks`, `not-served`. The code
    /// of the refusal as well.
    pub code: &'static str,
    /// Whether it is so.
    pub passed: bool,
    /// Whether the move goes on though it is not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub overridden: bool,
    /// What was found.
    pub message: String,
    /// What to do where it is not so.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub help: String,
}

impl GateCheck {
    pub(super) fn passed(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, passed: true, overridden: false, message: message.into(), help: String::new() }
    }

    pub(super) fn failed(code: &'static str, message: impl Into<String>, help: &str) -> Self {
        Self { code, passed: false, overridden: false, message: message.into(), help: help.to_owned() }
    }

    /// From a check that fails with an error.
    pub(super) fn of(code: &'static str, checked: Result<(), AppError>, passed: &str) -> Self {
        match checked {
            Ok(()) => Self::passed(code, passed),
            Err(e) => Self::failed(code, e.message, &e.help),
        }
    }

    pub(super) fn overridden(self, by: bool) -> Self {
        Self { overridden: by && !self.passed, ..self }
    }

    /// Whether it stands in the way.
    #[must_use]
    pub fn blocks(&self) -> bool {
        !self.passed && !self.overridden
    }

    /// The refusal that it is.
    pub(super) fn refusal(&self, kind: MoveKind) -> AppError {
        let verb = match kind {
            MoveKind::Promote => "promoted",
            MoveKind::Rollback => "rolled back",
        };
        AppError::new(Kind::Blocked, self.code, format!("nothing was {verb}: {}", self.message))
            .help(&self.help)
    }
}

/// What an approval led to.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Approved {
    /// The draft.
    pub draft: i64,
    /// Who approved what it holds, in order.
    pub approvals: Vec<Approval>,
    /// How many people other than its authors have to.
    pub needed: usize,
    /// The version that it became; absent while others have to approve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

/// A draft under review.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewPage {
    /// The draft.
    pub draft: Draft,
    /// Who approved what it holds now.
    pub approvals: Vec<Approval>,
    /// How many people other than its authors have to.
    pub needed: usize,
    /// What was said, in order.
    pub comments: Vec<Comment>,
    /// How each of its changes stands.
    pub standing: Vec<Standing>,
    /// What counts of its changes in one environment alone, by environment; a draft is not judged on it.
    pub elsewhere: Vec<Decision>,
    /// Servers that offer something else by now: it is drafted when this draft is decided.
    pub queue: Vec<(ServerName, Digest)>,
}

/// How one change stands.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// The change.
    pub fingerprint: Digest,
    /// Why it stands in the way: `absolute`, `open`, `rejected`, `waiver-expired`; absent where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<&'static str>,
    /// What was decided of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The notice that was given of it, where its level blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub announced: Option<Notice>,
}

/// One environment and catalog.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentPage {
    /// Where it points.
    pub pointer: EnvironmentPointer,
    /// Newest first, at most 200.
    pub history: Vec<Move>,
    /// Versions that a rollback left and nobody released, the newest hold first.
    pub holds: Vec<CatalogVersion>,
    /// What keeps it from moving for now.
    pub freezes: Vec<Freeze>,
    /// Approved versions that may be promoted: not live, not held; newest first, of the newest 200.
    pub promotable: Vec<CatalogVersion>,
    /// Versions that were live here before and are not now; newest first, of the newest 200 moves.
    pub rollback_targets: Vec<CatalogVersion>,
}

/// What applying a document did.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// The catalog.
    pub catalog: Catalog,
    /// The version it brought.
    pub version: Option<CatalogVersion>,
    /// Nothing of the catalog was new.
    pub unchanged: bool,
    /// The lines of the settings that differ from before, as a document writes them, each after `-` or `+`.
    pub changes: Vec<String>,
    /// The servers that were registered, because the document says where they are found.
    pub registered: Vec<ServerName>,
    /// What whoever applied it should know, a sentence each.
    pub notes: Vec<String>,
}

/// The state of the chain of events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainCheck {
    /// How many events were checked.
    pub events: usize,
    /// The first that does not fit, and why.
    pub broken: Option<(i64, String)>,
    /// How many checkpoints were passed.
    pub checkpoints: usize,
    /// The last event that one of them vouches for.
    pub vouched: Option<i64>,
}

/// One side of a diff from a saved `tools/list` answer. `label` names it to readers.
///
/// # Errors
/// What the text is instead, naming `label`.
pub fn file_side(label: &str, text: &str) -> Result<Side, AppError> {
    let (saved, contracts) = saved(label, text)?;
    // A name that is none of ours tells nothing; the list takes the other side's then.
    let server = saved.server.and_then(|s| s.parse().ok());
    Ok(Side { label: label.to_owned(), servers: vec![(server, contracts)] })
}

/// The same, with the version that the server says of itself there.
///
/// # Errors
/// As [`file_side`].
pub fn file_release(label: &str, text: &str) -> Result<(Side, Option<String>), AppError> {
    let (saved, contracts) = saved(label, text)?;
    let version =
        saved.server_info.as_ref().and_then(|info| info.get("version")?.as_str().map(str::to_owned));
    let server = saved.server.and_then(|s| s.parse().ok());
    Ok((Side { label: label.to_owned(), servers: vec![(server, contracts)] }, version))
}

/// A saved `tools/list` answer as a listing that ended `ok`, to be recorded.
///
/// # Errors
/// What the text is instead, naming `label`.
pub fn file_listing(label: &str, text: &str) -> Result<Listing, AppError> {
    let (saved, _) = saved(label, text)?;
    let mut provenance = Provenance::file(label);
    provenance.server_info = saved.server_info;
    provenance.protocol_version = saved.protocol_version;
    let evidence = Evidence { pages: 1, bytes: text.len(), ..Evidence::default() };
    Ok(Listing {
        outcome: Outcome::Ok,
        evidence,
        provenance,
        tools: saved.tools,
        surfaces: Vec::new(),
        held: Held::default(),
    })
}

/// Recorded calls. `label` names them to readers.
///
/// # Errors
/// What the text is instead, naming `label`.
pub fn recorded_calls(label: &str, text: &str) -> Result<Calls, AppError> {
    Calls::read(text).map_err(|error| {
        let code = match &error {
            CallsError::Line { .. } => "unreadable-calls",
            CallsError::TooLarge(_) | CallsError::TooMany => "too-large",
        };
        AppError::new(Kind::Invalid, code, format!("`{label}` {error}"))
            .help("record `tools/call` requests, one a line, each as it was sent; or an array of them")
    })
}

pub(super) fn saved(label: &str, text: &str) -> Result<(SavedList, Vec<Contract>), AppError> {
    let saved = snapshot::read_saved(text).map_err(|e| {
        let code = match &e {
            FileError::Json(_) => "not-json",
            FileError::RpcError(_) | FileError::NotAList(_) => "not-a-tools-list",
            FileError::OnePage => "one-page",
            FileError::TooLarge(_) => "too-large",
        };
        AppError::new(Kind::Invalid, code, format!("`{label}` {}", verb(&e)))
            .help("save the whole answer to `tools/list`, for example with `toolpact snapshot`")
    })?;
    let contracts: Result<Vec<Contract>, _> = saved.tools.iter().map(Contract::of).collect();
    let contracts = contracts.map_err(|e| {
        AppError::new(
            Kind::Invalid,
            "unreadable-tool",
            format!("`{label}` cannot be read as a tools list: {e}"),
        )
        .help("ask the server's author to list a tool as the protocol describes it")
    })?;
    Ok((saved, contracts))
}

/// The error as what the file is or does.
fn verb(error: &FileError) -> String {
    match error {
        FileError::Json(ParseError::Syntax(_)) => format!("is {error}"),
        FileError::Json(ParseError::TooDeep { .. } | ParseError::TooMany { .. })
        | FileError::RpcError(_)
        | FileError::NotAList(_)
        | FileError::OnePage
        | FileError::TooLarge(_) => error.to_string(),
    }
}
