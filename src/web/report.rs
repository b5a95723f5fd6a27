//! A report as the review and diff pages show it: findings by level, worst first, and below each level by tool.
//!
//! It only arranges what the engine said. A level, a witness or a verdict is never made here.

use std::collections::HashMap;

use serde_json::Value;

use super::text;
use crate::{
    catalog::{Content, ContractVersion},
    diff::{Assumption, Finding, Level, Report, Status, Surface, ToolReport, Verdict, Witness, rules},
};

/// More findings of one level than anybody reads on a page; the API has them all.
const FINDINGS: usize = 100;

/// More tools than anybody looks through one by one.
const TOOLS: usize = 200;

/// What a page shows of a report.
pub(super) struct ReportView<'r> {
    pub(super) report: &'r Report,
    /// Breaking, risky, undecided, compatible.
    pub(super) levels: Vec<LevelView<'r>>,
    pub(super) tools: Vec<ToolLine<'r>>,
    /// Tools that are only written otherwise and need no bump, behind one line.
    pub(super) rewritten: Vec<ToolLine<'r>>,
    /// How many more there are than stand in either.
    pub(super) left_out: usize,
    /// Each assumption with its verdict and the link that switches to it.
    pub(super) assumptions: [AssumptionLink; 2],
}

/// One answer to "what do callers send?".
pub(super) struct AssumptionLink {
    pub(super) assumption: Assumption,
    pub(super) verdict: Verdict,
    pub(super) means: &'static str,
    pub(super) href: String,
    pub(super) current: bool,
}

/// The findings of one level.
pub(super) struct LevelView<'r> {
    pub(super) level: Level,
    pub(super) title: &'static str,
    /// What the level says, in one sentence.
    pub(super) means: &'static str,
    pub(super) count: usize,
    pub(super) left_out: usize,
    pub(super) tools: Vec<ToolFindings<'r>>,
    /// Tools of which there is only to say that they are written otherwise.
    pub(super) notation: Option<Notation<'r>>,
}

/// Several tools that are only written otherwise, told at once.
pub(super) struct Notation<'r> {
    /// What is said of each.
    pub(super) finding: &'r Finding,
    pub(super) tools: Vec<&'r ToolReport>,
    /// How many more there are.
    pub(super) left_out: usize,
}

/// The findings of one level in one tool.
pub(super) struct ToolFindings<'r> {
    pub(super) tool: &'r ToolReport,
    pub(super) findings: Vec<FindingView<'r>>,
}

/// One finding.
pub(super) struct FindingView<'r> {
    pub(super) finding: &'r Finding,
    /// The rule has a page of its own; one of a later or an earlier release may have none.
    pub(super) documented: bool,
    pub(super) values: Values<'r>,
    pub(super) witness: Option<WitnessView<'r>>,
}

/// What stood there and what stands there.
pub(super) enum Values<'r> {
    /// Nothing to compare.
    None,
    /// Two texts, compared by words; HTML that is safe.
    Words(String),
    /// Two values, or one.
    Pair {
        /// Before.
        baseline: Option<&'r Value>,
        /// Now.
        candidate: Option<&'r Value>,
    },
}

/// The proof, in words around the value.
pub(super) struct WitnessView<'r> {
    pub(super) witness: &'r Witness,
    pub(super) title: &'static str,
    pub(super) fine: &'static str,
    pub(super) fine_with: &'r str,
    pub(super) refused: &'static str,
    pub(super) refused_by: &'r str,
}

/// A tool that is not the same on both sides.
pub(super) struct ToolLine<'r> {
    pub(super) tool: &'r ToolReport,
    pub(super) from: Option<ContractVersion>,
    pub(super) to: Option<ContractVersion>,
}

impl<'r> ReportView<'r> {
    /// `address` is the page without `assume`, ending in `?` or `&`.
    pub(super) fn new(report: &'r Report, address: &str) -> Self {
        let levels = [Level::Breaking, Level::Risky, Level::Undecided, Level::Compatible];
        let levels = levels.map(|level| LevelView::new(report, level)).into();
        Self { levels, ..Self::of_tools(report, address, (None, None), TOOLS) }
    }

    /// Without the findings: the verdict, and at most `most` tools with their versions before and after.
    pub(super) fn of_tools(
        report: &'r Report,
        address: &str,
        (before, after): (Option<&Content>, Option<&Content>),
        most: usize,
    ) -> Self {
        let (before, after) = (versions(before), versions(after));
        let lookup = |of: &Versions<'_>, t: &ToolReport| {
            of.get(&(t.server.as_str(), t.tool.as_str())).cloned().cloned()
        };
        let line = |tool| ToolLine { tool, from: lookup(&before, tool), to: lookup(&after, tool) };
        // Any other tool says something of its own.
        let rewritten = |tool: &&ToolReport| tool.verdict == Level::Compatible && tool.is_notation();
        let fold = report.tools.iter().filter(rewritten).count() > 1;
        let (rewritten, tools): (Vec<_>, Vec<_>) =
            report.tools.iter().take(most).partition(|tool| fold && rewritten(tool));
        Self {
            levels: Vec::new(),
            tools: tools.into_iter().map(line).collect(),
            rewritten: rewritten.into_iter().map(line).collect(),
            left_out: report.tools.len().saturating_sub(most),
            assumptions: [Assumption::Declared, Assumption::Strict].map(|assumption| AssumptionLink {
                assumption,
                verdict: match assumption {
                    Assumption::Declared => report.verdicts.declared,
                    Assumption::Strict => report.verdicts.strict,
                },
                means: match assumption {
                    Assumption::Declared => "callers send only what the baseline declares",
                    Assumption::Strict => "callers send anything the baseline allows",
                },
                href: format!("{address}assume={assumption}"),
                current: assumption == report.assumption,
            }),
            report,
        }
    }
}

