//! Annotations of GitHub Actions: workflow commands, one a line. About ten of a kind are shown, so the worst come first.

use std::fmt::Write;

use super::{Degree, Told, degree, failed_server};
use crate::{cli::render::safe, diff::Level};

/// More of one kind are not shown by GitHub.
const SHOWN: usize = 10;

/// The commands.
pub(in crate::cli) fn annotations(told: &Told) -> String {
    let mut out = String::new();
    let mut counts = [0usize; 2];
    let path = told.at.path();
    let mut command = |which: usize, line: usize, title: &str, message: &str| {
        counts[which] += 1;
        if counts[which] <= SHOWN {
            let word = ["error", "warning"][which];
            let (path, title) = (property(&path), property(title));
            _ = writeln!(out, "::{word} file={path},line={line},title={title}::{}", data(message));
        }
    };
    if let Some(cause) = told.service.as_ref().and_then(|s| s.unreachable.as_ref()) {
        command(1, 1, "gate", &format!("the service could not be reached, judged by the lockfile: {cause}"));
    }
    for failed in &told.failed {
        command(0, 1, &format!("gate {}", failed_server(failed)), &failed.error.message);
    }
    for (tool, finding, standing) in told.judgement.iter().flat_map(|j| j.findings()) {
        if finding.level == Level::Compatible && !standing.blocks() {
            continue;
        }
        let which = usize::from(degree(finding, standing) != Degree::Error);
        let mut message = format!("tool `{}`: {}", tool.tool, finding.message);
        if let Some(witness) = &finding.witness {
            _ = write!(message, "; {} shows it", safe::value(&witness.value));
        }
        command(which, told.at.line(&tool.server, &tool.tool), &finding.rule, &message);
    }
    out
}

/// What GitHub would read as the end of a line or as its own escape, and what a terminal must not obey.
fn data(text: &str) -> String {
    safe::line(text, 1_000).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_begins_a_command_of_its_own() {
        assert_eq!(data("100%\n::error::x"), "100%25\\n::error::x");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
    }
}
