//! `demo-server`: a small MCP server over stdin and stdout, whose releases differ in instructive ways.

use super::{Answer, context::block_on};
use crate::app::AppError;

/// Be a small MCP server (stdio) whose releases differ: 2 breaks callers, 3 changes words only.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The release.
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=3))]
    release: u8,
}

pub(super) fn run(args: &Args) -> Result<Answer, AppError> {
    _ = args.release;
    block_on(async { Ok(String::new().into()) })
}
