//! One file with a version, its contracts, what was signed of it and its place in the log, for machines that reach nothing.
//!
//! Whoever holds a public key can check all of it with nothing else. Every part is held against what is signed, and the
//! file as a whole against how it is written, so that nothing can stand in it beside the parts. What may be left out unseen
//! is what may be absent: a move, the checkpoint with the events up to it, and the text of a contract, which is told.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    Catalog, Event, Policy, Version,
    chain::{Checkpoint, Walk},
    document::Document,
    sign::{Envelope, PublicKey, Statement, Unproved},
    statement::{MoveStatement, VersionStatement},
};
use crate::{contract::Contract, json::Digest, name::ServerName, snapshot::RawTool};

/// The form that this toolpact writes.
const FORM: &str = "toolpact-bundle/1";

/// A version with all that proves it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bundle {
    form: String,
    /// The version.
    pub version: Version,
    /// The same as a document that `apply` reads.
    pub document: String,
    /// Its tools, as their servers sent them; those that a document pins and nobody listed here are not among them.
    pub contracts: Vec<BundledTool>,
    /// What was signed of the version, once a key.
    pub signatures: Vec<Envelope>,
    /// What was signed of the moves of pointers to it.
    pub moves: Vec<Envelope>,
    /// The log from the event of the version on, to the checkpoint where there is one.
    pub events: Vec<Event>,
    /// Vouches for the last of the events.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub checkpoint: Option<Envelope>,
}

/// A tool of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BundledTool {
    /// The server.
    pub server: ServerName,
    /// The tool.
    pub tool: String,
    /// The exact text that the server sent.
    pub raw: String,
}

/// What a bundle that holds was found to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proved {
    /// The keys that signed the version, by id.
    pub keys: Vec<Digest>,
    /// The moves that are signed, in words.
    pub moves: Vec<String>,
    /// How many contracts were held against the version, and how many it pins that are not in the file.
    pub contracts: (usize, usize),
    /// How many events were walked along.
    pub events: usize,
    /// The checkpoint, where there is one.
    pub checkpoint: Option<Checkpoint>,
}

/// The part of a bundle that is not what was signed, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{part}: {cause}")]
pub struct BundleFault {
    /// `version`, `signatures[0]`, `contracts[3] (`order_query` of `orders`)`, `events`.
    pub part: String,
    /// Why.
    pub cause: String,
}

fn fault<T>(part: impl Into<String>, cause: impl Into<String>) -> Result<T, BundleFault> {
    Err(BundleFault { part: part.into(), cause: cause.into() })
}

impl Bundle {
    /// Puts it together. Nothing is checked yet.
    #[must_use]
    pub fn new(version: Version, contracts: Vec<BundledTool>, signatures: Vec<Envelope>) -> Self {
        let document = document(&version);
        let (moves, events) = (Vec::new(), Vec::new());
        Self {
            form: FORM.to_owned(),
            version,
            document,
            contracts,
            signatures,
            moves,
            events,
            checkpoint: None,
        }
    }

    /// As it stands in a file.
    #[must_use]
    pub fn write(&self) -> String {
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }

    /// Reads a file and holds every part of it against what these keys signed.
    ///
    /// # Errors
    /// The first part that is not what was signed.
    pub fn verified(text: &str, keys: &[PublicKey]) -> Result<(Self, Proved), BundleFault> {
        let bundle: Self = match serde_json::from_str(text) {
            Ok(bundle) => bundle,
            Err(e) => return fault("the file", format!("it is no bundle: {e}")),
        };
        if bundle.form != FORM {
            return fault("form", format!("it is `{}`; this toolpact reads `{FORM}`", bundle.form));
        }
        let (said, key_ids) = bundle.signed(keys)?;
        bundle.holds_version(&said)?;
        let moves = bundle.moved(keys)?;
        let contracts = bundle.holds_contracts()?;
        let checkpoint = bundle.walked(&said, keys)?;
        if bundle.document != document(&bundle.version) {
            return fault("document", "it is not the document of this version");
        }
        let written = bundle.write();
        if written != text {
            let line = written.lines().zip(text.lines()).take_while(|(a, b)| a == b).count() + 1;
            return fault(
                format!("line {line}"),
                "it is not as it was written: something stands there beside the parts",
            );
        }
        let events = bundle.events.len();
        Ok((bundle, Proved { keys: key_ids, moves, contracts, events, checkpoint }))
    }

    /// What was signed of the version, and by which keys. Signatures of keys that nobody gave are passed over; one that
    /// was edited is not.
    fn signed(&self, keys: &[PublicKey]) -> Result<(VersionStatement, Vec<Digest>), BundleFault> {
        let mut found: Option<VersionStatement> = None;
        let (mut ids, mut foreign) = (Vec::new(), None);
        for (n, envelope) in self.signatures.iter().enumerate() {
            let part = format!("signatures[{n}]");
            match by_name::<VersionStatement>(envelope, keys) {
                Ok((said, key)) => {
                    if found.as_ref().is_some_and(|other| *other != said) {
                        return fault(part, "it says something else than the one before");
                    }
                    found = Some(said);
                    ids.push(key);
                }
                Err(e @ Unproved::OtherKey(_)) => foreign = foreign.or(Some((part, e.to_string()))),
                Err(e) => return fault(part, e.to_string()),
            }
        }
        match (found, foreign) {
            (Some(said), _) => Ok((said, ids)),
            (None, Some((part, cause))) => fault(part, cause),
            (None, None) => fault("signatures", "nothing is signed"),
        }
    }

