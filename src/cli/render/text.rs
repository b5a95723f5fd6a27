//! Text for people: a report that is understood in ten seconds, and errors with their next step.
//!
//! Worst first; what is compatible takes one line each; the last line of a gate names the rule that failed it.

mod calls;
mod gate;
mod lint;

use std::{
    env,
    fmt::Write,
    io::{self, IsTerminal},
};

pub(in crate::cli) use gate::{decision, gate};
pub(in crate::cli) use lint::lint;

use super::safe;
use crate::{
    app::AppError,
    diff::{Assumption, Bump, Finding, Level, Origin, Report, Surface, ToolReport, Verdicts, Witness},
    snapshot::{Evidence, SurfaceDiff},
};

/// Whether words may be coloured. The only choice a rendering has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct Style {
    colour: bool,
}

impl Style {
    /// As standard output can show it.
    pub(in crate::cli) fn of_stdout() -> Self {
        Self { colour: io::stdout().is_terminal() && colour_wanted() }
    }

    /// Without colour, for files.
    pub(in crate::cli) fn plain() -> Self {
        Self { colour: false }
    }

    fn level(self, level: Level) -> String {
        let code = match level {
            Level::Breaking => "1;31",
            Level::Undecided => "1;35",
            Level::Risky => "1;33",
            Level::Compatible => "32",
        };
        self.painted(level.as_str(), code)
    }

