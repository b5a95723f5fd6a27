//! A gate's answer in the forms that CI reads. Each tells the same, from one value.

mod github;
mod gitlab;
pub(in crate::cli) mod json;
mod junit;
mod markdown;
mod sarif;

use std::{
    env,
    path::{Component, Path, PathBuf},
    sync::LazyLock,
};

use clap::ValueEnum;

pub(in crate::cli) use github::annotations;

use super::text;
use crate::{
    app::{
        AppError,
        tree::{Failed, Tried},
    },
    cli::{exit, exit_code},
    diff::Finding,
    gate::{Blocked, Judgement, Lock, Standing},
    name::{EnvironmentName, ServerName},
    snapshot::Evidence,
};

/// What a report may be written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Form {
    /// For people.
    Text,
    /// For programs; its JSON Schema is what `--schema` prints.
    Json,
    /// For pull requests and summaries.
    Md,
    /// Workflow commands of GitHub Actions.
    Github,
    /// GitLab's code quality report.
    Gitlab,
    /// SARIF 2.1.0.
    Sarif,
    /// JUnit.
    Junit,
}

/// What is told.
pub(in crate::cli) struct Told {
    /// What was judged; nothing where nothing could be.
    pub(in crate::cli) judgement: Option<Judgement>,
    /// What could not be asked, or why nothing could be judged at all.
    pub(in crate::cli) failed: Vec<Failed>,
    /// How the listings went that ended well.
    pub(in crate::cli) evidence: Vec<(String, Evidence)>,
    /// Servers of which the lockfile is not up to date.
    pub(in crate::cli) outdated: Vec<ServerName>,
    /// Where the baseline is.
    pub(in crate::cli) at: Baseline,
    /// Tell why a rule matters beside what it found.
    pub(in crate::cli) explain: bool,
    /// Which service was asked, where one was.
    pub(in crate::cli) service: Option<Asked>,
}

/// A service that was asked.
pub(in crate::cli) struct Asked {
    /// Its URL.
    pub(in crate::cli) url: String,
    /// Against what is live where.
    pub(in crate::cli) environment: EnvironmentName,
    /// The number of the check, and where it is reviewed; nothing where none was registered.
    pub(in crate::cli) check: Option<i64>,
    /// See [`Self::check`].
    pub(in crate::cli) link: Option<String>,
    /// Why it could not be reached, where the lockfile judged instead.
    pub(in crate::cli) unreachable: Option<String>,
}

/// Where the baseline is, for whoever points at a line of it.
pub(in crate::cli) enum Baseline {
    /// A lockfile.
    Lock(String, Lock),
    /// A file that is no lockfile.
    File(String),
    /// Something that stands in no file of the repository.
    Elsewhere(String),
}

impl Baseline {
    /// The file that a finding points at, from the root of the repository. Those who show findings want one, and read it from there.
    fn path(&self) -> String {
        static HERE: LazyLock<Option<(PathBuf, PathBuf)>> = LazyLock::new(|| {
            let here = env::current_dir().ok()?;
            let root = here.ancestors().find(|folder| folder.join(".git").exists())?.to_owned();
            Some((root, here))
        });
        let path = match self {
            Self::Lock(path, _) | Self::File(path) => path,
            Self::Elsewhere(_) => crate::gate::settings::FILE,
        };
        let from_root = HERE.as_ref().and_then(|(root, here)| from_root(root, here, path));
        from_root.unwrap_or_else(|| path.to_owned())
    }

    fn line(&self, server: &str, tool: &str) -> usize {
        match self {
            Self::Lock(_, lock) => lock.line_of(server, tool),
            Self::File(_) | Self::Elsewhere(_) => 1,
        }
    }
}

/// A path as it is from the root of a repository; nothing where it leads out of it.
fn from_root(root: &Path, here: &Path, path: &str) -> Option<String> {
    let mut full = PathBuf::new();
    for part in here.join(path).components() {
        match part {
            Component::ParentDir => _ = full.pop(),
            Component::CurDir => {}
            part => full.push(part),
        }
    }
    let parts: Option<Vec<&str>> = full.strip_prefix(root).ok()?.iter().map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}

