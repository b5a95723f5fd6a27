//! `rules`: every rule on a line.

use super::Answer;
use crate::app::AppError;

/// List every rule.
#[derive(clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_: &Args) -> Result<Answer, AppError> {
    Ok(String::new().into())
}
