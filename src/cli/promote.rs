//! `promote`: points an environment at an approved version.

use super::{
    Answer,
    context::{Access, Context},
    pointer::{self, MoveArgs},
};
use crate::{app::AppError, catalog::CatalogVersion};

/// Point an environment at an approved catalog version.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    to: MoveArgs,
    /// The version, for example 2026.11.30.
    version: CatalogVersion,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let text = context.with_app(Access::Read, async |app| {
        let (request, note) = args.to.request(app, args.version, actor).await?;
        Ok(pointer::moved(&app.promote(&request).await?, &note))
    })?;
    Ok(text.into())
}
