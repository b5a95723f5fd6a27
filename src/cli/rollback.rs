//! `rollback`: points an environment back at a version that was live there, and holds the one that was left.

use super::{
    Answer,
    context::{Access, Context},
    pointer::{self, MoveArgs},
};
use crate::{app::AppError, catalog::CatalogVersion};

/// Point an environment back at a version that was live there; the version that was left is held.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    to: MoveArgs,
    /// The version to go back to; never guessed.
    version: CatalogVersion,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let text = context.with_app(Access::Read, async |app| {
        let (request, note) = args.to.request(app, args.version, actor).await?;
        let made = app.rollback(&request).await?;
        let mut text = pointer::moved(&made, &note);
        if let Some(left) = made.from {
            let environment = &made.environment;
            text.push_str(&format!(
                "{left} is held in {environment}; `toolpact release {environment} --version {left} --reason …` lets it be promoted again\n"
            ));
        }
        Ok(text)
    })?;
    Ok(text.into())
}
