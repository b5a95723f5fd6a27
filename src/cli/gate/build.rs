//! Where a build comes from, as its pipeline says: GitHub Actions, GitLab CI, or whoever calls.

use std::{env, fs};

use serde::Serialize;
use serde_json::Value;

/// What is said on the command line; it counts more than what a pipeline says.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// The repository of the build. Default, as for the others: what GitHub Actions or GitLab CI says.
    #[arg(long, value_name = "NAME")]
    repository: Option<String>,
    /// Its commit.
    #[arg(long, value_name = "SHA")]
    commit: Option<String>,
    /// Its branch.
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// The number of its pull or merge request.
    #[arg(long, value_name = "NUMBER")]
    pull_request: Option<String>,
}

/// Where a build comes from.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Build {
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pull_request: Option<String>,
}

/// More of a text is not taken by the service.
const LONGEST: usize = 400;

impl Args {
    /// What is known of the build.
    pub(super) fn build(&self) -> Build {
        let found = of(|name| env::var(name).ok(), |path| fs::read_to_string(path).ok());
        Build {
            repository: self.repository.clone().or(found.repository),
            commit: self.commit.clone().or(found.commit),
            branch: self.branch.clone().or(found.branch),
            pull_request: self.pull_request.clone().or(found.pull_request),
        }
        .fitting()
    }
}

impl Build {
    /// What the service would refuse is left out: it is for readers, and no gate fails for it.
    fn fitting(self) -> Self {
        let fits = |text: &String| (1..=LONGEST).contains(&text.len()) && !text.chars().any(char::is_control);
        Self {
            repository: self.repository.filter(fits),
            commit: self.commit.filter(fits),
            branch: self.branch.filter(fits),
            pull_request: self.pull_request.filter(fits),
        }
    }
}

/// What a pipeline's variables say, and the file of the event that GitHub names.
fn of(variable: impl Fn(&str) -> Option<String>, file: impl Fn(&str) -> Option<String>) -> Build {
    let said = |name: &str| variable(name).filter(|value| !value.is_empty());
    let is = |name: &str| variable(name).is_some_and(|value| value == "true");
    if is("GITHUB_ACTIONS") {
        let event: Value = said("GITHUB_EVENT_PATH")
            .and_then(|path| file(&path))
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        let request = event.get("pull_request");
        // What is checked out for a pull request is a merge that nobody ever sees.
        let head = request.and_then(|r| r.pointer("/head/sha")).and_then(Value::as_str).map(str::to_owned);
        let number = request.and_then(|r| r.get("number")).and_then(Value::as_i64);
        let of_ref = || {
            let name = said("GITHUB_REF")?;
            let number = name.strip_prefix("refs/pull/")?.split('/').next()?.to_owned();
            (!number.is_empty()).then_some(number)
        };
        return Build {
            repository: said("GITHUB_REPOSITORY"),
            commit: head.or_else(|| said("GITHUB_SHA")),
            branch: said("GITHUB_HEAD_REF").or_else(|| said("GITHUB_REF_NAME")),
            pull_request: number.map(|number| number.to_string()).or_else(of_ref),
        };
    }
    if is("GITLAB_CI") {
        return Build {
            repository: said("CI_PROJECT_PATH"),
            commit: said("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA").or_else(|| said("CI_COMMIT_SHA")),
            branch: said("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME").or_else(|| said("CI_COMMIT_REF_NAME")),
            pull_request: said("CI_MERGE_REQUEST_IID"),
        };
    }
    Build::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipeline_says_where_a_build_comes_from() {
        let event = r#"{"pull_request": {"number": 42, "head": {"sha": "3f9c2d1"}}}"#;
        let github = [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_REPOSITORY", "acme/orders"),
            ("GITHUB_SHA", "merge"),
            ("GITHUB_REF_NAME", "main"),
        ];
        let pull = [
            ("GITHUB_EVENT_PATH", "event"),
            ("GITHUB_HEAD_REF", "rename"),
            ("GITHUB_REF", "refs/pull/42/merge"),
        ];
        let gitlab = [
            ("GITLAB_CI", "true"),
            ("CI_PROJECT_PATH", "acme/shop/orders"),
            ("CI_COMMIT_SHA", "a1"),
            ("CI_COMMIT_REF_NAME", "main"),
        ];
        let merge = [("CI_MERGE_REQUEST_IID", "7"), ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "rename")];
        let long = "x".repeat(LONGEST + 1);
        for (variables, event, expected) in [
            (vec![], "", ["-", "-", "-", "-"]),
            (github.to_vec(), "", ["acme/orders", "merge", "main", "-"]),
            ([&github[..], &pull[..]].concat(), event, ["acme/orders", "3f9c2d1", "rename", "42"]),
            // Without the event its reference tells the number.
            ([&github[..], &pull[1..]].concat(), "", ["acme/orders", "merge", "rename", "42"]),
            ([&github[..], &pull[..]].concat(), "no JSON", ["acme/orders", "merge", "rename", "42"]),
            (gitlab.to_vec(), "", ["acme/shop/orders", "a1", "main", "-"]),
            ([&gitlab[..], &merge[..]].concat(), "", ["acme/shop/orders", "a1", "rename", "7"]),
            (vec![("GITHUB_ACTIONS", "true"), ("GITHUB_REF_NAME", long.as_str())], "", ["-", "-", "-", "-"]),
        ] {
            let variable =
                |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
            let build = of(variable, |_| Some(event.to_owned())).fitting();
            let parts = [build.repository, build.commit, build.branch, build.pull_request];
            assert_eq!(parts.map(|part| part.unwrap_or_else(|| "-".to_owned())), expected, "{variables:?}");
        }
    }
}
