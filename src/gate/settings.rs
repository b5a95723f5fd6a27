//! `toolpact.yaml`: what a repository says of its gate. Strictly read: an unknown key is a mistake with a place.

pub mod schema;

use chrono::NaiveDate;

use super::{
    policy::{self, DeclaredVersion, Override, Policy, SURFACES},
    waiver::Waiver,
};
use crate::{
    catalog::{
        Selection, ServerSource,
        document::{
            self, DocumentError,
            node::{self, At, Fault, Fields, Node},
            source,
        },
        suggest::did_you_mean,
    },
    diff::{Assumption, Formats, Level, Surface, rules},
    name::{CatalogName, EnvironmentName, InvalidName, ServerName},
};

/// What it is called.
pub const FILE: &str = "toolpact.yaml";

/// What a repository says.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Where the lockfile is, where it is not [`super::lock::FILE`].
    pub lockfile: Option<String>,
    /// The servers, in the file's order.
    pub servers: Vec<Server>,
    /// What blocks.
    pub policy: Policy,
    /// What may pass for a while.
    pub waivers: Vec<Waiver>,
    /// The service that judges, where one does.
    pub service: Option<Service>,
}

/// The service that judges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Its URL.
    pub url: String,
    /// Against what is live where.
    pub environment: EnvironmentName,
    /// The catalog, where several that are live there hold the servers.
    pub catalog: Option<CatalogName>,
    /// What is done where it cannot be reached.
    pub on_unreachable: OnUnreachable,
}

/// What is done where the service cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnUnreachable {
    /// The gate could not run.
    #[default]
    FailClosed,
    /// The lockfile judges, and the answer says so.
    UseLockfile,
}

impl OnUnreachable {
    /// Every word.
    pub const ALL: [Self; 2] = [Self::FailClosed, Self::UseLockfile];

    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FailClosed => "fail-closed",
            Self::UseLockfile => "use-lockfile",
        }
    }
}

/// A server of the repository.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its name.
    pub name: ServerName,
    /// Where it is found.
    pub found: Found,
    /// The file in which its version is declared.
    pub version: Option<String>,
}

/// Where a server is found.
#[derive(Debug, Clone)]
pub enum Found {
    /// It is started or asked.
    Source(ServerSource),
    /// Its saved answer is read.
    File(String),
}

const TOP: [&str; 5] = ["lockfile", "servers", "policy", "waivers", "service"];
const SERVICE: [&str; 4] = ["url", "environment", "catalog", "on-unreachable"];
const SERVER: [&str; 2] = ["file", "version"];
const POLICY: [&str; 6] = ["assume", "formats", "fail-on", "rules", "declared-version", "deprecation-days"];
const RULE: [&str; 6] = ["rule", "server", "tools", "surface", "at", "level"];
const WAIVER: [&str; 4] = ["fingerprint", "reason", "expires", "owner"];
const LEVELS: [Level; 4] = [Level::Breaking, Level::Undecided, Level::Risky, Level::Compatible];

/// Reads the settings.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn read(text: &str) -> Result<Settings, DocumentError> {
    let root = document::tree(text)?;
    settings(&At::root(&root)).map_err(|fault| node::locate(text, fault))
}

fn settings(root: &At<'_>) -> Result<Settings, Fault> {
    if matches!(root.node, Node::Null) {
        return Ok(Settings::default());
    }
    let top = root.fields("the settings", &TOP)?;
    Ok(Settings {
        lockfile: top.get("lockfile").map(|at| at.text("a path").map(str::to_owned)).transpose()?,
        servers: top.get("servers").map(|at| servers(&at)).transpose()?.unwrap_or_default(),
        policy: top.get("policy").map(|at| policy_of(&at)).transpose()?.unwrap_or_default(),
        waivers: top.get("waivers").map(|at| waivers(&at)).transpose()?.unwrap_or_default(),
        service: top.get("service").map(|at| service(&at)).transpose()?,
    })
}

fn service(at: &At<'_>) -> Result<Service, Fault> {
    let fields = at.fields("a service", &SERVICE)?;
    let unreachable =
        fields.get("on-unreachable").map(|at| at.word(&OnUnreachable::ALL, OnUnreachable::as_str));
    Ok(Service {
        url: fields.need("url")?.text("a URL such as https://toolpact.example.com")?.to_owned(),
        environment: fields.need("environment")?.parse("an environment's name")?,
        catalog: fields.get("catalog").map(|at| at.parse("a catalog's name")).transpose()?,
        on_unreachable: unreachable.transpose()?.unwrap_or_default(),
    })
}

fn servers(at: &At<'_>) -> Result<Vec<Server>, Fault> {
    let keys: Vec<&str> = source::KEYS.into_iter().chain(SERVER).collect();
    let entries = at.entries("names of servers with where each is found")?.into_iter();
    entries.map(|(name, at)| server(name, &at, &keys)).collect()
}

fn server(name: &str, at: &At<'_>, keys: &[&str]) -> Result<Server, Fault> {
    let name: ServerName = name.parse().map_err(|e: InvalidName| at.key_fault(e.to_string()))?;
    let fields = at.fields("a server", keys)?;
    let found = match (source::read(&fields)?, fields.get("file")) {
        (Some(source), None) => Found::Source(source),
        (None, Some(file)) => Found::File(file.text("a path")?.to_owned()),
        (Some(_), Some(_)) => {
            return Err(fields.key_fault("file", "a server has either a `file`, or a `command` or `url`"));
        }
        (None, None) => return Err(at.fault(format!("server `{name}` has no `command`, `url` or `file`"))),
    };
    let version = fields.get("version").map(|at| at.text("a file such as package.json").map(str::to_owned));
    Ok(Server { name, found, version: version.transpose()? })
}

