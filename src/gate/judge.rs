//! A report, judged: which of its findings block, which may pass and why.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use serde::Serialize;

use super::{
    declared::VersionCheck,
    lock::Lock,
    policy::{DeclaredVersion, Policy},
    waiver::Waiver,
};
use crate::{
    catalog::announced::{Announced, Notice, notice},
    diff::{Bump, Finding, Level, Report, ToolReport},
    json::Digest,
};

/// What a report is judged by.
#[derive(Debug, Clone, Default)]
pub struct Grounds {
    /// What blocks.
    pub policy: Policy,
    /// What may pass for a while.
    pub waivers: Vec<Waiver>,
    /// What was announced to go and since when: the places of each tool, by server and tool.
    pub announced: Announced,
    /// What versions are declared.
    pub versions: Vec<VersionCheck>,
}

/// How one finding stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Standing {
    /// Its level does not block.
    Passes,
    /// It blocks.
    Blocks,
    /// It would block, and a waiver lets it pass.
    Waived {
        /// Which.
        waiver: Waiver,
    },
    /// It blocks, for its waiver has ended.
    Expired {
        /// Which.
        waiver: Waiver,
    },
    /// It would block, and was announced long enough.
    Announced {
        /// Since when.
        since: NaiveDate,
    },
    /// It blocks, for it was announced, and not long enough.
    TooSoon {
        /// Since when.
        since: NaiveDate,
        /// From when on it may come.
        from: NaiveDate,
    },
    /// It would block, and the declared version says that it comes.
    Versioned {
        /// The version.
        version: String,
    },
    /// It would block, and somebody accepted it at the service.
    Accepted {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// It blocks, for somebody rejected it at the service.
    Rejected {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
}

impl Standing {
    /// Whether it stands in the way.
    #[must_use]
    pub fn blocks(&self) -> bool {
        matches!(self, Self::Blocks | Self::Expired { .. } | Self::TooSoon { .. } | Self::Rejected { .. })
    }
}

impl From<Notice> for Standing {
    fn from(notice: Notice) -> Self {
        let Notice { since, from, over, .. } = notice;
        if over { Self::Announced { since } } else { Self::TooSoon { since, from } }
    }
}

/// The finding that failed a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Blocked {
    /// The rule.
    pub rule: String,
    /// The level of its finding.
    pub level: Level,
    /// The server; empty where neither side says.
    pub server: String,
    /// The tool; empty where it is about the server.
    pub tool: String,
}

/// A report, judged.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The report, with the levels that the policy gives.
    pub report: Report,
    /// What it was judged by.
    pub grounds: Grounds,
    /// How each finding stands that does not simply pass.
    pub standing: BTreeMap<Digest, Standing>,
    /// What failed the gate first; nothing where it passes.
    pub blocked: Option<Blocked>,
    /// How many things block.
    pub blocking: usize,
    /// Waivers that no finding needed.
    pub unused: Vec<Waiver>,
}

/// The rule that a version which is too low fails by. It is no rule of a diff: no change of a tool shows it.
pub const VERSION_TOO_LOW: &str = "version-too-low";

/// Judges a report.
#[must_use]
pub fn judge(report: Report, grounds: Grounds, today: NaiveDate) -> Judgement {
    let report = grounds.policy.relevelled(report);
    counted(report, grounds, |grounds, tool, finding| grounds.standing(tool, finding, today))
}

/// A report of which somebody else said how each finding stands: the service, by what was decided there. Of the grounds only
/// the versions count beside.
#[must_use]
pub fn judged_elsewhere(
    report: Report,
    grounds: Grounds,
    standing: &BTreeMap<Digest, Standing>,
) -> Judgement {
    counted(report, grounds, |_, _, finding| {
        standing.get(&finding.fingerprint).cloned().unwrap_or(Standing::Passes)
    })
}

fn counted(
    report: Report,
    grounds: Grounds,
    stands: impl Fn(&Grounds, &ToolReport, &Finding) -> Standing,
) -> Judgement {
    let mut standing = BTreeMap::new();
    let mut blocked: Option<Blocked> = None;
    let mut blocking = 0;
    let mut used = vec![false; grounds.waivers.len()];
    for (tool, finding) in report.findings() {
        for (used, waiver) in used.iter_mut().zip(&grounds.waivers) {
            *used |= waiver.is_of(&finding.fingerprint);
        }
        let stands = stands(&grounds, tool, finding);
        if stands == Standing::Passes {
            continue;
        }
        if stands.blocks() {
            blocking += 1;
            blocked.get_or_insert_with(|| Blocked {
                rule: finding.rule.clone(),
                level: finding.level,
                server: tool.server.clone(),
                tool: tool.tool.clone(),
            });
        }
        standing.insert(finding.fingerprint.clone(), stands);
    }
    if grounds.policy.declared_version.blocks() {
        for version in grounds.versions.iter().filter(|v| !v.enough) {
            blocking += 1;
            blocked.get_or_insert_with(|| Blocked {
                rule: VERSION_TOO_LOW.to_owned(),
                level: report.verdict,
                server: version.server.clone(),
                tool: version.tool.clone().unwrap_or_default(),
            });
        }
    }
    let unused = grounds.waivers.iter().zip(used).filter(|(_, used)| !used).map(|(w, _)| w.clone()).collect();
    Judgement { report, grounds, standing, blocked, blocking, unused }
}

