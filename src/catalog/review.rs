//! Review: what is decided of single changes, and what still stands in the way of a version or a move.
//!
//! A decision sticks to the change's fingerprint, so the same change on a later snapshot is decided already. It is never
//! edited: a newer one takes its place. A waiver is an acceptance that ends by itself.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::Policy;
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
            let mut scopes = std::collections::HashSet::new();
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
}

impl Blocker<'_> {
    /// One line: the level, the tool, what happened, and, where it is not simply open, why it blocks.
    #[must_use]
    pub fn told(&self) -> String {
        let change = told(self.tool, self.finding);
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

/// What stands in the way of these reports under a policy, the worst first; each change once, though several reports
/// tell of it.
#[must_use]
pub fn blockers<'r>(
    policy: &Policy,
    reports: impl IntoIterator<Item = &'r Report>,
    decisions: &Decisions,
    environment: Option<&EnvironmentName>,
    now: DateTime<Utc>,
) -> Vec<Blocker<'r>> {
    let mut seen = std::collections::HashSet::new();
    let mut all = Vec::new();
    for report in reports {
        for (tool, finding) in report.findings() {
            if !seen.insert(&finding.fingerprint) {
                continue;
            }
            let cause = match decisions.of(&finding.fingerprint, environment, now) {
                _ if finding.absolute => Some(Cause::Absolute),
                Some(d) if d.ruling == Ruling::Reject => Some(Cause::Rejected(Box::new(d.clone()))),
                Some(d) if !d.is_expired(now) => None,
                Some(d) if policy.blocks_finding(finding) => Some(Cause::Expired(Box::new(d.clone()))),
                None if policy.blocks_finding(finding) => Some(Cause::Open),
                Some(_) | None => None,
            };
            all.extend(cause.map(|cause| Blocker { tool, finding, cause }));
        }
    }
    // A stable sort: what a witness proves stays before what none does.
    all.sort_by_key(|b| (b.cause != Cause::Absolute, std::cmp::Reverse(b.finding.level)));
    all
}

/// The decisions and waivers, by number, without which a change of these reports would block.
#[must_use]
pub fn used<'r>(
    policy: &Policy,
    reports: impl IntoIterator<Item = &'r Report>,
    decisions: &Decisions,
    environment: Option<&EnvironmentName>,
    now: DateTime<Utc>,
) -> Vec<i64> {
    let mut used: Vec<i64> = reports
        .into_iter()
        .flat_map(Report::findings)
        .filter(|(_, finding)| policy.blocks_finding(finding))
        .filter_map(|(_, finding)| decisions.of(&finding.fingerprint, environment, now))
        .filter(|d| d.ruling == Ruling::Accept && !d.is_expired(now))
        .map(|d| d.id)
        .collect();
    used.sort_unstable();
    used.dedup();
    used
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
