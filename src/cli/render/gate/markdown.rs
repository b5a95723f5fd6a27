//! Markdown for a summary or a pull request: the decision, the severest open, the rest folded. What a server wrote is
//! written character by character in codes, so that it can be neither markup, nor a link, nor a mention.

use std::fmt::Write;

use super::{Told, failed_server};
use crate::{
    cli::render::safe,
    diff::{Finding, Level, ToolReport},
    gate::{Judgement, Standing},
};

/// How many findings stand open.
const OPEN: usize = 5;
/// GitHub takes a comment of 65,536 characters; findings beyond this many bytes are counted.
const MOST: usize = 56 << 10;
/// What stands open takes at most so much of it.
const MOST_OPEN: usize = 24 << 10;

pub(super) fn report(told: &Told) -> String {
    let sign = if told.exit() == crate::cli::exit::PASSED { "✅" } else { "❌" };
    let mut out = format!("### {sign} toolpact {}\n", sentence(told.decision().trim_end()));
    for failed in &told.failed {
        let server = match failed_server(failed) {
            "" => String::new(),
            server => format!("{}: ", code(server)),
        };
        _ = write!(out, "\n- **could not run** {server}{}", sentence(&failed.error.message));
        if !failed.error.help.is_empty() {
            _ = write!(out, "<br>{}", sentence(&failed.error.help));
        }
        out.push('\n');
    }
    if let Some(service) = &told.service {
        if let Some(cause) = &service.unreachable {
            let (place, cause) = (code(&service.url), sentence(cause));
            _ = write!(out, "\n- **service not reached** {place}: {cause}; judged by the lockfile instead\n");
        }
        // The one link: ours, and escaped as all else.
        if let Some(link) = service.link.as_ref().filter(|_| !told.is_silent()) {
            _ = write!(out, "\n<a href=\"{}\">Review these changes</a>\n", escaped(link, false));
        }
    }
    let Some(judgement) = told.judgement.as_ref().filter(|_| !told.is_silent()) else { return out };
    let all: Vec<_> = judgement.findings().collect();
    if !all.is_empty() {
        out.push('\n');
    }
    let open = all.iter().take(OPEN).take_while(|found| item(&mut out, found, MOST_OPEN)).count();
    let folded = &all[open..];
    if !folded.is_empty() {
        _ = write!(out, "\n<details>\n<summary>{} more</summary>\n\n", folded.len());
        let told = folded.iter().take_while(|found| item(&mut out, found, MOST)).count();
        if folded.len() > told {
            _ = writeln!(out, "- and {} more", folded.len() - told);
        }
        out.push_str("\n</details>\n");
    }
    summary(&mut out, judgement);
    out
}

/// Adds a finding, where it fits.
fn item(
    out: &mut String,
    (tool, finding, standing): &(&ToolReport, &Finding, &Standing),
    most: usize,
) -> bool {
    let before = out.len();
    told(out, tool, finding, standing);
    if out.len() > most {
        out.truncate(before);
        return false;
    }
    true
}

fn told(out: &mut String, tool: &ToolReport, finding: &Finding, standing: &Standing) {
    let level = finding.level.as_str();
    let mark = if standing.blocks() { format!("**{level}**") } else { level.to_owned() };
    let server = if tool.server.is_empty() { String::new() } else { format!(" on {}", code(&tool.server)) };
    let (tool, message) = (code(&tool.tool), sentence(&finding.message));
    _ = write!(out, "- {mark} {tool}{server}: {message} ({})", sentence(&finding.rule));
    if let Some(witness) = finding.witness.as_ref().filter(|_| finding.level != Level::Compatible) {
        _ = write!(out, "<br>shown by {}", code(&safe::value(&witness.value)));
    }
    let said = match standing {
        Standing::Passes | Standing::Blocks => String::new(),
        Standing::Waived { waiver } => format!("waived until {}: {}", waiver.expires, waiver.reason),
        Standing::Expired { waiver } => format!("its waiver ended on {}: {}", waiver.expires, waiver.reason),
        Standing::Announced { since } => format!("announced since {since}"),
        Standing::TooSoon { since, from } => format!("announced since {since}, it may come from {from} on"),
        Standing::Versioned { version } => format!("allowed by the declared version {version}"),
        Standing::Accepted { by, reason } => format!("accepted by {by}: {reason}"),
        Standing::Rejected { by, reason } => format!("rejected by {by}: {reason}"),
    };
    if !said.is_empty() {
        _ = write!(out, "<br>{}", sentence(&said));
    }
    if finding.level != Level::Compatible && !finding.help.is_empty() {
        _ = write!(out, "<br>{}", sentence(&finding.help));
    }
    out.push('\n');
}

fn summary(out: &mut String, judgement: &Judgement) {
    let report = &judgement.report;
    let tools = report.tools.len() + report.unchanged;
    _ = write!(
        out,
        "\n{} of {tools} tools differ between {} and {}; required bump: {}",
        report.tools.len(),
        code(&report.baseline),
        code(&report.candidate),
        report.required_bump
    );
    for version in judgement.low_versions() {
        let (place, declared) = (code(&version.place), code(&version.declared));
        _ = write!(out, "; {place} declares {declared}, needs {}", code(&version.needed));
    }
    out.push('\n');
}

/// A name or value, as code.
fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(&safe::word(text), false))
}

/// A sentence of ours, with what a server wrote in it.
fn sentence(text: &str) -> String {
    escaped(&safe::line(text, 500), true)
}

/// Every character that could mean something, as its code. GitHub looks for mentions and issues in what is rendered, so
/// their signs stand apart from what follows, unless they are in code already.
fn escaped(text: &str, apart: bool) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        match c {
            '@' | '#' if apart => _ = write!(out, "<span>&#{};</span>", u32::from(c)),
            ' ' | ',' | ';' | '(' | ')' | '-' => out.push(c),
            c if c.is_ascii_punctuation() => _ = write!(out, "&#{};", u32::from(c)),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_server_wrote_is_markup() {
        for text in [
            "<img src=x>",
            "![a](b)",
            "`x`",
            "a|b",
            "**x**",
            "</details>",
            "&lt;",
            "https://h/",
            "www.h.example",
        ] {
            for written in [code(text), sentence(text)] {
                let inside = written.trim_start_matches("<code>").trim_end_matches("</code>");
                assert!(!inside.contains(['<', '>', '`', '|', '*', '[', '!', ':']), "{written}");
                assert!(!inside.contains("www."), "{written}");
            }
        }
        assert_eq!(sentence("@ann #1"), "<span>&#64;</span>ann <span>&#35;</span>1");
    }
}