impl Grounds {
    fn standing(&self, tool: &ToolReport, finding: &Finding, today: NaiveDate) -> Standing {
        if !self.policy.blocks(finding) {
            return Standing::Passes;
        }
        if finding.absolute {
            return Standing::Blocks;
        }
        // Of several on one change, one that counts is enough; of those that ended, the last is named.
        let mut waivers: Vec<&Waiver> =
            self.waivers.iter().filter(|w| w.is_of(&finding.fingerprint)).collect();
        waivers.sort_by_key(|w| w.expires);
        let waiver = waivers.last().map(|w| (*w).clone());
        if let Some(waiver) = waiver.clone().filter(|w| !w.is_expired(today)) {
            return Standing::Waived { waiver };
        }
        if let Some(version) = self.versioned(&tool.server, finding.level) {
            return Standing::Versioned { version };
        }
        match (self.announced(tool, finding, today), waiver) {
            (Some(Standing::Announced { since }), _) => Standing::Announced { since },
            (_, Some(waiver)) => Standing::Expired { waiver },
            (Some(stands), None) => stands,
            (None, None) => Standing::Blocks,
        }
    }

    /// Where a raised major says that breaks come.
    fn versioned(&self, server: &str, level: Level) -> Option<String> {
        if self.policy.declared_version != DeclaredVersion::Allow || level != Level::Breaking {
            return None;
        }
        let mut of_server = self.versions.iter().filter(|v| v.server == server && v.tool.is_none());
        of_server.find(|v| v.enough && v.bump == Bump::Major).map(|v| v.declared.clone())
    }

    /// Deprecate, then remove.
    fn announced(&self, tool: &ToolReport, finding: &Finding, today: NaiveDate) -> Option<Standing> {
        let notice = notice(&self.announced, self.policy.deprecation_days?, (tool, finding), today)?;
        Some(notice.into())
    }
}

/// What a lockfile says was announced.
#[must_use]
pub fn announced(lock: &Lock) -> Announced {
    let tools = lock.servers.iter().flat_map(|s| s.tools.iter().map(move |t| (s, t)));
    tools
        .filter(|(_, tool)| !tool.announced.is_empty())
        .map(|(server, tool)| ((server.name.to_string(), tool.contract.name.clone()), tool.announced.clone()))
        .collect()
}

impl Judgement {
    /// How a finding stands.
    #[must_use]
    pub fn of(&self, finding: &Finding) -> &Standing {
        self.standing.get(&finding.fingerprint).unwrap_or(&Standing::Passes)
    }

    /// The check of a server's declared version.
    #[must_use]
    pub fn version_of(&self, server: &str) -> Option<&VersionCheck> {
        self.grounds.versions.iter().find(|v| v.server == server && v.tool.is_none())
    }

    /// The findings with their tools and how each stands: what blocks first, then the worst.
    pub fn findings(&self) -> impl Iterator<Item = (&ToolReport, &Finding, &Standing)> {
        let mut all: Vec<_> = self.report.findings().map(|(t, f)| (t, f, self.of(f))).collect();
        all.sort_by_key(|(_, _, standing)| !standing.blocks());
        all.into_iter()
    }

    /// Versions that are too low and worth a line: where that blocks, or where breaks come under them. The rest would be said
    /// of every pull request of those who raise versions when they release.
    pub fn low_versions(&self) -> impl Iterator<Item = &VersionCheck> {
        let blocks = self.grounds.policy.declared_version.blocks();
        self.grounds.versions.iter().filter(move |v| !v.enough && (blocks || v.bump == Bump::Major))
    }

    /// Waivers that have ended and that somebody needed.
    pub fn expired(&self) -> impl Iterator<Item = &Waiver> {
        self.standing.values().filter_map(|standing| match standing {
            Standing::Expired { waiver } => Some(waiver),
            _ => None,
        })
    }
}
