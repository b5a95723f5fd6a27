//! What blocks in CI: levels by surface, and what a repository says of single rules at single places.

use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobMatcher};
use serde::Serialize;

use crate::{
    catalog::{self, Selection, policy::Direction, selection::Matcher},
    diff::{Assumption, Finding, Formats, Level, Options, Report, Surface, ToolReport},
    name::ServerName,
};

/// Every surface.
pub const SURFACES: [Surface; 5] =
    [Surface::Listing, Surface::Input, Surface::Output, Surface::Annotations, Surface::Presentation];

/// What blocks.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// What callers are taken to send.
    pub assume: Assumption,
    /// What a `format` is taken for.
    pub formats: Formats,
    /// Levels that block. Absolute findings block whatever stands here.
    pub fail_on: Vec<Level>,
    /// The surfaces on which other levels block.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub surfaces: BTreeMap<Surface, Vec<Level>>,
    /// What is judged otherwise than its rule says; the first that fits holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Override>,
    /// What is made of the version that a server declares.
    pub declared_version: DeclaredVersion,
    /// After how many days what was announced to go may go; never where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecation_days: Option<u32>,
}

impl Default for Policy {
    fn default() -> Self {
        catalog::Policy::default().into()
    }
}

impl From<catalog::Policy> for Policy {
    fn from(policy: catalog::Policy) -> Self {
        let catalog::Policy { assume, formats, fail_on, compatibility, .. } = policy;
        let left_out = match compatibility {
            Direction::Full => None,
            Direction::Input => Some(Surface::Output),
            Direction::Output => Some(Surface::Input),
        };
        Self {
            assume,
            formats,
            fail_on,
            surfaces: left_out.map(|surface| (surface, Vec::new())).into_iter().collect(),
            rules: Vec::new(),
            declared_version: DeclaredVersion::default(),
            // What was announced in a catalog knows who judges there, and says so of each finding.
            deprecation_days: None,
        }
    }
}

/// What is made of the version that a server declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeclaredVersion {
    /// It is not looked at.
    Off,
    /// A version that is too low for what changed is told.
    #[default]
    Tell,
    /// One that is too low blocks.
    Require,
    /// One that is too low blocks, and one that is not lets breaks pass: whoever raised the major said so.
    Allow,
}

impl DeclaredVersion {
    /// Every word.
    pub const ALL: [Self; 4] = [Self::Off, Self::Tell, Self::Require, Self::Allow];

    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Tell => "tell",
            Self::Require => "require",
            Self::Allow => "allow",
        }
    }

    /// The same where another says what blocks: that a raised major lets breaks pass is theirs to say.
    #[must_use]
    pub fn hardened(self) -> Self {
        match self {
            Self::Allow => Self::Require,
            Self::Off | Self::Tell | Self::Require => self,
        }
    }

    /// Whether a version that is too low blocks.
    #[must_use]
    pub fn blocks(self) -> bool {
        matches!(self, Self::Require | Self::Allow)
    }
}

/// A rule that is judged otherwise at some places.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Override {
    /// Which; any where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Of which server; any where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerName>,
    /// Of which tools.
    #[serde(skip_serializing_if = "Selection::is_all")]
    pub tools: Selection,
    /// On which surface; any where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surface: Option<Surface>,
    /// At which places: a glob over the pointer (`/properties/*/enum`, `/properties/filter/**`); anywhere where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The level that it has there.
    pub level: Level,
}

/// A pattern of places. `*` stands for one step of a pointer, `**` for any number of them.
///
/// # Errors
/// What is wrong with it.
pub fn places(pattern: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
    glob.map(|g| g.compile_matcher()).map_err(|e| e.kind().to_string())
}

/// The levels from this one on: what is at least as bad.
#[must_use]
pub fn from(level: Option<Level>) -> Vec<Level> {
    let all = [Level::Breaking, Level::Undecided, Level::Risky, Level::Compatible];
    all.into_iter().filter(|l| level.is_some_and(|least| *l >= least)).collect()
}

impl Policy {
    /// How a diff is judged under it.
    #[must_use]
    pub fn options(&self) -> Options {
        Options { assume: self.assume, formats: self.formats }
    }

    /// The same, with these levels on every surface.
    #[must_use]
    pub fn failing_on(self, levels: Vec<Level>) -> Self {
        Self { fail_on: levels, surfaces: BTreeMap::new(), ..self }
    }

    /// The levels that block on a surface.
    #[must_use]
    pub fn levels(&self, surface: Surface) -> &[Level] {
        self.surfaces.get(&surface).unwrap_or(&self.fail_on)
    }

    /// Whether this finding blocks by its level.
    #[must_use]
    pub fn blocks(&self, finding: &Finding) -> bool {
        finding.absolute || self.levels(finding.surface).contains(&finding.level)
    }

    /// The report with the levels that this policy gives to its findings. Never those of absolute ones.
    #[must_use]
    pub fn relevelled(&self, mut report: Report) -> Report {
        if self.rules.is_empty() {
            return report;
        }
        let asked: Vec<Asked<'_>> = self.rules.iter().map(Asked::of).collect();
        for tool in &mut report.tools {
            let mut findings = std::mem::take(&mut tool.findings);
            for finding in &mut findings {
                if let Some(asked) = asked.iter().find(|a| !finding.absolute && a.fits(tool, finding)) {
                    finding.level = asked.is.level;
                }
            }
            findings.sort_by_key(|f| (std::cmp::Reverse(f.level), f.witness.is_none()));
            tool.verdict = findings.iter().map(|f| f.level).max().unwrap_or(Level::Compatible);
            tool.findings = findings;
        }
        report.verdict = report.tools.iter().map(|t| t.verdict).max().unwrap_or(Level::Compatible);
        report
    }
}

struct Asked<'p> {
    is: &'p Override,
    tools: Matcher,
    at: Option<GlobMatcher>,
}

impl<'p> Asked<'p> {
    fn of(is: &'p Override) -> Self {
        // The settings were refused where it is none.
        Self { is, tools: is.tools.matcher(), at: is.at.as_deref().and_then(|at| places(at).ok()) }
    }

    fn fits(&self, tool: &ToolReport, finding: &Finding) -> bool {
        let Override { rule, server, surface, at, .. } = self.is;
        rule.as_ref().is_none_or(|rule| *rule == finding.rule)
            && server.as_ref().is_none_or(|server| server.as_str() == tool.server)
            && self.tools.holds(&tool.tool)
            && surface.is_none_or(|surface| surface == finding.surface)
            && (at.is_none() || self.at.as_ref().is_some_and(|at| at.is_match(finding.pointer.as_str())))
    }
}
