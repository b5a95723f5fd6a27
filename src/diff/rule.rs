//! What a rule is: one record in one file, with its cases beside it.

use serde_json::Value;

use super::{
    change::{Change, Pair},
    finding::{Assumption, Level, Surface},
};
use crate::{
    contract::Contract,
    json::{Digest, Pointer},
};

/// A rule.
pub struct Rule {
    /// Kebab-case: the event, as its author would search for it. The stem of its files, with `_`.
    pub id: &'static str,
    /// Where it looks.
    pub surfaces: &'static [Surface],
    /// What changed: one sentence.
    pub what: &'static str,
    /// Why it matters, to input and to output.
    pub why: &'static str,
    /// What to do instead.
    pub instead: &'static str,
    /// Its cases, YAML; the first is the published example.
    pub cases: &'static str,
    /// How it looks.
    pub check: Check,
}

impl Rule {
    /// Where it looks, for a sentence: `input, output`.
    #[must_use]
    pub fn surfaces(&self) -> String {
        let words: Vec<&str> = self.surfaces.iter().map(|s| s.as_str()).collect();
        words.join(", ")
    }

    /// The published example: its first case, up to where the next one begins.
    #[must_use]
    pub fn example(&self) -> &'static str {
        let cases = self.cases.trim_start();
        cases.find("\n- ").map_or(cases, |end| &cases[..end]).trim_end()
    }
}

/// Both schema surfaces.
pub const SCHEMA: &[Surface] = &[Surface::Input, Surface::Output];

/// How a rule looks.
pub enum Check {
    /// At every place of two schemas.
    Schema(fn(&Pair<'_>, &mut Vec<Change>)),
    /// At two releases of one tool, beside its schemas.
    Tool(fn(&Tools<'_>, &mut Vec<Remark>)),
    /// The engine itself finds it, in the file named like the rule.
    Engine,
}

/// Two releases of one tool.
pub struct Tools<'a> {
    /// Before.
    pub baseline: &'a Contract,
    /// After.
    pub candidate: &'a Contract,
}

/// A finding in the making: what a rule that needs no proof says.
#[derive(Debug, Clone)]
pub struct Remark {
    /// The rule.
    pub rule: &'static str,
    /// How bad.
    pub level: Level,
    /// Where.
    pub surface: Surface,
    /// Where in it.
    pub at: Pointer,
    /// One sentence.
    pub message: String,
    /// Before.
    pub baseline: Option<Value>,
    /// After.
    pub candidate: Option<Value>,
    /// What to do.
    pub help: String,
    /// Never waived.
    pub absolute: bool,
    /// The one assumption under which it holds, where it does not under both. A recorded call that shows it makes it hold.
    pub only: Option<Assumption>,
    /// The calls that are refused, where their arguments are as good as before.
    pub refused: Option<Refused>,
    /// What came or went as a whole, where no value shows it: it is part of the change, and so of its fingerprint.
    pub whole: Option<Digest>,
}

/// Calls that are refused for what is sent, or not sent, beside their arguments.
#[derive(Debug, Clone)]
pub struct Refused {
    /// Only those with a value at this place of the arguments; all, where it is the root.
    pub sending: Pointer,
    /// Why.
    pub reason: String,
}

impl Remark {
    /// A remark without values.
    #[must_use]
    pub fn new(rule: &'static str, level: Level, surface: Surface, at: &str, message: String) -> Self {
        Self {
            rule,
            level,
            surface,
            at: Pointer::from(at),
            message,
            baseline: None,
            candidate: None,
            help: String::new(),
            absolute: false,
            only: None,
            refused: None,
            whole: None,
        }
    }

    /// The same with the values of both sides.
    #[must_use]
    pub fn values(mut self, baseline: Option<Value>, candidate: Option<Value>) -> Self {
        (self.baseline, self.candidate) = (baseline, candidate);
        self
    }

    /// The same, about all of this.
    #[must_use]
    pub fn of_whole(self, digest: Digest) -> Self {
        Self { whole: Some(digest), ..self }
    }

    /// The same in other words.
    #[must_use]
    pub fn saying(mut self, message: &str) -> Self {
        message.clone_into(&mut self.message);
        self
    }

    /// The same, under one assumption.
    #[must_use]
    pub fn only_under(self, assumption: Assumption) -> Self {
        Self { only: Some(assumption), ..self }
    }

    /// The same, shown by calls with a value at this place, which are refused for this reason.
    #[must_use]
    pub fn refusing(self, sending: Pointer, reason: impl Into<String>) -> Self {
        Self { refused: Some(Refused { sending, reason: reason.into() }), ..self }
    }

    /// The same with the next step.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }
}
