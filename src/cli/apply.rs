//! `apply`: reads a catalog document into the database.

use std::fmt::Write;

use super::{
    Answer,
    context::{Access, Context},
    render::safe,
    side,
};
use crate::app::AppError;

/// Apply a catalog document: its policy, its servers, and the version it pins.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The YAML file; `-` for stdin. Its stem names the catalog where the document does not.
    file: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let text = side::text(&args.file)?;
    let applied = context.with_app(Access::Write, async |app| app.apply(&args.file, &text, &actor).await)?;
    let catalog = &applied.catalog.name;
    let mut out = match (applied.unchanged, applied.version) {
        (true, _) if applied.registered.is_empty() => format!("{catalog}: nothing new\n"),
        (true, _) => String::new(),
        (false, Some(version)) => format!("{catalog}@{version} is applied\n"),
        (false, None) => {
            format!("{catalog}: policy and servers are applied; no version (the document has none)\n")
        }
    };
    if !applied.registered.is_empty() {
        let names: Vec<&str> = applied.registered.iter().map(|name| name.as_str()).collect();
        _ = writeln!(out, "registered: {}", names.join(", "));
    }
    for note in &applied.notes {
        _ = writeln!(out, "note: {}", safe::line(note, 300));
    }
    Ok(out.into())
}
