//! `rules`: every rule on a line, in the order in which they are asked.

use std::fmt::Write;

use super::Answer;
use crate::{app::AppError, diff::rules};

/// List every rule, a line each.
#[derive(clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_: &Args) -> Result<Answer, AppError> {
    let mut out = String::new();
    for rule in rules::all() {
        _ = writeln!(out, "{:<32} {}", rule.id, rule.what);
    }
    Ok(out.into())
}
