//! `apply`: reads a catalog document into the database.

use super::{
    Answer,
    context::{Access, Context},
    side,
};
use crate::app::AppError;

/// Apply a catalog document: its policy, its servers, and the version it pins.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The YAML file; `-` for stdin. Its stem names the catalog where the document does not.
    file: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let text = side::text(&args.file)?;
    let applied = context.with_app(Access::Write, async |app| app.apply(&args.file, &text, &actor).await)?;
    let catalog = &applied.catalog.name;
    Ok(Answer::from(match (applied.unchanged, applied.version) {
        (true, _) => format!("{catalog}: nothing new\n"),
        (false, Some(version)) => format!("{catalog}@{version} is applied\n"),
        (false, None) => {
            format!("{catalog}: policy and servers are applied; no version (the document has none)\n")
        }
    }))
}