impl ReportView<'_> {
    /// The verdict in one sentence.
    pub(super) fn meaning(&self) -> &'static str {
        match self.report.verdict {
            Level::Breaking => "Some call or result that is fine under the baseline is not fine any more.",
            Level::Undecided => {
                "Something could not be proved either way; unknown is never read as compatible."
            }
            Level::Risky => "No schema breaks, but what happens may change.",
            Level::Compatible => "Every change is proved harmless, or words only.",
        }
    }
}

type Versions<'c> = HashMap<(&'c str, &'c str), &'c ContractVersion>;

fn versions(content: Option<&Content>) -> Versions<'_> {
    let members = content.map_or(&[][..], |c| &c.members);
    members
        .iter()
        .map(|m| ((m.server.as_ref().map_or("", |s| s.as_str()), m.tool.as_str()), &m.contract_version))
        .collect()
}

impl<'r> LevelView<'r> {
    fn new(report: &'r Report, level: Level) -> Self {
        let count = report.count(level);
        let notation = Notation::new(report, level);
        let mut room = FINDINGS;
        let mut tools = Vec::new();
        // A call that fails says more than a sentence about it, so proved tools stand first.
        let folded = |tool: &&ToolReport| notation.is_some() && tool.is_notation();
        let mut all: Vec<_> = report.tools.iter().filter(|tool| !folded(tool)).collect();
        all.sort_by_key(|t| !t.findings.iter().any(|f| f.level == level && f.witness.is_some()));
        for tool in all {
            let of_level = tool.of_level(level).take(room);
            let findings: Vec<_> = of_level.map(|f| FindingView::new(report, f)).collect();
            room -= findings.len();
            if !findings.is_empty() {
                tools.push(ToolFindings { tool, findings });
            }
        }
        let (title, means) = match level {
            Level::Breaking => ("Breaking", "A call or a result that was fine is not fine now."),
            Level::Risky => ("Risky", "Breaks no schema, and may change what happens."),
            Level::Undecided => ("Undecided", "Not proved either way; never read as compatible."),
            Level::Compatible => ("Compatible", "Proved harmless, or words only."),
        };
        let told: usize = report.tools.iter().filter(folded).map(|t| t.of_level(level).count()).sum();
        Self { level, title, means, count, left_out: count - told - (FINDINGS - room), tools, notation }
    }
}

impl<'r> Notation<'r> {
    /// Nothing where there are not several, or on another level than theirs.
    fn new(report: &'r Report, level: Level) -> Option<Self> {
        let all: Vec<&ToolReport> = report.tools.iter().filter(|tool| tool.is_notation()).collect();
        let finding = all.first()?.of_level(level).next()?;
        (level == Level::Compatible && all.len() > 1).then(|| Self {
            finding,
            left_out: all.len().saturating_sub(TOOLS),
            tools: all.into_iter().take(TOOLS).collect(),
        })
    }

    /// How many tools.
    pub(super) fn count(&self) -> usize {
        self.tools.len() + self.left_out
    }
}

impl<'r> FindingView<'r> {
    pub(super) fn new(report: &'r Report, finding: &'r Finding) -> Self {
        let values = match (&finding.baseline, &finding.candidate) {
            (None, None) => Values::None,
            (Some(Value::String(was)), Some(Value::String(now))) if is_prose(was) || is_prose(now) => {
                text::word_diff(was, now).map_or(
                    Values::Pair {
                        baseline: finding.baseline.as_ref(),
                        candidate: finding.candidate.as_ref(),
                    },
                    Values::Words,
                )
            }
            (baseline, candidate) => {
                Values::Pair { baseline: baseline.as_ref(), candidate: candidate.as_ref() }
            }
        };
        let (baseline, candidate) = (report.baseline.as_str(), report.candidate.as_str());
        let witness = finding.witness.as_ref().map(|witness| match finding.surface {
            // A result: the candidate may return what the baseline never promised.
            Surface::Output => WitnessView {
                witness,
                title: "A result that callers were never promised",
                fine: "may be returned by",
                fine_with: candidate,
                refused: "not admitted by",
                refused_by: baseline,
            },
            Surface::Listing | Surface::Input | Surface::Annotations | Surface::Presentation => WitnessView {
                witness,
                title: "A call that worked and fails now",
                fine: "accepted by",
                fine_with: baseline,
                refused: "rejected by",
                refused_by: candidate,
            },
        });
        Self { documented: rules::find(&finding.rule).is_some(), finding, values, witness }
    }
}

/// Texts of several words are compared by words; names and enum values stand beside each other.
fn is_prose(text: &str) -> bool {
    text.contains(char::is_whitespace)
}

impl ToolFindings<'_> {
    /// What happened to the tool, where that is not simply a change.
    pub(super) fn status(&self) -> &'static str {
        status(self.tool.status)
    }
}

impl ToolLine<'_> {
    pub(super) fn status(&self) -> &'static str {
        status(self.tool.status)
    }
}

/// What happened to a tool.
pub(super) fn status(status: Status) -> &'static str {
    match status {
        Status::Added => "added",
        Status::Removed => "removed",
        Status::Changed => "changed",
    }
}
