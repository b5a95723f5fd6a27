//! Review: what is decided of single changes, and what still stands in the way of a version or a move.
//!
//! A decision sticks to the change's fingerprint, so the same change on a later snapshot is decided already. It is never
//! edited: a newer one takes its place. A waiver is an acceptance that ends by itself.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{
    LetGo, Policy,
    announced::{Announced, Notice, notice},
};
use crate::{
    diff::{Finding, Report, ToolReport},
    json::Digest,
    name::{CatalogName, EnvironmentName},
};

/// What is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// The change may come.
    Accept,
    /// The change must not come, whatever the policy says of its level.
    Reject,
    /// What was decided before counts no more.
    Withdraw,
}

impl Ruling {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
            Self::Withdraw => "withdraw",
        }
    }
}

/// One decision on one change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Its number; later ones take the place of earlier ones.
    pub id: i64,
    /// In which catalog.
    pub catalog: CatalogName,
    /// The change.
    pub fingerprint: Digest,
    /// The only environment that it counts for; everywhere where absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub environment: Option<EnvironmentName>,
    /// What was decided.
    pub ruling: Ruling,
    /// Why.
    pub reason: String,
    /// Who answers for it; only for waivers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub owner: Option<String>,
    /// When it ends by itself, which makes it a waiver.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expires: Option<DateTime<Utc>>,
    /// The change in words, as it was when it was decided: `breaking: tool `a`: …`. For readers; never compared.
    pub change: String,
    /// Who decided.
    pub actor: String,
    /// When.
    pub at: DateTime<Utc>,
}

impl Decision {
    /// Whether it ended before `now`.
    #[must_use]
    pub fn is_expired(&self, now: DateTime<Utc>) -> bool {
        self.expires.is_some_and(|end| end <= now)
    }
}

/// The decisions of a catalog, by change.
#[derive(Debug, Clone, Default)]
pub struct Decisions(HashMap<Digest, Vec<Decision>>);

impl FromIterator<Decision> for Decisions {
    fn from_iter<I: IntoIterator<Item = Decision>>(decisions: I) -> Self {
        let mut by_change: HashMap<Digest, Vec<Decision>> = HashMap::new();
        for decision in decisions {
            by_change.entry(decision.fingerprint.clone()).or_default().push(decision);
        }
        for of_one in by_change.values_mut() {
            of_one.sort_by_key(|d| std::cmp::Reverse(d.id));
        }
        Self(by_change)
    }
}

impl Decisions {
    /// What counts of a change now, for a draft (no environment) or for a move to an environment: of what was decided last
    /// for that environment alone and last for all of them, the newer one where either is a rejection, and otherwise
    /// what has not ended, that of the environment first.
    #[must_use]
    pub fn of(
        &self,
        fingerprint: &Digest,
        environment: Option<&EnvironmentName>,
        now: DateTime<Utc>,
    ) -> Option<&Decision> {
        let all = self.0.get(fingerprint)?;
        let newest = |scope: Option<&EnvironmentName>| {
            let last = all.iter().find(|d| d.environment.as_ref() == scope);
            last.filter(|d| d.ruling != Ruling::Withdraw)
        };
        match (environment.and_then(|e| newest(Some(e))), newest(None)) {
            (Some(here), Some(everywhere)) => {
                let rejected = [here, everywhere].iter().any(|d| d.ruling == Ruling::Reject);
                let later = if here.id > everywhere.id { here } else { everywhere };
                match (rejected, here.is_expired(now), everywhere.is_expired(now)) {
                    (true, _, _) => Some(later),
                    (false, true, false) => Some(everywhere),
                    (false, _, _) => Some(here),
                }
            }
            (here, everywhere) => here.or(everywhere),
        }
    }

    /// What counts now: the newest decision on each change in each scope, but for what was withdrawn.
    pub fn current(&self) -> impl Iterator<Item = &Decision> {
        self.0.values().flat_map(|of_one| {
            let mut scopes = HashSet::new();
            let newest = of_one.iter().filter(move |d| scopes.insert(d.environment.as_ref()));
            newest.filter(|d| d.ruling != Ruling::Withdraw)
        })
    }
}

/// Why a change stands in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// It is never accepted.
    Absolute,
    /// Its level blocks, and nobody decided on it.
    Open,
    /// It was refused.
    Rejected(Box<Decision>),
    /// Its waiver has ended.
    Expired(Box<Decision>),
}

impl Cause {
    /// The word.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Absolute => "absolute",
            Self::Open => "open",
            Self::Rejected(_) => "rejected",
            Self::Expired(_) => "waiver-expired",
        }
    }
}

/// A change that stands in the way.
#[derive(Debug, Clone)]
pub struct Blocker<'r> {
    /// Its tool.
    pub tool: &'r ToolReport,
    /// The change as judged.
    pub finding: &'r Finding,
    /// Why.
    pub cause: Cause,
    /// The notice that was given of it, which is not over.
    pub notice: Option<Notice>,
}

impl Blocker<'_> {
    /// One line: the level, the tool, what happened, and, where it is not simply open, why it blocks.
    #[must_use]
    pub fn told(&self) -> String {
        let change = told(self.tool, self.finding);
        let change = match &self.notice {
            Some(notice) => format!("{change} ({})", notice.told()),
            None => change,
        };
        match &self.cause {
            Cause::Absolute | Cause::Open => change,
            Cause::Rejected(d) => format!("{change} (rejected by {}: {})", d.actor, d.reason),
            Cause::Expired(d) => {
                let end = d.expires.map(|e| e.format("%Y-%m-%d").to_string()).unwrap_or_default();
                let owner = d.owner.as_ref().unwrap_or(&d.actor);
                format!("{change} (the waiver of {owner} ended on {end})")
            }
        }
    }
}

