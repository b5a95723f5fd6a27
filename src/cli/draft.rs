//! `draft`: makes a draft of a catalog from the latest snapshots of its servers.

use super::{
    Answer,
    context::{Access, Context},
};
use crate::{
    app::AppError,
    catalog::Draft,
    name::{CatalogName, ServerName},
};

/// Prepare a catalog version from the latest snapshots of its servers.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The catalog; made where it does not exist and `--server` names its servers.
    catalog: CatalogName,
    /// A server that the catalog holds; repeat for more.
    #[arg(long = "server", value_name = "NAME")]
    servers: Vec<ServerName>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let draft =
        context.with_app(Access::Write, async |app| app.draft(&args.catalog, &args.servers, &actor).await)?;
    let Draft { id, catalog, content, report, .. } = &draft;
    let base = draft.base.map_or_else(|| "the first version".to_owned(), |v| format!("since {v}"));
    Ok(Answer::from(format!(
        "d-{id} of {catalog}: {} tools, {} ({base})\nsee `toolpact show {catalog} d-{id}`, then `toolpact approve \
         {catalog} d-{id} --reason …`\n",
        content.members.len(),
        report.verdict,
    )))
}
