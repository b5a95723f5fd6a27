//! `changelog`: what changed between two versions, in the words of those who call the tools.

use std::fmt::Write;

use clap::ValueEnum;

use super::{Answer, context::Context, render::safe, side};
use crate::{
    app::AppError,
    diff::{Calls, Finding, Level, Options, Report, Status, Surface, ToolReport},
};

/// Write what changed between two versions for those who use them, as Markdown or HTML.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The version before: a file, a lockfile, `-`, `server@latest`, `server@sha256:…`, `catalog@VERSION` or an environment.
    baseline: String,
    /// The version after; the same forms.
    candidate: String,
    /// How it is written.
    #[arg(long, value_enum, default_value_t)]
    format: Form,
    /// The heading. Default: the names of both versions.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

/// The forms of a changelog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Form {
    /// Markdown.
    #[default]
    Md,
    /// A section of HTML.
    Html,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    side::stdin_once(&[&args.baseline, &args.candidate])?;
    let (baseline, candidate) = side::both(&args.baseline, &args.candidate, context);
    let offline = side::offline(&args.baseline) && side::offline(&args.candidate);
    let report = side::diffed(baseline?, candidate?, Options::default(), Calls::default(), offline)?;
    let title = args
        .title
        .clone()
        .unwrap_or_else(|| format!("Changes from {} to {}", report.baseline, report.candidate));
    let sections = sections(&report);
    Ok(match args.format {
        Form::Md => markdown(&title, &sections),
        Form::Html => html(&title, &sections),
    }
    .into())
}

/// One heading with what belongs under it.
struct Section<'r> {
    heading: &'static str,
    entries: Vec<Entry<'r>>,
}

/// What happened to one tool.
struct Entry<'r> {
    tool: &'r ToolReport,
    /// A sentence each; none where the heading says it all.
    said: Vec<&'r Finding>,
}

/// The sections that have anything in them, what callers have to act on first. A tool that comes or goes is told once.
fn sections(report: &Report) -> Vec<Section<'_>> {
    let words = |f: &Finding| f.surface == Surface::Presentation;
    let silent = |f: &Finding| f.rule == "notation-changed";
    let of = |heading, status: Option<Status>, keep: &dyn Fn(&Finding) -> bool| {
        let tools = report.tools.iter().filter(|t| match status {
            Some(status) => t.status == status,
            None => t.status == Status::Changed,
        });
        let entries = tools.filter_map(|tool| {
            let said: Vec<&Finding> = tool.findings.iter().filter(|f| keep(f) && !silent(f)).collect();
            (status.is_some() || !said.is_empty()).then_some(Entry { tool, said })
        });
        let mut entries: Vec<Entry<'_>> = entries.collect();
        entries.sort_by(|a, b| (&a.tool.server, &a.tool.tool).cmp(&(&b.tool.server, &b.tool.tool)));
        Section { heading, entries }
    };
    let level = |level: Level| move |f: &Finding| f.level == level;
    let all = [
        of("Removed", Some(Status::Removed), &|_| false),
        of("Breaking", None, &level(Level::Breaking)),
        of("Not certain to be compatible", None, &level(Level::Undecided)),
        of("May behave otherwise", None, &level(Level::Risky)),
        of("Added", Some(Status::Added), &|f| f.level > Level::Compatible),
        of("Changed", None, &|f| f.level == Level::Compatible && !words(f)),
        of("Described otherwise", None, &|f| f.level == Level::Compatible && words(f)),
    ];
    all.into_iter().filter(|s| !s.entries.is_empty()).collect()
}

const NOTHING: &str = "Nothing changed that callers rely on.";

fn markdown(title: &str, sections: &[Section<'_>]) -> String {
    let mut out = format!("## {}\n", prose(title));
    if sections.is_empty() {
        _ = write!(out, "\n{NOTHING}\n");
    }
    for Section { heading, entries } in sections {
        _ = write!(out, "\n### {heading}\n\n");
        for Entry { tool, said } in entries {
            let name = span(&tool.tool);
            match said.as_slice() {
                [] => _ = writeln!(out, "- {name}"),
                [one] => _ = writeln!(out, "- {name}: {}", prose(&sentence(tool, one))),
                several => {
                    _ = writeln!(out, "- {name}");
                    several.iter().for_each(|f| _ = writeln!(out, "  - {}", prose(&sentence(tool, f))));
                }
            }
        }
    }
    out
}

/// What happened, and to whom it breaks something also what to do.
fn sentence(tool: &ToolReport, finding: &Finding) -> String {
    let whole = format!("tool `{}` ", tool.tool);
    let message = finding.message.strip_prefix(&whole).unwrap_or(&finding.message);
    safe::line(message, 500)
}

/// Text that stands outside of code: names in backticks become code, and nothing else means anything.
fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return plain(text);
    }
    let part = |(i, part): (usize, &&str)| if i % 2 == 0 { plain(part) } else { span(part) };
    parts.iter().enumerate().map(part).collect()
}

fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            // Mentions and issues are looked for in what is rendered.
            '@' | '#' => _ = write!(out, "<span>&#{};</span>", u32::from(c)),
            '&' | '<' | '>' | '`' | '*' | '_' | '[' | ']' | '\\' | '|' | '~' | '!' | '$' => {
                _ = write!(out, "&#{};", u32::from(c));
            }
            // `https://` and `www.` would be links.
            ':' if letters.peek() == Some(&'/') => out.push_str("&#58;"),
            '.' if before.eq_ignore_ascii_case(&'w') => out.push_str("&#46;"),
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// A code span around any text: in more backticks than stand in it.
fn span(text: &str) -> String {
    let text = safe::word(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn html(title: &str, sections: &[Section<'_>]) -> String {
    let mut out = format!("<section>\n<h2>{}</h2>\n", escaped(title));
    if sections.is_empty() {
        _ = writeln!(out, "<p>{NOTHING}</p>");
    }
    for Section { heading, entries } in sections {
        _ = writeln!(out, "<h3>{heading}</h3>\n<ul>");
        for Entry { tool, said } in entries {
            let sentences: Vec<String> = said.iter().map(|f| escaped(&sentence(tool, f))).collect();
            let said = match sentences.as_slice() {
                [] => String::new(),
                [one] => format!(": {one}"),
                several => format!("<ul><li>{}</li></ul>", several.join("</li><li>")),
            };
            _ = writeln!(out, "<li><code>{}</code>{said}</li>", escaped(&safe::word(&tool.tool)));
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</section>\n");
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_code_whatever_stands_in_it() {
        for (name, written) in [("a_b", "`a_b`"), ("a`b", "``a`b``"), ("`", "`` ` ``"), ("a\nb", "`a\\nb`")] {
            assert_eq!(span(name), written);
        }
    }

    #[test]
    fn nothing_outside_of_code_is_markup() {
        assert_eq!(
            prose("parameter `a_b` no longer takes \"*x*\""),
            "parameter `a_b` no longer takes \"&#42;x&#42;\""
        );
        assert_eq!(prose("takes \"`\" now"), "takes \"&#96;\" now");
        assert_eq!(prose("@ann https://h www.h"), "<span>&#64;</span>ann https&#58;//h www&#46;h");
        assert_eq!(prose("<img>"), "&#60;img&#62;");
        assert_eq!(escaped("<a b='\"'>&"), "&lt;a b=&#39;&quot;&#39;&gt;&amp;");
    }
}
