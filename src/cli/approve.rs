//! `approve`: makes a draft an immutable version.

use super::{
    Answer,
    context::{Access, Context},
    render::safe,
};
use crate::{app::AppError, catalog::draft, json::Digest, name::CatalogName};

/// Approve a draft: it becomes an immutable catalog version.
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
    /// Why; stands in the version.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Approve although the catalog's policy blocks what changed. Absolute findings cannot be accepted.
    #[arg(long)]
    accept_breaking: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let approved = context.with_app(Access::Read, async |app| {
        let seen = args.digest.as_ref();
        app.approve_seen(&args.catalog, args.draft, seen, args.accept_breaking, &args.reason, &actor).await
    });
    let approved = approved.map_err(|error| match error.code {
        // The flag is this face's word for it.
        "policy-blocks" => error.help(format!(
            "read it with `toolpact show {0} d-{1}`, then decide change by change with `toolpact decide {0} accept \
             CHANGE --reason …`, accept all with `--accept-breaking`, or refuse the draft with `toolpact reject`",
            args.catalog, args.draft
        )),
        _ => error,
    })?;
    let Some(version) = approved.version else {
        let have = approved.approvals.len();
        let names: Vec<&str> = approved.approvals.iter().map(|a| a.actor.as_str()).collect();
        return Ok(Answer::from(format!(
            "d-{} is approved by {}; its catalog needs {} people other than its authors, it has {have}\n",
            args.draft,
            safe::word(&names.join(", ")),
            approved.needed
        )));
    };
    Ok(Answer::from(format!(
        "d-{} is approved as {}@{}\nmove it with `toolpact promote ENVIRONMENT {2} --catalog {1} --reason …`\n",
        args.draft, version.catalog, version.version
    )))
}