fn policy_of(at: &At<'_>) -> Result<Policy, Fault> {
    let fields = at.fields("a policy", &POLICY)?;
    let mut policy = Policy::default();
    if let Some(at) = fields.get("assume") {
        policy.assume = at.word(&[Assumption::Declared, Assumption::Strict], Assumption::as_str)?;
    }
    if let Some(at) = fields.get("formats") {
        let words = [Formats::Assert, Formats::Annotate, Formats::Risky];
        policy.formats = at.word(&words, Formats::as_str)?;
    }
    if let Some(at) = fields.get("fail-on") {
        fail_on(&at, &mut policy)?;
    }
    if let Some(at) = fields.get("rules") {
        policy.rules = at.list("rules")?.iter().map(rule).collect::<Result<_, _>>()?;
    }
    if let Some(at) = fields.get("declared-version") {
        policy.declared_version = at.word(&DeclaredVersion::ALL, DeclaredVersion::as_str)?;
    }
    if let Some(at) = fields.get("deprecation-days") {
        policy.deprecation_days = Some(at.count("a number of days")?);
    }
    Ok(policy)
}

/// A word for all surfaces, or one each.
fn fail_on(at: &At<'_>, policy: &mut Policy) -> Result<(), Fault> {
    if !matches!(at.node, Node::Map(_)) {
        policy.fail_on = least(at)?;
        return Ok(());
    }
    let words: Vec<&str> = SURFACES.into_iter().map(Surface::as_str).chain(["default"]).collect();
    let fields = at.fields("`fail-on`", &words)?;
    if let Some(at) = fields.get("default") {
        policy.fail_on = least(&at)?;
    }
    for surface in SURFACES {
        if let Some(at) = fields.get(surface.as_str()) {
            policy.surfaces.insert(surface, least(&at)?);
        }
    }
    Ok(())
}

/// The least level that blocks, and with it every worse one.
fn least(at: &At<'_>) -> Result<Vec<Level>, Fault> {
    let words = [Some(Level::Breaking), Some(Level::Undecided), Some(Level::Risky), None];
    at.word(&words, |level| level.map_or("none", Level::as_str)).map(policy::from)
}

fn rule(at: &At<'_>) -> Result<Override, Fault> {
    let fields = at.fields("a rule", &RULE)?;
    let place = fields.get("at").map(|at| {
        let pattern = at.text("a place such as /properties/*/enum")?;
        policy::places(pattern).map_err(|e| at.fault(format!("`{pattern}` is no pattern of places: {e}")))?;
        Ok(pattern.to_owned())
    });
    let rule = Override {
        rule: fields.get("rule").map(|at| rule_id(&at)).transpose()?,
        server: fields.get("server").map(|at| at.parse("a server's name")).transpose()?,
        tools: fields.get("tools").map(|at| selection(&at)).transpose()?.unwrap_or_default(),
        surface: fields.get("surface").map(|at| at.word(&SURFACES, Surface::as_str)).transpose()?,
        at: place.transpose()?,
        level: fields.need("level")?.word(&LEVELS, Level::as_str)?,
    };
    let Override { rule: id, server, tools, surface, at: place, .. } = &rule;
    if id.is_none() && server.is_none() && tools.is_all() && surface.is_none() && place.is_none() {
        return Err(
            at.fault("this would judge every change alike; say `rule`, `tools`, `surface` or `at` as well")
        );
    }
    Ok(rule)
}

fn rule_id(at: &At<'_>) -> Result<String, Fault> {
    let id = at.text("a rule such as description-changed")?;
    match rules::find(id) {
        Some(_) => Ok(id.to_owned()),
        None => {
            let hint = did_you_mean(id, rules::all().iter().map(|r| r.id));
            Err(at.fault(format!("unknown rule `{id}`{hint}")))
        }
    }
}

fn selection(at: &At<'_>) -> Result<Selection, Fault> {
    let patterns = at.list("patterns of tool names, such as `search_*`")?;
    let patterns: Result<Vec<String>, Fault> =
        patterns.iter().map(|at| at.text("a pattern of tool names").map(str::to_owned)).collect();
    Selection::try_from(patterns?).map_err(|e| at.fault(e.to_string()))
}

fn waivers(at: &At<'_>) -> Result<Vec<Waiver>, Fault> {
    at.list("waivers")?.iter().map(waiver).collect()
}

fn waiver(at: &At<'_>) -> Result<Waiver, Fault> {
    let fields = at.fields("a waiver", &WAIVER)?;
    let said = |at: At<'_>| {
        let text = at.text("a text")?.trim();
        if text.is_empty() {
            Err(at.fault("it is empty; say why, for whoever reads it"))
        } else {
            Ok(text.to_owned())
        }
    };
    Ok(Waiver {
        fingerprint: fingerprint(&fields)?,
        reason: said(fields.need("reason")?)?,
        expires: fields.need("expires")?.parse::<Day>("a day such as 2027-01-31")?.0,
        owner: fields.get("owner").map(said).transpose()?,
    })
}

/// The fewest digits that tell one change from another.
const DIGITS: usize = 12;

fn fingerprint(fields: &Fields<'_>) -> Result<String, Fault> {
    let at = fields.need("fingerprint")?;
    let text = at.text("a change's fingerprint")?;
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    let is_hex = digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if is_hex && (DIGITS..=64).contains(&digits.len()) {
        return Ok(digits.to_owned());
    }
    Err(at.fault(format!(
        "`{text}` is no fingerprint; expected {DIGITS} to 64 hex digits, as the gate shows them"
    )))
}

struct Day(NaiveDate);

impl std::str::FromStr for Day {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| format!("`{text}` is no day such as 2027-01-31"))
    }
}
