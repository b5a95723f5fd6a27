//! `tools`: writes the tools of a snapshot, a version or an environment as a saved answer, for CI without the database.

use super::{
    Answer,
    context::{Access, Context},
};
use crate::{app::AppError, name::ServerName};

/// Write the tools of a snapshot, a catalog version or an environment as a saved answer that `gate` and `diff` read.
#[derive(clap::Args)]
pub(super) struct Args {
    /// `server@latest`, `server@sha256:…`, `catalog@VERSION`, or an environment.
    #[arg(value_name = "REF")]
    reference: String,
    /// Which of its servers; needed where it holds several.
    #[arg(long, value_name = "NAME")]
    server: Option<ServerName>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let text = context
        .with_app(Access::Read, async |app| app.saved_answer(&args.reference, args.server.as_ref()).await)?;
    Ok(text.into())
}
