//! `drafts`: which drafts there are.

use std::fmt::Write;

use super::{
    Answer,
    context::{Access, Context},
    render::{Format, json, safe},
};
use crate::{
    app::{AppError, lists::Slice, view::DraftRow},
    catalog::{Draft, DraftStatus},
    name::CatalogName,
};

/// List the drafts that wait for a decision.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Only of this catalog.
    catalog: Option<CatalogName>,
    /// Those that were decided as well.
    #[arg(long)]
    all: bool,
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let (drafts, whole) = context.with_app(Access::Read, async |app| {
        let names = match &args.catalog {
            Some(name) => vec![name.clone()],
            None => app.catalogs().await?.into_iter().map(|c| c.catalog.name).collect(),
        };
        let status = (!args.all).then_some(DraftStatus::Pending);
        let (mut drafts, mut whole): (Vec<DraftRow>, Vec<Draft>) = (Vec::new(), Vec::new());
        for name in &names {
            let everything = Slice { after: None, limit: usize::MAX };
            drafts.extend(app.drafts_page(name, status, &everything).await?.items);
        }
        if args.format == Format::Json {
            for draft in &drafts {
                whole.push(app.get_draft(&draft.catalog, draft.id).await?);
            }
        }
        Ok((drafts, whole))
    })?;
    Ok(Answer::from(match args.format {
        Format::Json => json::document(&whole)?,
        Format::Text if drafts.is_empty() => "no draft waits\n".to_owned(),
        Format::Text => {
            let mut out = String::new();
            for d in drafts {
                let by = safe::word(&d.created_by);
                _ = writeln!(
                    out,
                    "{:<6} {:<20} {:<10} {:<10} by {by} at {}",
                    format!("d-{}", d.id),
                    d.catalog.as_str(),
                    d.status.as_str(),
                    d.verdict.as_str(),
                    d.created_at.format("%Y-%m-%dT%H:%M:%SZ"),
                );
            }
            out
        }
    }))
}
