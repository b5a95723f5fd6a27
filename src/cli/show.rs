//! `show`: one draft, what it would hold and what changed.

use std::fmt::Write;

use super::{
    Answer,
    context::{Access, Context},
    diff::Assume,
    render::{Format, json, safe, text},
};
use crate::{
    app::AppError,
    catalog::{Draft, DraftStatus, draft},
    name::CatalogName,
};

/// Show one draft: what changed since the version before it, judged.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The catalog.
    catalog: CatalogName,
    /// The draft, for example d-31.
    #[arg(value_parser = draft::number)]
    draft: i64,
    /// Judge again under this assumption, for reading only.
    #[arg(long, value_enum)]
    assume: Option<Assume>,
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let draft = context.with_app(Access::Read, async |app| {
        let mut draft = app.get_draft(&args.catalog, args.draft).await?;
        if let Some(assume) = args.assume {
            draft.report = app.draft_report(&args.catalog, args.draft, assume.into()).await?;
        }
        Ok(draft)
    })?;
    Ok(Answer::from(match args.format {
        Format::Json => json::document(&draft)?,
        Format::Text => written(&draft),
    }))
}

fn written(draft: &Draft) -> String {
    let mut out = format!("draft d-{} of {}: {}", draft.id, draft.catalog, draft.status.as_str());
    if let Some(version) = draft.version {
        _ = write!(out, " as {version}");
    }
    if let Some(by) = &draft.decided_by {
        _ = write!(out, " by {}: {}", safe::word(by), safe::word(&draft.reason));
    }
    out.push_str("\n\n");
    for member in &draft.content.members {
        let server = member.server.as_ref().map_or("", |s| s.as_str());
        _ = writeln!(
            out,
            "  {server:<16} {:<32} {:<10} {}",
            safe::word(&member.tool),
            member.contract_version.to_string(),
            member.compatibility.as_str()
        );
    }
    out.push('\n');
    out.push_str(&text::report(&draft.report, text::Style::of_stdout()));
    if draft.status == DraftStatus::Pending {
        let (catalog, id) = (&draft.catalog, draft.id);
        _ = writeln!(out, "decide: `toolpact approve {catalog} d-{id} --reason …`, or `toolpact reject …`");
    }
    out
}
