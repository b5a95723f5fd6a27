//! Checks: what a build offers, held against what is live somewhere, and kept with where it came from.
//!
//! A check decides nothing. What is decided of its changes sticks to their fingerprints, as everywhere.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::CatalogVersion;
use crate::{
    access::person,
    diff::{Finding, Report, ToolReport},
    json::Digest,
    name::{CatalogName, EnvironmentName, ServerName},
};

/// Where a build came from, as it says itself; for readers, and never judged by.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildContext {
    /// The repository: `acme/orders`, or its URL.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub repository: Option<String>,
    /// The commit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commit: Option<String>,
    /// The branch.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub branch: Option<String>,
    /// The number of its pull or merge request.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pull_request: Option<String>,
}

/// A check that was registered.
#[derive(Debug, Clone)]
pub struct Check {
    /// Its number.
    pub id: i64,
    /// In which catalog.
    pub catalog: CatalogName,
    /// Against what is live where.
    pub environment: EnvironmentName,
    /// What was live there.
    pub version: CatalogVersion,
    /// Which of its servers were checked, by name.
    pub servers: Vec<ServerName>,
    /// Over everything that makes this check this one: the same build against the same version is registered once.
    pub digest: Digest,
    /// Where the build came from.
    pub context: BuildContext,
    /// What changes for whoever uses the environment.
    pub report: Report,
    /// The same against what was live before that, where the policy looks further back.
    pub earlier: Vec<Report>,
    /// Who registered it.
    pub created_by: String,
    /// When.
    pub created_at: DateTime<Utc>,
}

impl Check {
    /// Every report.
    pub fn reports(&self) -> impl Iterator<Item = &Report> {
        std::iter::once(&self.report).chain(&self.earlier)
    }

    /// Every finding of them.
    pub fn findings(&self) -> impl Iterator<Item = (&ToolReport, &Finding)> {
        self.reports().flat_map(Report::findings)
    }

    /// Whether it is somebody's own: registered by them, or by a pipeline or an agent of theirs.
    #[must_use]
    pub fn is_of(&self, actor: &str) -> bool {
        person(&self.created_by) == person(actor)
    }
}

/// One report of several: to the findings of the first are added those that only the others have, each with what it is
/// against, for readers who want one list.
#[must_use]
pub fn folded(mut report: Report, earlier: &[Report]) -> Report {
    let mut seen: HashSet<Digest> = report.findings().map(|(_, f)| f.fingerprint.clone()).collect();
    for other in earlier {
        for tool in &other.tools {
            let mut added: Vec<Finding> =
                tool.findings.iter().filter(|f| seen.insert(f.fingerprint.clone())).cloned().collect();
            if added.is_empty() {
                continue;
            }
            for finding in &mut added {
                finding.message = format!("{} (against {})", finding.message, other.baseline);
            }
            match report.tools.iter_mut().find(|t| t.server == tool.server && t.tool == tool.tool) {
                Some(known) => {
                    known.findings.append(&mut added);
                    known.findings.sort_by_key(|f| (std::cmp::Reverse(f.level), f.witness.is_none()));
                    known.verdict = known.verdict.max(tool.verdict);
                    known.required_bump = known.required_bump.max(tool.required_bump);
                }
                None => {
                    report.tools.push(ToolReport { findings: added, ..tool.clone() });
                    report.unchanged = report.unchanged.saturating_sub(1);
                }
            }
        }
        report.verdict = report.verdict.max(other.verdict);
        report.required_bump = report.required_bump.max(other.required_bump);
    }
    report
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        contract::Contract,
        diff::{Side, diff},
        snapshot::RawTool,
    };

    fn side(label: &str, properties: Value) -> Side {
        let tool = json!({"name": "find", "inputSchema": {"type": "object", "properties": properties}});
        let raw = serde_json::value::to_raw_value(&tool).expect("JSON");
        let contract = Contract::of(&RawTool { index: 0, raw: raw.into() }).expect("a tool");
        Side { label: label.to_owned(), servers: vec![(None, vec![contract])] }
    }

    #[test]
    fn what_only_an_older_version_shows_stands_in_one_list_with_what_it_is_against() {
        let states = |states: Value| json!({"state": {"enum": states}});
        let (old, live) = (side("v1", states(json!(["a", "b"]))), side("v2", states(json!(["b", "c"]))));
        let now = side("build", states(json!(["b"])));
        let options = crate::diff::Options::default();
        let (report, older) = (diff(&live, &now, options), diff(&old, &now, options));
        let both = folded(report.clone(), std::slice::from_ref(&older));
        let told: Vec<_> = both.findings().map(|(_, f)| f.message.as_str()).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[1].ends_with("(against v1)"), "{told:?}");
        // What is the same on the newest alone is no tool more.
        let same = folded(diff(&now, &now, options), &[older]);
        assert_eq!((same.tools.len(), same.unchanged), (1, 0));
        assert_eq!(folded(report.clone(), &[]), report);
    }
}
