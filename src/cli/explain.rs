//! `explain`: what a rule means, why it matters and what to do instead.

use std::fmt::Write;

use super::Answer;
use crate::{
    app::{AppError, Kind},
    catalog::suggest,
    diff::{rule::Rule, rules},
};

/// Explain a rule: what it sees, why it matters, and what to do instead.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The rule's id, for example required-added.
    rule: String,
}

pub(super) fn run(args: &Args) -> Result<Answer, AppError> {
    let rule = rules::find(&args.rule).ok_or_else(|| unknown(&args.rule))?;
    Ok(page(rule).into())
}

fn page(rule: &Rule) -> String {
    let mut out = format!("{} ({})\n\n{}\n", rule.id, rule.surfaces(), rule.what);
    for (heading, text) in [("why it matters", rule.why), ("do instead", rule.instead)] {
        if !text.is_empty() {
            _ = write!(out, "\n{heading}\n  {text}\n");
        }
    }
    out.push_str("\nexample\n");
    for line in rule.example().lines() {
        _ = writeln!(out, "  {line}");
    }
    out
}

fn unknown(id: &str) -> AppError {
    let near = suggest::did_you_mean(id, rules::all().iter().map(|r| r.id));
    AppError::new(Kind::NotFound, "unknown-rule", format!("unknown rule `{id}`{near}"))
        .help("`toolpact rules` lists them all")
}
