//! `explain`: what a rule means, why it matters and what to do instead.

use super::Answer;
use crate::app::{AppError, Kind};

/// Explain a rule: what it sees, why it matters, and what to do instead.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The rule's id, for example required-added.
    rule: String,
}

pub(super) fn run(args: &Args) -> Result<Answer, AppError> {
    Err(AppError::new(Kind::NotFound, "unknown-rule", format!("unknown rule `{}`", args.rule)))
}
