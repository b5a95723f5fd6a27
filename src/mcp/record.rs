//! What a listing has seen so far, and why it ended: collected on the way, turned into a [`Listing`] at the end,
//! whatever the end.
//!
//! Text that comes from a server is made harmless here (cut, control characters removed) before it becomes evidence.

use std::{collections::BTreeSet, time::Instant};

use serde_json::{Value, value::RawValue};

use crate::{
    json,
    json::Digest,
    snapshot::{Evidence, Held, Listing, Outcome, Provenance, RawItem, RawTool, SurfaceListing, Transport},
};
use crate::{json::is_hidden, secret};

use super::{
    Limits, Progress, Source, Step, changes,
    room::{Room, Share},
};

/// Warnings kept. One odd server could otherwise fill a database with them.
const MAX_WARNINGS: usize = 50;
/// Stray lines kept as samples.
const MAX_SAMPLES: usize = 5;
/// Characters kept of each.
const SAMPLE_CHARS: usize = 200;
/// Characters of a JSON-RPC error kept; more is cut to text.
const ERROR_CHARS: usize = 4_000;

/// Shorter ones are words that occur anywhere.
const SHORTEST_SECRET: usize = 6;

/// The result of a step. Boxed: a failure is rare and carries a lot.
pub(super) type Try<T> = Result<T, Box<Failure>>;

/// Why a listing did not end well.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) outcome: Outcome,
    pub(super) message: String,
    pub(super) help: String,
    pub(super) http_status: Option<u16>,
    pub(super) retry_after: Option<String>,
    pub(super) rpc_error: Option<Value>,
    /// `WWW-Authenticate` as sent; kept no longer than it takes to answer it.
    pub(super) challenge: String,
}

impl Failure {
    pub(super) fn new(outcome: Outcome, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            outcome,
            message: message.into(),
            help: String::new(),
            http_status: None,
            retry_after: None,
            rpc_error: None,
            challenge: String::new(),
        })
    }

    pub(super) fn help(mut self: Box<Self>, help: impl Into<String>) -> Box<Self> {
        self.help = help.into();
        self
    }

    pub(super) fn rpc_error(mut self: Box<Self>, error: Value) -> Box<Self> {
        let text = error.to_string();
        self.rpc_error =
            Some(if text.len() > ERROR_CHARS { Value::String(printable(&text, ERROR_CHARS)) } else { error });
        self
    }
}

/// What a listing has seen so far.
#[derive(Debug)]
pub(super) struct Record {
    /// When the listing began.
    started: Instant,
    pub(super) evidence: Evidence,
    pub(super) provenance: Provenance,
    pub(super) tools: Vec<RawTool>,
    /// Whether more than the tools is wanted.
    pub(super) everything: bool,
    pub(super) surfaces: Vec<SurfaceListing>,
    /// The list that is being read.
    pub(super) list: Partial,
    /// What was read before it was begun anew, until that brings something.
    pub(super) before: Option<Partial>,
    /// Bytes of the pages of this listing's other lists, as far as those are kept.
    pub(super) kept: usize,
    /// What the listing takes of the room that there is for all.
    pub(super) share: Share,
    room: Room,
    /// What the server said of its lists since the one that is being read was begun.
    pub(super) heard: BTreeSet<Changed>,
    /// Whether the server honours a subscription, once it said so.
    pub(super) acknowledged: Option<bool>,
    /// The digest of the tools as they were known before; see [`super::Limits::known`].
    pub(super) known: Option<Digest>,
    pub(super) progress: Progress,
    /// What a server may say back to us, and nobody is to read.
    pub(super) secrets: Vec<Sent>,
}

/// Something that was sent to a server.
#[derive(Clone)]
pub(super) struct Sent {
    /// What it is called in messages.
    pub(super) name: String,
    pub(super) value: String,
    /// Whether it opens anything; other values may stand anywhere.
    pub(super) is_secret: bool,
}

impl Sent {
    pub(super) fn secret(name: &str, value: String) -> Self {
        Self { name: name.to_owned(), value, is_secret: true }
    }
}

impl std::fmt::Debug for Sent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Sent").field(&self.name).finish()
    }
}

/// What was read of a list so far.
#[derive(Debug, Default)]
pub(super) struct Partial {
    pub(super) items: Vec<RawItem>,
    pub(super) pages: usize,
    pub(super) bytes: usize,
}

/// Which list a server said to have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Changed {
    Tools,
    Prompts,
    /// Resources or their templates.
    Resources,
    /// Any or none: the server may have said something that nobody heard.
    Perhaps,
}

impl Changed {
    pub(super) fn of(method: &str) -> Option<Self> {
        match method {
            "notifications/tools/list_changed" => Some(Self::Tools),
            "notifications/prompts/list_changed" => Some(Self::Prompts),
            "notifications/resources/list_changed" => Some(Self::Resources),
            _ => None,
        }
    }
}

