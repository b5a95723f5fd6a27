//! `demo-server`: a small MCP server over stdin and stdout, whose releases differ in instructive ways.

use super::{Answer, context::block_on};
use crate::{
    app::{AppError, Kind},
    mcp::demo,
};

/// Be a small MCP server (stdio) to try toolpact on: release 2 only adds, release 3 breaks callers.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The release.
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=3))]
    release: u8,
}

pub(super) fn run(args: &Args) -> Result<Answer, AppError> {
    block_on(async {
        demo::serve_stdio(args.release, tokio::io::stdin(), tokio::io::stdout()).await.map_err(|e| {
            AppError::new(Kind::Unavailable, "demo-server", format!("the demo server cannot go on: {e}"))
        })
    })?;
    Ok(String::new().into())
}