    fn holds_version(&self, said: &VersionStatement) -> Result<(), BundleFault> {
        let version = &self.version;
        if version.content.digest() != version.digest {
            return fault("version.content", "its members are not those of the version's digest");
        }
        let now = VersionStatement { event: said.event.clone(), ..VersionStatement::of(version) };
        let members = |s: &VersionStatement| serde_json::to_value(s).unwrap_or_default();
        let (now, said) = (members(&now), members(said));
        let differs = |name: &&String| now.get(name.as_str()) != said.get(name.as_str());
        let names = said.as_object().into_iter().chain(now.as_object()).flat_map(|o| o.keys());
        match names.into_iter().find(differs) {
            Some(name) => fault(format!("version.{name}"), "it is not what was signed"),
            None => Ok(()),
        }
    }

    fn moved(&self, keys: &[PublicKey]) -> Result<Vec<String>, BundleFault> {
        let mut told = Vec::new();
        for (n, envelope) in self.moves.iter().enumerate() {
            let part = format!("moves[{n}]");
            let said = match by_name::<MoveStatement>(envelope, keys) {
                Ok((said, _)) => said,
                Err(Unproved::OtherKey(_)) => continue,
                Err(e) => return fault(part, e.to_string()),
            };
            let Version { catalog, version, digest, .. } = &self.version;
            if (&said.catalog, &said.to, &said.digest) != (catalog, version, digest) {
                return fault(part, "it is a move to another version");
            }
            told.push(format!("{} at generation {} by {}", said.environment, said.generation, said.actor));
        }
        Ok(told)
    }

    fn holds_contracts(&self) -> Result<(usize, usize), BundleFault> {
        let members = &self.version.content.members;
        for (n, tool) in self.contracts.iter().enumerate() {
            let part = format!("contracts[{n}] (`{}` of `{}`)", tool.tool, tool.server);
            let member =
                members.iter().find(|m| m.tool == tool.tool && m.server.as_ref() == Some(&tool.server));
            let Some(pinned) = member.and_then(|m| m.digests.as_ref()) else {
                return fault(part, "the version does not pin it");
            };
            let Ok(raw) = RawValue::from_string(tool.raw.clone()) else {
                return fault(part, "it is no JSON");
            };
            match Contract::of(&RawTool { index: n, raw: raw.into() }) {
                Ok(contract) if contract.name != tool.tool => return fault(part, "it is another tool"),
                Ok(contract) if contract.digests() != pinned => {
                    return fault(part, "its digests are not those that the version pins");
                }
                Ok(_) => {}
                Err(e) => return fault(part, e.to_string()),
            }
        }
        let held = |m: &&super::Member| {
            self.contracts.iter().any(|t| t.tool == m.tool && Some(&t.server) == m.server.as_ref())
        };
        let missing = members.iter().filter(|m| m.digests.is_some() && !held(m)).count();
        Ok((self.contracts.len(), missing))
    }

    /// The log from the event that the version's signature names to the checkpoint.
    fn walked(&self, said: &VersionStatement, keys: &[PublicKey]) -> Result<Option<Checkpoint>, BundleFault> {
        let Some(named) = &said.event else { return fault("signatures", "they name no event") };
        let Some(first) = self.events.first() else { return fault("events", "there are none") };
        if (first.seq, &first.digest) != (named.seq, &named.digest) {
            let cause = format!("the first is not event {}, which the version's signature names", named.seq);
            return fault("events", cause);
        }
        let checkpoint = match &self.checkpoint {
            None => None,
            Some(envelope) => match by_name::<Checkpoint>(envelope, keys) {
                Ok((checkpoint, _)) => Some(checkpoint),
                Err(e) => return fault("checkpoint", e.to_string()),
            },
        };
        let last = checkpoint.as_ref().map_or(named.seq, |c| c.seq);
        let walk = || {
            let mut walk = Walk::from(first, checkpoint.iter().cloned().collect())?;
            for event in &self.events {
                walk.step(event)?;
            }
            walk.end()
        };
        match walk() {
            Err(e) => fault("events", e.to_string()),
            Ok(walked) if walked.last.as_ref().map(|(seq, _)| *seq) != Some(last) => {
                fault("events", format!("they go on behind event {last}, and nothing vouches for that"))
            }
            Ok(_) => Ok(checkpoint),
        }
    }
}

/// A statement that was signed by the key that it names. For others that name is a hint; here no byte is.
fn by_name<T: Statement>(envelope: &Envelope, keys: &[PublicKey]) -> Result<(T, Digest), Unproved> {
    let (said, key) = envelope.statement::<T>(keys)?;
    match envelope.signatures.as_slice() {
        [only] if only.keyid.as_deref() == Some(key.as_str()) => Ok((said, key)),
        _ => Err(Unproved::Malformed("it does not name the key that made it, and no other".to_owned())),
    }
}

/// The document of a version by itself: what its catalog is set to today is no part of it.
fn document(version: &Version) -> String {
    let catalog = Catalog {
        name: version.catalog.clone(),
        policy: Policy::default(),
        environments: std::collections::BTreeMap::new(),
        servers: Vec::new(),
    };
    Document::of(&catalog, Some(version)).write()
}