    fn painted(self, text: &str, code: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Whether the user's environment allows colour at all (no-color.org).
pub(in crate::cli) fn colour_wanted() -> bool {
    let set = |name: &str| env::var_os(name).is_some_and(|v| !v.is_empty());
    !set("NO_COLOR") && env::var_os("TERM").is_none_or(|t| t != "dumb")
}

/// A diff.
pub(in crate::cli) fn report(report: &Report, style: Style) -> String {
    let found = report.findings().filter(|(_, f)| f.level != Level::Compatible);
    let mut out = String::new();
    for (tool, finding) in found {
        in_full(&mut out, tool, finding, &Beside::of(tool, finding), style);
    }
    rest(out, report, style)
}

/// What is compatible, and the summary, below what is told in full.
fn rest(mut out: String, report: &Report, style: Style) -> String {
    let (notation, others): (Vec<&ToolReport>, Vec<_>) = report.tools.iter().partition(|t| t.is_notation());
    for tool in others {
        compatible(&mut out, tool, style);
    }
    folded(&mut out, &notation, style);
    if !out.is_empty() {
        out.push('\n');
    }
    summary(&mut out, report, style);
    out
}

/// Names told of one kind of difference; the rest is counted.
const MAX_NAMES: usize = 20;

/// What differs beside the tools. Notes: nothing is judged by them.
pub(in crate::cli) fn surfaces(out: &mut String, surfaces: &[SurfaceDiff]) {
    for surface in surfaces {
        _ = writeln!(out, "note: {} differ: {} (not judged)", surface.kind, surface.counts());
        for (how, names) in
            [("added", &surface.added), ("removed", &surface.removed), ("changed", &surface.changed)]
        {
            for name in names.iter().take(MAX_NAMES) {
                _ = writeln!(out, "  {how:<8} {}", safe::word(name));
            }
            if names.len() > MAX_NAMES {
                _ = writeln!(out, "  {how:<8} and {} more", names.len() - MAX_NAMES);
            }
        }
    }
}

/// An error as it stands on stderr.
pub(in crate::cli) fn error(error: &AppError) -> String {
    let mut out = format!("error: {}\n", safe::paragraph(&error.message));
    if let Some(listing) = &error.listing {
        evidence(&mut out, &listing.1);
    }
    if !error.help.is_empty() {
        _ = writeln!(out, "help: {}", safe::paragraph(&error.help));
    }
    out
}

/// What was seen of a listing that failed.
fn evidence(out: &mut String, evidence: &Evidence) {
    if let Some(code) = evidence.exit_code {
        row(out, "exit", &code.to_string());
    }
    if let Some(status) = evidence.http_status {
        row(out, "status", &status.to_string());
    }
    if let Some(after) = &evidence.retry_after {
        row(out, "retry", &safe::word(after));
    }
    if let Some(error) = &evidence.rpc_error {
        row(out, "answer", &safe::line(&error.to_string(), 400));
    }
    deviations(out, evidence);
    let tail: Vec<&str> = evidence.stderr_tail.lines().filter(|l| !l.trim().is_empty()).collect();
    for line in tail.iter().skip(tail.len().saturating_sub(STDERR_LINES)) {
        row(out, "stderr", &safe::line(line, 400));
    }
}

/// What a server did that the protocol does not allow, and that did not hinder the listing.
pub(in crate::cli) fn deviations(out: &mut String, evidence: &Evidence) {
    for warning in &evidence.warnings {
        row(out, "warning", &safe::line(warning, 400));
    }
    if evidence.stray_lines > 0 {
        let lines = match evidence.stray_lines {
            1 => "a line on stdout is".to_owned(),
            n => format!("{n} lines on stdout are"),
        };
        row(out, "stray", &format!("{lines} no JSON-RPC"));
    }
    for line in &evidence.stray_samples {
        row(out, "stdout", &safe::line(line, 400));
    }
}

/// How much of a dead server's stderr is shown: a stack trace's end.
const STDERR_LINES: usize = 8;

/// `1 tool`, `3 tools`.
pub(in crate::cli) fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn name(server: &str, tool: &str) -> String {
    match server {
        "" => format!("tool `{}`", safe::word(tool)),
        server => format!("tool `{}` on server `{}`", safe::word(tool), safe::word(server)),
    }
}

/// Tools that are only written otherwise, all on one line: there is nothing to look at in any of them.
fn folded(out: &mut String, tools: &[&ToolReport], style: Style) {
    match tools {
        [] => {}
        [only] => compatible(out, only, style),
        [first, others @ ..] => {
            let server = match first.server.as_str() {
                server if !server.is_empty() && others.iter().all(|t| t.server == server) => {
                    format!(" on server `{}`", safe::word(server))
                }
                _ => String::new(),
            };
            let (level, count) = (style.level(Level::Compatible), tools.len());
            // Of each the same is said.
            if let Some(finding) = first.of_level(Level::Compatible).next() {
                let message = safe::line(&finding.message, 500);
                _ = writeln!(out, "{level}: {count} tools{server}: {message} ({})", finding.rule);
            }
        }
    }
}

/// What is compatible about a tool, on one line.
fn compatible(out: &mut String, tool: &ToolReport, style: Style) {
    let findings: Vec<&Finding> = tool.of_level(Level::Compatible).collect();
    let level = style.level(Level::Compatible);
    match findings.as_slice() {
        [] => {}
        // Of both schemas the same may be said.
        [only, others @ ..]
            if others.iter().all(|f| (&f.rule, &f.message) == (&only.rule, &only.message)) =>
        {
            _ = writeln!(out, "{level}: {} ({})", sentence(&tool.server, &tool.tool, only), only.rule);
        }
        several => {
            let mut rules: Vec<&str> = several.iter().map(|f| f.rule.as_str()).collect();
            rules.dedup();
            let (name, count) = (name(&tool.server, &tool.tool), several.len());
            _ = writeln!(out, "{level}: {name}: {count} changes ({})", rules.join(", "));
        }
    }
}

/// What is told of a finding that it does not say itself.
#[derive(Default)]
struct Beside {
    /// What its tool or server has to be called from now on.
    needs: Option<String>,
    /// Further rows.
    rows: Vec<(&'static str, String)>,
}

impl Beside {
    fn of(tool: &ToolReport, finding: &Finding) -> Self {
        let major = finding.level == Level::Breaking && tool.required_bump == Bump::Major;
        Self { needs: major.then(|| "a major contractVersion".to_owned()), rows: Vec::new() }
    }
}

fn in_full(out: &mut String, tool: &ToolReport, finding: &Finding, beside: &Beside, style: Style) {
    _ = writeln!(out, "{}: {}", style.level(finding.level), sentence(&tool.server, &tool.tool, finding));
    let at = match finding.pointer.as_str() {
        "" => String::new(),
        pointer => format!("  at {}", safe::word(pointer)),
    };
    row(out, "rule", &format!("{} ({}){at}", finding.rule, finding.surface));
    change(out, finding);
    if let Some(found) = &finding.witness {
        witness(out, finding.surface, found);
    }
    if let Some(needs) = &beside.needs {
        row(out, "needs", needs);
    }
    for (what, text) in &beside.rows {
        row(out, what, text);
    }
    explained(out, finding);
}

/// What to do, and where to read more.
fn explained(out: &mut String, finding: &Finding) {
    let explain = format!("`toolpact explain {}`", finding.rule);
    match finding.help.as_str() {
        "" => _ = writeln!(out, "  help: {explain}"),
        help => _ = writeln!(out, "  help: {}; {explain}", safe::line(&clause(help), 500)),
    }
}

/// The tool and what happened to it. Messages about the tool as a whole begin with it already.
fn sentence(server: &str, tool: &str, finding: &Finding) -> String {
    let whole = format!("tool `{tool}` ");
    match finding.message.strip_prefix(&whole) {
        Some(rest) => format!("{} {}", name(server, tool), safe::line(rest, 500)),
        None => format!("{}: {}", name(server, tool), safe::line(&finding.message, 500)),
    }
}

/// A sentence as part of another: no capital, no period.
fn clause(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let mut letters = sentence.chars();
    match (letters.next(), letters.next()) {
        // Not an abbreviation.
        (Some(first), Some(second)) if first.is_ascii_uppercase() && second.is_lowercase() => {
            format!("{}{}", first.to_ascii_lowercase(), &sentence[1..])
        }
        _ => sentence.to_owned(),
    }
}

fn row(out: &mut String, what: &str, text: &str) {
    _ = writeln!(out, "  {what:<9}{text}");
}

/// `was` and `now`, on one line where they are short.
fn change(out: &mut String, finding: &Finding) {
    let was = finding.baseline.as_ref().map(safe::value);
    let now = finding.candidate.as_ref().map(safe::value);
    match (was, now) {
        (Some(was), Some(now)) if was.chars().count() + now.chars().count() <= 80 => {
            row(out, "was", &format!("{was}      now {now}"));
        }
        (was, now) => {
            for (what, value) in [("was", was), ("now", now)] {
                if let Some(value) = value {
                    row(out, what, &value);
                }
            }
        }
    }
}

fn witness(out: &mut String, surface: Surface, witness: &Witness) {
    let recorded = match witness.origin {
        Origin::Built => "",
        Origin::Recorded => "a recorded call, ",
    };
    let meaning = match surface {
        Surface::Output => "may be returned now, not admitted by the baseline",
        Surface::Listing | Surface::Input | Surface::Annotations | Surface::Presentation => {
            "accepted by the baseline, rejected by the candidate"
        }
    };
    row(out, "witness", &format!("{}   {recorded}{meaning}", safe::value(&witness.value)));
    if !witness.reason.is_empty() {
        row(out, "because", &safe::line(&witness.reason, 300));
    }
    if let Some(message) = &witness.message {
        row(out, "message", &safe::whole(message));
    }
}

fn summary(out: &mut String, report: &Report, style: Style) {
    let counts: Vec<String> = [Level::Breaking, Level::Undecided, Level::Risky, Level::Compatible]
        .into_iter()
        .map(|level| (report.count(level), level))
        .filter(|(count, _)| *count > 0)
        .map(|(count, level)| format!("{count} {level}"))
        .collect();
    let found = if counts.is_empty() { "nothing changed".to_owned() } else { counts.join(", ") };
    let changed = report.tools.len();
    let tools = changed + report.unchanged;
    _ = writeln!(
        out,
        "{}: {found}; {changed} of {tools} tools differ between {} and {}",
        style.level(report.verdict),
        safe::word(&report.baseline),
        safe::word(&report.candidate),
    );
    let (assumption, meaning) = match report.assumption {
        Assumption::Declared => ("declared", "callers send only what the baseline declares"),
        Assumption::Strict => ("strict", "callers send anything the baseline allows"),
    };
    let Verdicts { declared, strict } = report.verdicts;
    let other = match report.assumption {
        _ if declared == strict => String::new(),
        Assumption::Declared => format!("; under strict it is {strict}"),
        Assumption::Strict => format!("; under declared it is {declared}"),
    };
    _ = writeln!(
        out,
        "  required bump: {}; assumption: {assumption} ({meaning}){other}",
        report.required_bump
    );
    if let Some(all) = &report.calls {
        calls::calls(out, report, all);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        app::Kind,
        diff::Status,
        json::{Digest, Pointer},
    };

    fn finding(rule: &str, level: Level, message: &str) -> Finding {
        Finding {
            rule: rule.to_owned(),
            level,
            surface: Surface::Input,
            pointer: Pointer::root().join("properties").join("state").join("enum"),
            message: message.to_owned(),
            baseline: Some(json!(["open", "closed", "all"])),
            candidate: Some(json!(["open", "closed"])),
            witness: None,
            help: String::new(),
            fingerprint: Digest::of(&json!(rule)),
            absolute: false,
        }
    }

    fn sample() -> Report {
        let mut broken = finding("enum-value-removed", Level::Breaking, "no longer accepts \"all\"");
        broken.witness = Some(Witness {
            value: json!({"state": "all"}),
            at: Pointer::root().join("state"),
            reason: "\"all\" is not one of \"open\" or \"closed\"".to_owned(),
            origin: Origin::Built,
            message: None,
        });
        broken.help = "Keep \"all\".".to_owned();
        let mut said = finding("description-changed", Level::Compatible, "says it differently \u{1b}[31m");
        said.surface = Surface::Presentation;
        let tool = |name: &str, verdict, required_bump, findings| ToolReport {
            server: "github".to_owned(),
            tool: name.to_owned(),
            status: Status::Changed,
            verdict,
            required_bump,
            findings,
            patch: None,
            calls: None,
        };
        Report {
            verdict: Level::Breaking,
            assumption: Assumption::Declared,
            formats: crate::diff::Formats::Risky,
            verdicts: Verdicts { declared: Level::Breaking, strict: Level::Breaking },
            required_bump: Bump::Major,
            baseline: "production".to_owned(),
            candidate: "node server.js".to_owned(),
            rule_set: "tp1".to_owned(),
            tools: vec![
                tool("get_me", Level::Compatible, Bump::Patch, vec![said]),
                tool("search_issues", Level::Breaking, Bump::Major, vec![broken]),
            ],
            unchanged: 10,
            calls: None,
        }
    }

    #[test]
    fn a_break_is_told_with_its_proof_and_what_to_do() {
        insta::assert_snapshot!(report(&sample(), Style { colour: false }), @r#"
        breaking: tool `search_issues` on server `github`: no longer accepts "all"
          rule     enum-value-removed (input)  at /properties/state/enum
          was      ["open","closed","all"]      now ["open","closed"]
          witness  {"state":"all"}   accepted by the baseline, rejected by the candidate
          because  "all" is not one of "open" or "closed"
          needs    a major contractVersion
          help: keep "all"; `toolpact explain enum-value-removed`
        compatible: tool `get_me` on server `github`: says it differently \u{1b}[31m (description-changed)

        breaking: 1 breaking, 1 compatible; 2 of 12 tools differ between production and node server.js
          required bump: major; assumption: declared (callers send only what the baseline declares)
        "#);
    }

    #[test]
    fn colour_is_only_on_words_of_ours() {
        let text = report(&sample(), Style { colour: true });
        assert!(text.starts_with("\u{1b}[1;31mbreaking\u{1b}[0m: tool"));
        assert!(text.contains("differently \\u{1b}[31m"), "{text}");
    }

    #[test]
    fn a_failed_listing_shows_its_evidence() {
        let mut failed = AppError::new(Kind::Unavailable, "listing-failed", "server `x` could not be listed")
            .help("start it by hand");
        failed.listing = Some(Box::new((
            crate::snapshot::Outcome::Unavailable,
            Evidence {
                stderr_tail: "a\n\nTypeError: b\n".to_owned(),
                exit_code: Some(1),
                ..Evidence::default()
            },
        )));
        insta::assert_snapshot!(error(&failed), @r"
        error: server `x` could not be listed
          exit     1
          stderr   a
          stderr   TypeError: b
        help: start it by hand
        ");
    }
}
