//! `log`: the newest events of the audit log.

use std::fmt::Write;

use super::{
    Answer,
    context::{Access, Context},
    render::{Format, json, safe},
};
use crate::app::AppError;

/// Show the newest events of the audit log.
#[derive(clap::Args)]
pub(super) struct Args {
    /// How many.
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: usize,
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let events = context.with_app(Access::Read, async |app| app.events(args.limit).await)?;
    Ok(Answer::from(match args.format {
        Format::Json => json::document(&events)?,
        Format::Text => {
            let mut out = String::new();
            for e in &events {
                let said =
                    e.particulars().into_iter().map(|(key, value)| format!("{key} {}", safe::word(&value)));
                _ = writeln!(
                    out,
                    "{:>5}  {}  {:<24} {:<28} by {}: {}",
                    e.seq,
                    e.at.format("%Y-%m-%dT%H:%M:%SZ"),
                    e.kind,
                    safe::word(&e.subject),
                    safe::word(&e.actor),
                    said.collect::<Vec<_>>().join(", "),
                );
            }
            out
        }
    }))
}
