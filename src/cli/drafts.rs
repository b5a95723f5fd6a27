//! `drafts`: which drafts there are.

use std::fmt::Write;

use super::{
    Answer,
    context::{Access, Context},
    render::{Format, json, safe},
};
use crate::{
    app::AppError,
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
    let drafts = context.with_app(Access::Read, async |app| {
        let names = match &args.catalog {
            Some(name) => vec![name.clone()],
            None => app.catalogs().await?.into_iter().map(|c| c.catalog.name).collect(),
        };
        let mut drafts: Vec<Draft> = Vec::new();
        for name in &names {
            drafts.extend(app.catalog(name).await?.drafts);
        }
        Ok(drafts)
    })?;
    let shown: Vec<&Draft> = drafts.iter().filter(|d| args.all || d.status == DraftStatus::Pending).collect();
    Ok(Answer::from(match args.format {
        Format::Json => json::document(&shown)?,
        Format::Text if shown.is_empty() => "no draft waits\n".to_owned(),
        Format::Text => {
            let mut out = String::new();
            for d in shown {
                let by = safe::word(&d.created_by);
                _ = writeln!(
                    out,
                    "{:<6} {:<20} {:<10} {:<10} by {by} at {}",
                    format!("d-{}", d.id),
                    d.catalog.as_str(),
                    d.status.as_str(),
                    d.report.verdict.as_str(),
                    d.created_at.format("%Y-%m-%dT%H:%M:%SZ"),
                );
            }
            out
        }
    }))
}