impl Told {
    /// What was tried.
    pub(in crate::cli) fn of(tried: Tried, at: Baseline, explain: bool) -> Self {
        let Tried { judgement, failed, evidence, outdated } = tried;
        Self { judgement, failed, evidence, outdated, at, explain, service: None }
    }

    /// Nothing could be judged.
    pub(in crate::cli) fn failure(error: AppError, baseline: &str) -> Self {
        Self {
            judgement: None,
            failed: vec![Failed { name: None, error: Box::new(error) }],
            evidence: Vec::new(),
            outdated: Vec::new(),
            at: Baseline::Elsewhere(baseline.to_owned()),
            explain: false,
            service: None,
        }
    }

    /// How the gate ends. What blocks is known whatever else failed; with any failure nothing passes.
    pub(in crate::cli) fn exit(&self) -> u8 {
        if self.blocked().is_some() {
            return exit::BLOCKED;
        }
        let judged = if self.judgement.is_some() { exit::PASSED } else { exit::COULD_NOT_RUN };
        self.failed.iter().map(|failed| exit_code(failed.error.kind)).max().unwrap_or(judged)
    }

    fn blocked(&self) -> Option<&Blocked> {
        self.judgement.as_ref()?.blocked.as_ref()
    }

    /// Whether there is nothing to look at: nothing changed but the notation, and everyone was asked.
    pub(in crate::cli) fn is_silent(&self) -> bool {
        self.failed.is_empty()
            && self.judgement.as_ref().is_some_and(|j| {
                j.blocked.is_none()
                    && j.unused.is_empty()
                    && j.report.calls.is_none()
                    && j.report.tools.iter().all(|t| {
                        t.verdict == crate::diff::Level::Compatible
                            && t.findings.iter().all(|f| f.rule == "notation-changed")
                    })
            })
    }

    /// The decision in one line, without colour: the rule that failed the gate, or that it passes.
    fn decision(&self) -> String {
        text::decision(self, text::Style::plain())
    }
}

/// A report in one of the forms.
///
/// # Errors
/// Where it cannot be written as what it should be.
pub(in crate::cli) fn write(told: &Told, form: Form, style: text::Style) -> Result<String, AppError> {
    match form {
        Form::Text => Ok(text::gate(told, style)),
        Form::Json => json::report(told),
        Form::Md => Ok(markdown::report(told)),
        Form::Github => Ok(github::annotations(told)),
        Form::Gitlab => gitlab::report(told),
        Form::Sarif => sarif::report(told),
        Form::Junit => junit::report(told),
    }
}

/// How a finding is to be taken by those who know three degrees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Degree {
    /// It fails the gate.
    Error,
    /// Somebody should look.
    Warning,
    /// It is told.
    Note,
}

fn degree(finding: &Finding, standing: &Standing) -> Degree {
    use crate::diff::Level;
    match (standing.blocks(), finding.level) {
        (true, _) => Degree::Error,
        (false, Level::Compatible) => Degree::Note,
        (false, Level::Breaking | Level::Undecided | Level::Risky) => Degree::Warning,
    }
}

/// The server of a failure.
fn failed_server(failed: &Failed) -> &str {
    failed.name.as_ref().map_or("", ServerName::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_from_the_root_of_the_repository() {
        for (here, path, told) in [
            ("/r", "toolpact.lock", Some("toolpact.lock")),
            ("/r/sub/deep", "toolpact.lock", Some("sub/deep/toolpact.lock")),
            ("/r/sub/deep", "./../other/toolpact.lock", Some("sub/other/toolpact.lock")),
            ("/r/sub", "/r/a.lock", Some("a.lock")),
            ("/r/sub", "../../elsewhere.lock", None),
            ("/r/sub", "/tmp/a.lock", None),
        ] {
            let got = from_root(Path::new("/r"), Path::new(here), path);
            assert_eq!(got.as_deref(), told, "{path} in {here}");
        }
    }
}
