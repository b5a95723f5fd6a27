//! What is wrong with one list by itself.

use std::fmt::Write;

use super::{Style, explained, row, sentence};
use crate::{
    cli::render::safe,
    diff::Level,
    lint::{Found, Linted},
};

/// Each finding, and in the last line how many.
pub(in crate::cli) fn lint(linted: &Linted, style: Style) -> String {
    let mut out = String::new();
    for Found { server, tool, finding } in &linted.findings {
        _ = writeln!(out, "{}: {}", style.level(finding.level), sentence(server, tool, finding));
        let at = match finding.pointer.as_str() {
            "" => String::new(),
            pointer => format!("  at {}", safe::word(pointer)),
        };
        row(&mut out, "rule", &format!("{} ({}){at}", finding.rule, finding.surface));
        if let Some(value) = &finding.candidate {
            row(&mut out, "is", &safe::value(value));
        }
        explained(&mut out, finding);
    }
    let found = match linted.findings.len() {
        0 => "nothing found".to_owned(),
        1 => "1 finding".to_owned(),
        n => format!("{n} findings"),
    };
    let verdict = match linted.verdict {
        Level::Compatible => style.painted("fine", "32"),
        level => style.level(level),
    };
    let tools = match linted.tools {
        1 => "1 tool".to_owned(),
        n => format!("{n} tools"),
    };
    _ = writeln!(out, "{verdict}: {found} in {tools} of {}", safe::word(&linted.source));
    out
}
