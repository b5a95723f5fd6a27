//! The words of a diff's answer: levels, verdicts, findings, the report. Serialised as they stand for `--format json`,
//! the API and the store; the words are those of the design.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{rule::Remark, rules::notation_changed};
use crate::json::{Digest, Pointer};

/// What callers are taken to send, and consumers to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Assumption {
    /// Only properties that the baseline declares, at every depth.
    #[default]
    Declared,
    /// Anything the baseline's schema allows.
    Strict,
}

/// What a `format` is taken for: an annotation by the specification (2020-12 validation, 7.2.1), asserted by many servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Formats {
    /// It rejects values, as `pattern` does.
    Assert,
    /// It says something to readers only.
    Annotate,
    /// It may do either, so a change of it is a risk.
    #[default]
    Risky,
}

impl Formats {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Assert => "assert",
            Self::Annotate => "annotate",
            Self::Risky => "risky",
        }
    }
}

impl fmt::Display for Formats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a diff is to be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// What callers are taken to send.
    pub assume: Assumption,
    /// What a `format` is taken for.
    pub formats: Formats,
}

impl From<Assumption> for Options {
    fn from(assume: Assumption) -> Self {
        Self { assume, ..Self::default() }
    }
}

/// How bad one finding is, the worst last, so that the largest of several is their fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Proved harmless, or words only.
    Compatible,
    /// Breaks no schema, may change what happens.
    Risky,
    /// Not proved either way, with the reason.
    Undecided,
    /// A call or a result that was fine is not fine now.
    Breaking,
}

/// The fold of a tool's or a whole diff's findings.
pub type Verdict = Level;

impl Level {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compatible => "compatible",
            Self::Risky => "risky",
            Self::Undecided => "undecided",
            Self::Breaking => "breaking",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Assumption {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Strict => "strict",
        }
    }
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The least part of a contractVersion that has to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bump {
    /// Nothing changed.
    None,
    /// Words only.
    Patch,
    /// A compatible change of the contract.
    Minor,
    /// A break.
    Major,
}

impl Bump {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Patch => "patch",
            Self::Minor => "minor",
            Self::Major => "major",
        }
    }
}

impl fmt::Display for Bump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a change sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Surface {
    /// Which tools there are.
    Listing,
    /// `inputSchema`: callers send.
    Input,
    /// `outputSchema`: callers read.
    Output,
    /// Behaviour hints.
    Annotations,
    /// Words the model reads.
    Presentation,
}

impl Surface {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Listing => "listing",
            Self::Input => "input",
            Self::Output => "output",
            Self::Annotations => "annotations",
            Self::Presentation => "presentation",
        }
    }
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where the value of a witness comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// It was built to show the break.
    #[default]
    Built,
    /// It is what a recorded call carried, as it stands.
    Recorded,
}

impl Origin {
    fn is_built(&self) -> bool {
        *self == Self::Built
    }
}

/// A value that shows a break, confirmed by a validator on both sides before it stands here. On the input surface the
/// `arguments` of a call that the baseline accepts and the candidate rejects; on the output surface a
/// `structuredContent` that the candidate may return and the baseline did not admit. Where a call is refused for what is sent
/// beside its arguments, no validator objects to them, and only a recorded call is a witness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Witness {
    /// The arguments, or the result.
    pub value: Value,
    /// Where in `value` the rejecting side objects.
    pub at: Pointer,
    /// The validator's reason.
    pub reason: String,
    /// Where the value comes from; absent in JSON where it was built.
    #[serde(skip_serializing_if = "Origin::is_built", default)]
    pub origin: Origin,
    /// The value in the message that would carry it, where that was asked for; see [`Report::with_messages`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<Value>,
}

impl Witness {
    /// The JSON-RPC message that carries the value: on the input surface a `tools/call` request, on the output surface
    /// its response, with the value as `structuredContent` and, as servers should, as text (MCP 2025-06-18, server/tools,
    /// structured content).
    #[must_use]
    pub fn as_message(&self, surface: Surface, tool: &str) -> Value {
        match surface {
            Surface::Output => json!({
                "jsonrpc": "2.0",
                "id": 1,
                "result": {
                    "content": [{ "type": "text", "text": self.value.to_string() }],
                    "structuredContent": self.value,
                },
            }),
            Surface::Listing | Surface::Input | Surface::Annotations | Surface::Presentation => json!({
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": { "name": tool, "arguments": self.value },
            }),
        }
    }
}

/// One change, judged by one rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's id, kebab-case.
    pub rule: String,
    /// How bad.
    pub level: Level,
    /// Where the change sits.
    pub surface: Surface,
    /// Where in that surface: a JSON Pointer into `inputSchema`, `outputSchema`, `annotations` or the tool. What begins
    /// with `/execution` is always of the tool: no keyword is called so.
    pub pointer: Pointer,
    /// One plain sentence, lower case, no final period.
    pub message: String,
    /// What stood there before; absent where nothing did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub baseline: Option<Value>,
    /// What stands there now; absent where nothing does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub candidate: Option<Value>,
    /// The proof of a break; absent where none exists (a removed tool of which no call was recorded) or none is needed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub witness: Option<Witness>,
    /// What to do about it; may be empty.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub help: String,
    /// What a decision sticks to: rule, server, tool, surface, pointer, canonical before and after; of a tool that comes or
    /// goes its contract. Never the text of a message.
    pub fingerprint: Digest,
    /// Never waived (a list that names a tool twice, a schema that is none).
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub absolute: bool,
}

