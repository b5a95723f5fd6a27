//! The cases of a rule, read from its YAML file: two schemas (or two lists of tools) and what each surface must say.

use serde::Deserialize;
use serde_json::Value;

use super::{
    finding::{Assumption, Bump, Formats, Level},
    rule::Rule,
};

/// One case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// A sentence.
    pub name: String,
    /// `baseline` and `candidate` are lists of tools, not schemas.
    #[serde(default)]
    pub tools: bool,
    /// What callers are taken to send.
    #[serde(default)]
    pub assume: Assumption,
    /// What a `format` is taken for.
    #[serde(default)]
    pub formats: Formats,
    /// Before.
    pub baseline: Value,
    /// After.
    pub candidate: Value,
    /// What the surface must say; a case without any must be silent.
    pub listing: Option<Expected>,
    /// See `listing`.
    pub input: Option<Expected>,
    /// See `listing`.
    pub output: Option<Expected>,
    /// See `listing`.
    pub annotations: Option<Expected>,
    /// See `listing`.
    pub presentation: Option<Expected>,
    /// How many findings there must be in all: one edit is told once.
    pub findings: Option<usize>,
    /// The bump that the report requires.
    pub bump: Option<Bump>,
    /// Rules that must say nothing, where others speak.
    #[serde(default)]
    pub silent: Vec<String>,
}

/// What a surface must say.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The fold of its findings.
    pub verdict: Level,
    /// Where the rule's finding sits.
    pub at: Option<String>,
    /// Words that a message of the rule, or its help, must hold.
    pub says: Option<String>,
    /// Words that none of them may hold.
    pub unsaid: Option<String>,
    /// `true`: some witness; an object or list: just this one.
    pub witness: Option<Value>,
}

/// Reads a rule's cases.
///
/// # Errors
/// The parser's words, with line and column.
pub fn cases(rule: &Rule) -> Result<Vec<Case>, String> {
    // Straight into JSON values would read duplicate keys and odd numbers silently; the cases are our own.
    serde_yaml::from_str(rule.cases).map_err(|e| format!("{}: {e}", rule.id))
}
