//! What changed between two tool lists, what each change means, and the proof.
//!
//! `diff(baseline, candidate)` is pure: two sides in, a [`Report`] out. Rules explain, containment decides: a break that
//! no validator confirms is never claimed, and what could not be decided is never called compatible.
//!
//! # In the tests of a server
//!
//! A saved `tools/list` answer is the baseline, what the server lists now the candidate:
//!
//! ```
//! use toolpact::diff::{Assumption, Level, Side, diff};
//!
//! let baseline = r#"{"tools": [{
//!     "name": "forecast",
//!     "inputSchema": {"type": "object", "properties": {"units": {"enum": ["metric", "imperial"]}}}
//! }]}"#;
//! let candidate = r#"{"tools": [{
//!     "name": "forecast",
//!     "inputSchema": {"type": "object", "properties": {"units": {"enum": ["metric"]}}}
//! }]}"#;
//!
//! let report = diff(&Side::read("tests/tools.json", baseline)?, &Side::read("now", candidate)?, Assumption::Declared);
//!
//! assert_eq!(report.verdict, Level::Breaking);
//! // The call that worked and fails now.
//! let (tool, finding) = report.findings().next().expect("something broke");
//! let witness = finding.witness.as_ref().expect("and a call shows it");
//! assert_eq!((tool.tool.as_str(), finding.rule.as_str()), ("forecast", "enum-value-removed"));
//! assert_eq!(witness.value, serde_json::json!({"units": "imperial"}));
//! # Ok::<(), toolpact::diff::SideError>(())
//! ```
//!
//! In a test of one's own the last lines are one: `assert!(report.verdict < Level::Undecided, "{report:#?}")`.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod calls;
pub mod case;
pub mod change;
pub mod effect;
pub mod finding;
mod judge;
pub mod rule;
pub mod rules;
mod succession;
mod tool;
pub mod walk;

use std::collections::BTreeMap;

pub use calls::Calls;
pub use finding::{
    Assumption, Bump, Finding, Formats, Level, Options, Origin, RecordedCalls, Report, Status, Surface,
    ToolCalls, ToolReport, Verdict, Verdicts, Witness,
};

use crate::{
    contract::{Contract, ContractError},
    name::ServerName,
    snapshot::{self, FileError},
};

/// The version of the rules. It stands in every report, beside the canonicalisation policy, so that a verdict can be
/// told from one that other rules gave.
pub const RULE_SET: &str = "tp1/rules-2";

/// One side of a diff: what it is called, and the contracts of each server in it.
#[derive(Debug, Clone, Default)]
pub struct Side {
    /// How a reader knows this side: a file, `github@latest`, `orders@2026.11.30`, `production`.
    pub label: String,
    /// Servers with their contracts, in the server's order. A name of `None` is a list that does not say whose it is
    /// and takes the name of the other side's only server.
    pub servers: Vec<(Option<ServerName>, Vec<Contract>)>,
}

/// Why a text is no side.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SideError {
    /// It is no tools list.
    #[error("`{label}`: {error}")]
    List {
        /// How the side is called.
        label: String,
        /// What it is instead.
        error: FileError,
    },
    /// One of its tools has no contract.
    #[error("`{label}`: {error}")]
    Tool {
        /// How the side is called.
        label: String,
        /// What is wrong with the tool.
        error: ContractError,
    },
}

impl Side {
    /// The one server of a saved `tools/list` answer: `{"tools":[…]}`, a JSON-RPC response around it, or a bare array.
    /// `label` is how readers know it.
    ///
    /// # Errors
    /// What the text is instead.
    pub fn read(label: &str, text: &str) -> Result<Self, SideError> {
        let label = label.to_owned();
        let list = match snapshot::read_saved(text) {
            Ok(list) => list,
            Err(error) => return Err(SideError::List { label, error }),
        };
        let contracts: Result<Vec<Contract>, _> = list.tools.iter().map(Contract::of).collect();
        match contracts {
            Ok(contracts) => {
                let server = list.server.and_then(|s| s.parse().ok());
                Ok(Self { label, servers: vec![(server, contracts)] })
            }
            Err(error) => Err(SideError::Tool { label, error }),
        }
    }
}

/// Diffs two sides as the options say; the verdict under the other assumption is computed as well and stands in
/// [`Report::verdicts`].
#[must_use]
pub fn diff(baseline: &Side, candidate: &Side, options: impl Into<Options>) -> Report {
    diff_with_calls(baseline, candidate, options, &Calls::default())
}

/// The same, held against what callers were seen to send as well.
#[must_use]
pub fn diff_with_calls(
    baseline: &Side,
    candidate: &Side,
    options: impl Into<Options>,
    calls: &Calls,
) -> Report {
    let options: Options = options.into();
    let (before, after) = (by_server(baseline, candidate), by_server(candidate, baseline));
    let mut servers: Vec<&String> = before.keys().chain(after.keys()).collect();
    servers.sort_unstable();
    servers.dedup();
    let mut tools = Vec::new();
    let mut verdicts = Verdicts { declared: Level::Compatible, strict: Level::Compatible };
    let mut unchanged = 0;
    for server in servers {
        let none = Vec::new();
        let (b, c) = (before.get(server).unwrap_or(&none), after.get(server).unwrap_or(&none));
        for judged in tool::compare(server, b, c, options, calls) {
            verdicts.declared = verdicts.declared.max(judged.verdicts.declared);
            verdicts.strict = verdicts.strict.max(judged.verdicts.strict);
            match judged.report {
                Some(report) => tools.push(report),
                None => unchanged += 1,
            }
        }
    }
    tools.sort_by(|a: &ToolReport, b| {
        // Of two breaks, the one with a call to look at comes first.
        let shown = |t: &ToolReport| t.findings.iter().any(|f| f.witness.is_some());
        (b.verdict, shown(b))
            .cmp(&(a.verdict, shown(a)))
            .then_with(|| (&a.server, &a.tool).cmp(&(&b.server, &b.tool)))
    });
    let calls = (!calls.are_none()).then(|| RecordedCalls {
        recorded: calls.recorded(),
        skipped: calls.skipped(),
        unmatched: calls.unmatched(&before),
        broken: tools.iter().filter_map(|tool| tool.calls).map(|calls| calls.broken).sum(),
    });
    Report {
        verdict: tools.iter().map(|t| t.verdict).max().unwrap_or(Level::Compatible),
        assumption: options.assume,
        formats: options.formats,
        verdicts,
        required_bump: tools.iter().map(|t| t.required_bump).max().unwrap_or(Bump::None),
        baseline: baseline.label.clone(),
        candidate: candidate.label.clone(),
        rule_set: RULE_SET.to_owned(),
        tools,
        unchanged,
        calls,
    }
}

/// A side's contracts by server. A list without a name is the other side's only server, if there is just one.
fn by_server<'s>(side: &'s Side, other: &Side) -> BTreeMap<String, Vec<&'s Contract>> {
    let mut out: BTreeMap<String, Vec<&Contract>> = BTreeMap::new();
    let named = |side: &Side| match side.servers.as_slice() {
        [(Some(name), _)] => Some(name.to_string()),
        _ => None,
    };
    let both_single = side.servers.len() == 1 && other.servers.len() == 1;
    for (name, contracts) in &side.servers {
        let name = match name {
            Some(name) => name.to_string(),
            None if both_single => named(other).unwrap_or_default(),
            None => String::new(),
        };
        out.entry(name).or_default().extend(contracts);
    }
    out
}
