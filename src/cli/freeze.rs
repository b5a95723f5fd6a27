//! `freeze` and `unfreeze`: nothing moves in an environment for now.

use super::{
    Answer,
    context::{Access, Context},
};
use crate::{
    app::AppError,
    name::{CatalogName, EnvironmentName},
};

/// Freeze an environment, or one catalog in it: nothing moves there until it is unfrozen, but for an emergency rollback.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The environment.
    environment: EnvironmentName,
    /// Only this catalog.
    #[arg(long, value_name = "NAME")]
    catalog: Option<CatalogName>,
    /// Why; whoever wants to move something is told.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(super) fn freeze(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let Args { environment, catalog, reason } = args;
    context.with_app(Access::Write, async |app| {
        app.freeze(environment, catalog.as_ref(), reason, &actor).await
    })?;
    let what = place(args);
    let only = catalog.as_ref().map(|name| format!(" --catalog {name}")).unwrap_or_default();
    Ok(Answer::from(format!(
        "{what} is frozen; `toolpact unfreeze {environment}{only} --reason …` ends it\n"
    )))
}

/// End a freeze.
#[derive(clap::Args)]
pub(super) struct EndArgs {
    #[command(flatten)]
    of: Args,
}

pub(super) fn unfreeze(args: &EndArgs, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let Args { environment, catalog, reason } = &args.of;
    context.with_app(Access::Read, async |app| {
        app.unfreeze(environment, catalog.as_ref(), reason, &actor).await
    })?;
    Ok(Answer::from(format!("{} is not frozen any more\n", place(&args.of))))
}

fn place(args: &Args) -> String {
    match &args.catalog {
        Some(catalog) => format!("{}: {catalog}", args.environment),
        None => args.environment.to_string(),
    }
}