impl Finding {
    /// A finding with its fingerprint: over rule, server, tool, surface, pointer, both values, and what came or went as a
    /// whole, never over text.
    pub(crate) fn of(server: &str, tool: &str, remark: Remark, witness: Option<Witness>) -> Self {
        let mut change = vec![
            json!(remark.rule),
            json!(server),
            json!(tool),
            json!(remark.surface.as_str()),
            json!(remark.at.as_str()),
            json!(remark.baseline),
            json!(remark.candidate),
        ];
        change.extend(remark.whole.map(|digest| json!(digest)));
        let fingerprint = Digest::of(&Value::Array(change));
        Self {
            rule: remark.rule.to_owned(),
            level: remark.level,
            surface: remark.surface,
            pointer: remark.at,
            message: remark.message,
            baseline: remark.baseline,
            candidate: remark.candidate,
            witness,
            help: remark.help,
            fingerprint,
            absolute: remark.absolute,
        }
    }

    /// Whether all that it says is that the tool is written otherwise.
    #[must_use]
    pub fn is_notation(&self) -> bool {
        self.rule == notation_changed::ID
    }
}

/// What happened to a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Only in the candidate.
    Added,
    /// Only in the baseline.
    Removed,
    /// In both, and different in some digest.
    Changed,
}

/// Everything about one tool that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolReport {
    /// The server; empty where neither side says.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// What happened to it.
    pub status: Status,
    /// The fold of its findings.
    pub verdict: Verdict,
    /// The least bump of its contractVersion.
    pub required_bump: Bump,
    /// Worst first.
    pub findings: Vec<Finding>,
    /// The two contracts' raw difference, RFC 6902, from the normal form of the baseline to the candidate's. For
    /// reading and replaying; never what is judged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub patch: Option<Value>,
    /// What becomes of its recorded calls; absent where none was given, or none could be held against its schemas.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub calls: Option<ToolCalls>,
}

/// What becomes of the recorded calls of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCalls {
    /// How many there are.
    pub recorded: usize,
    /// How many the baseline rejects already.
    pub rejected_before: usize,
    /// How many the baseline accepts and the candidate rejects.
    pub broken: usize,
}

/// What becomes of all recorded calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedCalls {
    /// How many there are.
    pub recorded: usize,
    /// Recorded messages that are no calls.
    pub skipped: usize,
    /// Calls of tools that the baseline does not list.
    pub unmatched: usize,
    /// The sum of [`ToolCalls::broken`].
    pub broken: usize,
}

impl ToolReport {
    /// Its findings of one level.
    pub fn of_level(&self, level: Level) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |f| f.level == level)
    }

    /// Whether all that is compatible about it is that it is written otherwise; such tools are told together, since an
    /// author who generates schemas anew changes all of them.
    #[must_use]
    pub fn is_notation(&self) -> bool {
        let mut compatible = self.of_level(Level::Compatible).peekable();
        compatible.peek().is_some() && compatible.all(Finding::is_notation)
    }
}

/// The verdict under each assumption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdicts {
    /// Under [`Assumption::Declared`].
    pub declared: Verdict,
    /// Under [`Assumption::Strict`].
    pub strict: Verdict,
}

/// The whole answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The fold of all findings under `assumption`.
    pub verdict: Verdict,
    /// What callers were taken to send.
    pub assumption: Assumption,
    /// What a `format` was taken for.
    #[serde(default)]
    pub formats: Formats,
    /// Both answers.
    pub verdicts: Verdicts,
    /// The largest bump any tool needs.
    pub required_bump: Bump,
    /// The baseline's label.
    pub baseline: String,
    /// The candidate's label.
    pub candidate: String,
    /// The version of rules and canonicalisation that judged.
    pub rule_set: String,
    /// Tools that are not the same: worst first, those with a witness before others, then by server and name.
    pub tools: Vec<ToolReport>,
    /// How many tools are the same on both sides.
    pub unchanged: usize,
    /// What becomes of recorded calls, where some were given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub calls: Option<RecordedCalls>,
}

impl Report {
    /// How it was judged.
    #[must_use]
    pub fn options(&self) -> Options {
        Options { assume: self.assumption, formats: self.formats }
    }

    /// All findings with their tool: worst first, and of a level those that a witness proves.
    pub fn findings(&self) -> impl Iterator<Item = (&ToolReport, &Finding)> {
        let mut all: Vec<_> =
            self.tools.iter().flat_map(|t| t.findings.iter().map(move |f| (t, f))).collect();
        all.sort_by_key(|(_, f)| (std::cmp::Reverse(f.level), f.witness.is_none()));
        all.into_iter()
    }

    /// The same, each witness in the message that would carry it.
    #[must_use]
    pub fn with_messages(mut self) -> Self {
        for tool in &mut self.tools {
            for finding in &mut tool.findings {
                if let Some(witness) = &mut finding.witness {
                    witness.message = Some(witness.as_message(finding.surface, &tool.tool));
                }
            }
        }
        self
    }

    /// How many findings have this level.
    #[must_use]
    pub fn count(&self, level: Level) -> usize {
        self.tools.iter().flat_map(|t| &t.findings).filter(|f| f.level == level).count()
    }
}
