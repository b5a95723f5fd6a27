//! `release`: lifts the hold that a rollback left.

use super::{
    Answer,
    context::{Access, Context},
    pointer,
};
use crate::{
    app::{AppError, ReleaseRequest},
    catalog::CatalogVersion,
};

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
        let request = ReleaseRequest {
            environment: environment.clone(),
            catalog: at.catalog,
            version: args.version,
            generation: at.generation,
            reason: args.pointer.reason.clone(),
            actor,
            idempotency_key: None,
        };
        app.release_hold(&request).await?;
        Ok(format!("{environment}: hold released ({})\n", at.note))
    })?;
    Ok(text.into())
}