impl Record {
    fn new(transport: Transport, target: String, room: &Room) -> Self {
        let provenance = Provenance { transport, ..Provenance::file(&target) };
        Self {
            started: Instant::now(),
            evidence: Evidence::default(),
            provenance,
            tools: Vec::new(),
            everything: false,
            surfaces: Vec::new(),
            list: Partial::default(),
            before: None,
            kept: 0,
            share: room.share(),
            room: room.clone(),
            heard: BTreeSet::new(),
            acknowledged: None,
            known: None,
            progress: Progress::default(),
            secrets: Vec::new(),
        }
    }

    /// The server as messages call it: in backticks, cut.
    pub(super) fn name(&self) -> String {
        format!("`{}`", printable(&self.provenance.target, 120))
    }

    /// The record of a listing that begins now.
    pub(super) fn of(source: &Source, limits: &Limits) -> Self {
        let transport = match source {
            Source::Stdio { .. } => Transport::Stdio,
            Source::Http { .. } => Transport::Http,
        };
        let new = Self::new(transport, source.target(), &limits.room);
        limits.progress.at(Step::Connecting);
        let (known, progress) = (limits.known.clone(), limits.progress.clone());
        Self { secrets: source.secrets(), known, progress, ..new }
    }

    /// Takes in what the server tells.
    pub(super) fn hear(&mut self, method: &str, params: Option<&RawValue>) {
        self.heard.extend(Changed::of(method));
        if method == "notifications/subscriptions/acknowledged" {
            let params = params.and_then(|params| json::parse(params.get()).ok()).unwrap_or_default();
            self.acknowledged = Some(changes::honours(&params));
        }
    }

    /// Notes a deviation that does not hinder, once.
    pub(super) fn warn(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        let warnings = &mut self.evidence.warnings;
        if warnings.len() < MAX_WARNINGS && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// Counts text that is no JSON-RPC.
    pub(super) fn stray(&mut self, bytes: &[u8]) {
        self.evidence.stray_lines += 1;
        // A character has at most four bytes, so this is enough of a line that may have megabytes.
        let sample =
            printable(&String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SAMPLE_CHARS)]), SAMPLE_CHARS);
        if self.evidence.stray_samples.len() < MAX_SAMPLES && !sample.is_empty() {
            self.evidence.stray_samples.push(sample);
        }
    }

    /// The server has said what it was asked for; ending it is no part of the listing's time.
    pub(super) fn answered(&mut self) {
        let took = self.started.elapsed().saturating_sub(self.share.waited());
        self.evidence.elapsed_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    }

    /// Another listing begins, on the same connection.
    pub(super) fn began(&mut self) {
        self.started = Instant::now();
    }

    pub(super) fn into_listing(mut self, ended: Try<()>) -> Listing {
        self.cut_listing(ended)
    }

    /// The listing that ends here; what is known of the server stays for the next.
    pub(super) fn cut_listing(&mut self, ended: Try<()>) -> Listing {
        let mut evidence = std::mem::take(&mut self.evidence);
        let (tools, mut surfaces) = (std::mem::take(&mut self.tools), std::mem::take(&mut self.surfaces));
        let outcome = match ended {
            Ok(()) => Outcome::Ok,
            Err(failure) => {
                evidence.message = failure.message;
                evidence.help = failure.help;
                evidence.http_status = failure.http_status;
                evidence.retry_after = failure.retry_after;
                evidence.rpc_error = failure.rpc_error;
                surfaces.clear();
                failure.outcome
            }
        };
        let share = std::mem::replace(&mut self.share, self.room.share());
        let (provenance, held) = (self.provenance.clone(), Held::by(share.ended()));
        let mut listing = Listing { outcome, evidence, provenance, tools, surfaces, held };
        if !self.secrets.is_empty() {
            listing.each_text(&|text| *text = self.hidden(text));
        }
        let listed = self.long_secrets().find(|sent| sent.is_secret && listing.lists(&sent.value));
        listing.evidence.warnings.extend(listed.map(|sent| lists_a_secret(&sent.name)));
        listing
    }

    /// A text without the secrets that were sent.
    pub(super) fn hidden(&self, text: &str) -> String {
        self.long_secrets().fold(text.to_owned(), |text, sent| secret::hide(&text, &sent.value, "…"))
    }

    fn long_secrets(&self) -> impl Iterator<Item = &Sent> {
        self.secrets.iter().filter(|sent| sent.value.len() >= SHORTEST_SECRET)
    }
}

/// Says of a server that it lists a secret, by the secret's name. What is listed is kept as it came, so only another secret
/// helps.
#[must_use]
pub fn lists_a_secret(name: &str) -> String {
    format!("lists {name}, a secret: {CHANGE_IT}")
}

/// How such a warning ends.
pub const CHANGE_IT: &str = "what is listed is kept and shown as it came, so have that secret changed";

/// One line of at most `max` characters, without those that do not show: a server must not move a reader's cursor, nor turn the
/// line around.
pub(super) fn printable(text: &str, max: usize) -> String {
    let mut chars = text.trim().chars().map(|c| if is_hidden(c) { ' ' } else { c });
    let mut out: String = chars.by_ref().take(max).collect();
    if chars.next().is_some() {
        out.push('…');
    }
    out
}
