//! GitLab's code quality report: an array of issues, shown in the merge request.

use serde::Serialize;

use super::{Degree, Told, degree, failed_server};
use crate::{app::AppError, cli::render::json, cli::render::safe, diff::Level, json::Digest};

#[derive(Serialize)]
struct Issue {
    description: String,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: usize,
}

pub(super) fn report(told: &Told) -> Result<String, AppError> {
    let at = |begin| Location { path: told.at.path(), lines: Lines { begin } };
    let mut issues: Vec<Issue> = told
        .failed
        .iter()
        .map(|failed| Issue {
            description: safe::line(&failed.error.message, 1_000),
            check_name: failed.error.code.to_owned(),
            fingerprint: Digest::of_bytes(
                format!("{} {}", failed.error.code, failed_server(failed)).as_bytes(),
            )
            .to_string(),
            severity: "blocker",
            location: at(1),
        })
        .collect();
    for (tool, finding, standing) in told.judgement.iter().flat_map(|j| j.findings()) {
        if finding.level == Level::Compatible && !standing.blocks() {
            continue;
        }
        issues.push(Issue {
            description: safe::line(&format!("tool `{}`: {}", tool.tool, finding.message), 1_000),
            check_name: finding.rule.clone(),
            fingerprint: finding.fingerprint.to_string(),
            severity: match (degree(finding, standing), finding.level) {
                (Degree::Error, _) => "critical",
                (_, Level::Breaking) => "major",
                (_, Level::Undecided | Level::Risky) => "minor",
                (_, Level::Compatible) => "info",
            },
            location: at(told.at.line(&tool.server, &tool.tool)),
        });
    }
    json::document(&issues)
}
