//! `release`: lifts the hold that a rollback left.

use super::{
    Answer,
    context::{Access, Context},
    pointer,
};
use crate::{app::AppError, catalog::CatalogVersion};

/// Lift the hold that a rollback left, so that the version can be promoted again.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pointer: pointer::Args,
    /// The held version; may be left out where there is only one.
    #[arg(long, value_name = "VERSION")]
    version: Option<CatalogVersion>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let text = context.with_app(Access::Read, async |app| {
        let environment = &args.pointer.environment;
        let at = args.pointer.resolved(app).await?;
        let reason = &args.pointer.reason;
        app.release_hold(environment, at.catalog.as_ref(), args.version, at.generation, reason, &actor)
            .await?;
        Ok(format!("{environment}: hold released ({})\n", at.note))
    })?;
    Ok(text.into())
}