/// A change in one line.
#[must_use]
pub fn told(tool: &ToolReport, finding: &Finding) -> String {
    format!("{}: tool `{}`: {}", finding.level, tool.tool, finding.message)
}

/// What changes are judged by.
#[derive(Debug, Clone, Copy)]
pub struct Judging<'a> {
    /// What blocks.
    pub policy: &'a Policy,
    /// What was decided of single changes.
    pub decisions: &'a Decisions,
    /// What was announced to go, and since when.
    pub announced: &'a Announced,
    /// For whoever uses which environment; for a draft none.
    pub environment: Option<&'a EnvironmentName>,
    /// When.
    pub now: DateTime<Utc>,
}

impl<'a> Judging<'a> {
    /// What counts of what was decided of a change.
    #[must_use]
    pub fn decision(&self, finding: &Finding) -> Option<&'a Decision> {
        self.decisions.of(&finding.fingerprint, self.environment, self.now)
    }

    /// The notice that was given of a change that blocks by its level, where the policy promises days and nobody rejected the
    /// change: a rejection counts whatever the policy says.
    #[must_use]
    pub fn notice(&self, tool: &ToolReport, finding: &Finding) -> Option<Notice> {
        let days = self.policy.deprecation_days.filter(|_| self.policy.blocks_finding(finding))?;
        if self.decision(finding).is_some_and(|d| d.ruling == Ruling::Reject) {
            return None;
        }
        notice(self.announced, days, (tool, finding), self.now.date_naive())
    }

    /// What stands in the way of these reports, the worst first; each change once, though several reports tell of it.
    #[must_use]
    pub fn blockers<'r>(&self, reports: impl IntoIterator<Item = &'r Report>) -> Vec<Blocker<'r>> {
        let mut seen = HashSet::new();
        let mut all = Vec::new();
        for (tool, finding) in reports.into_iter().flat_map(Report::findings) {
            if !seen.insert(&finding.fingerprint) {
                continue;
            }
            let notice = self.notice(tool, finding);
            let cause = self.cause(finding, notice.as_ref());
            all.extend(cause.map(|cause| Blocker {
                tool,
                finding,
                cause,
                notice: notice.filter(|notice| !notice.over),
            }));
        }
        // A stable sort: what a witness proves stays before what none does.
        all.sort_by_key(|b| (b.cause != Cause::Absolute, std::cmp::Reverse(b.finding.level)));
        all
    }

    fn cause(&self, finding: &Finding, notice: Option<&Notice>) -> Option<Cause> {
        let blocks = self.policy.blocks_finding(finding) && !notice.is_some_and(|notice| notice.over);
        match self.decision(finding) {
            _ if finding.absolute => Some(Cause::Absolute),
            Some(d) if d.ruling == Ruling::Reject => Some(Cause::Rejected(Box::new(d.clone()))),
            Some(d) if !d.is_expired(self.now) => None,
            Some(d) if blocks => Some(Cause::Expired(Box::new(d.clone()))),
            None if blocks => Some(Cause::Open),
            Some(_) | None => None,
        }
    }

    /// The decisions and waivers, by number, that let changes of these reports pass which block by their level.
    #[must_use]
    pub fn used<'r>(&self, reports: impl IntoIterator<Item = &'r Report>) -> Vec<i64> {
        let mut used: Vec<i64> = reports
            .into_iter()
            .flat_map(Report::findings)
            .filter(|(_, finding)| self.policy.blocks_finding(finding))
            .filter_map(|(_, finding)| self.decision(finding))
            .filter(|d| d.ruling == Ruling::Accept && !d.is_expired(self.now))
            .map(|d| d.id)
            .collect();
        used.sort_unstable();
        used.dedup();
        used
    }

    /// The changes of these reports that block by their level, and pass for nothing but that they were announced for as long as
    /// is promised; each once.
    #[must_use]
    pub fn let_go<'r>(&self, reports: impl IntoIterator<Item = &'r Report>) -> Vec<LetGo> {
        let mut seen = HashSet::new();
        let changes = reports.into_iter().flat_map(Report::findings);
        changes
            .filter(|(_, finding)| self.decision(finding).is_none_or(|d| d.is_expired(self.now)))
            .filter_map(|(tool, finding)| {
                Some((tool, finding, self.notice(tool, finding).filter(|n| n.over)?))
            })
            .filter(|(_, finding, _)| seen.insert(&finding.fingerprint))
            .map(|(tool, finding, notice)| LetGo {
                fingerprint: finding.fingerprint.clone(),
                change: told(tool, finding),
                since: notice.since,
                days: notice.days,
            })
            .collect()
    }
}

/// One approval of a draft, bound to what the draft held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// The draft.
    pub draft: i64,
    /// What was approved: where the draft holds something else now, the approval counts no more.
    pub digest: Digest,
    /// Who.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// One remark on a draft, or on one change in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Comment {
    /// Its number.
    pub id: i64,
    /// The draft.
    pub draft: i64,
    /// The change, where it is on one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fingerprint: Option<Digest>,
    /// What was said.
    pub text: String,
    /// Who.
    pub actor: String,
    /// When.
    pub at: DateTime<Utc>,
}
