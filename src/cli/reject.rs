//! `reject`: refuses a draft, for good.

use super::{
    Answer,
    context::{Access, Context},
};
use crate::{app::AppError, catalog::draft, json::Digest, name::CatalogName};

/// Refuse a draft, for good.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The catalog.
    catalog: CatalogName,
    /// The draft, for example d-31.
    #[arg(value_parser = draft::number)]
    draft: i64,
    /// What you saw it hold, as `show` says; refused where it was edited since. Default: what it holds now.
    #[arg(long, value_name = "DIGEST")]
    digest: Option<Digest>,
    /// Why; stands in the draft.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let draft = context.with_app(Access::Read, async |app| {
        app.reject_seen(&args.catalog, args.draft, args.digest.as_ref(), &args.reason, &actor).await
    })?;
    Ok(Answer::from(format!("d-{} of {} is {}\n", draft.id, draft.catalog, draft.status.as_str())))
}
