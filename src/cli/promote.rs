//! `promote`: points an environment at an approved version.

use super::{
    Answer,
    context::{Access, Context},
    pointer::{self, MoveArgs},
};
use crate::{
    app::{AppError, Overrides},
    catalog::{CatalogVersion, MoveKind},
};

/// Point an environment at an approved catalog version.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    to: MoveArgs,
    /// The version, for example 2026.11.30.
    version: CatalogVersion,
    /// Go on where the servers do not serve what is pinned; what they serve is recorded with the move.
    #[arg(long)]
    record_probe: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let overrides = Overrides { record_probe: args.record_probe, emergency: false };
    context.with_app(Access::Read, async |app| {
        let (request, note) = args.to.request(app, args.version, actor, overrides).await?;
        if args.to.dry_run {
            return Ok(pointer::rehearsed(&app.preflight(MoveKind::Promote, &request).await?));
        }
        let made =
            app.promote(&request).await.map_err(|e| pointer::refused(e, MoveKind::Promote, &request))?;
        Ok(pointer::moved(&made, &note).into())
    })
}
