//! `apply`: reads a catalog document into the database.

use std::{fmt::Write, path::Path};

use super::{
    Answer,
    context::{Access, Context},
    render::safe,
    side,
};
use crate::app::{AppError, Kind, catalogs::Apply, view::Applied};

/// Apply a catalog document: its policy, its servers, and the version it pins.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The YAML file, or a folder of such files; `-` for stdin. The stem of a file names the catalog where the document
    /// does not.
    #[arg(required_unless_present = "files")]
    file: Option<String>,
    /// The same; may be given more than once.
    #[arg(short = 'f', long = "file", value_name = "FILE|DIR")]
    files: Vec<String>,
    /// Say what would change and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Undo what others set since the last document was applied.
    #[arg(long)]
    overwrite: bool,
}

/// The files that are meant: a folder's documents in the order of their names.
fn files(path: &str) -> Result<Vec<String>, AppError> {
    if path == "-" || !Path::new(path).is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = |e: std::io::Error| {
        AppError::new(Kind::Invalid, "unreadable-file", format!("folder `{path}` cannot be read: {e}"))
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file.is_file() && file.extension().is_some_and(|e| e == "yaml" || e == "yml") {
            files.push(file.to_string_lossy().into_owned());
        }
    }
    files.sort();
    if files.is_empty() {
        let message = format!("folder `{path}` holds no `.yaml` file");
        return Err(
            AppError::new(Kind::Invalid, "no-documents", message).help("name the file, or another folder")
        );
    }
    Ok(files)
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let how = Apply { dry_run: args.dry_run, overwrite: args.overwrite };
    let files = args.file.iter().chain(&args.files).map(|path| files(path)).collect::<Result<Vec<_>, _>>()?;
    let texts: Vec<(String, String)> = files
        .into_iter()
        .flatten()
        .map(|file| side::text(&file).map(|text| (file, text)))
        .collect::<Result<_, _>>()?;
    let out = context.with_app(Access::Write, async |app| {
        if texts.len() > 1 {
            // All are read before one is written: a slip in the last leaves nothing half applied.
            for (file, text) in &texts {
                app.apply_as(file, text, Apply { dry_run: true, ..how }, &actor).await?;
            }
        }
        let mut out = String::new();
        for (file, text) in &texts {
            let applied = app.apply_as(file, text, how, &actor).await?;
            out.push_str(&if how.dry_run { rehearsed(&applied) } else { told(&applied) });
        }
        Ok(out)
    })?;
    Ok(out.into())
}

/// What would be done.
fn rehearsed(applied: &Applied) -> String {
    let catalog = &applied.catalog.name;
    let mut out = if applied.unchanged && applied.registered.is_empty() {
        format!("{catalog}: nothing new\n")
    } else {
        format!("{catalog}: would change (nothing was written)\n")
    };
    for line in &applied.changes {
        _ = writeln!(out, "  {}", safe::line(line, 300));
    }
    if let Some(version) = applied.version.filter(|_| !applied.unchanged) {
        _ = writeln!(out, "  + version {version}");
    }
    for name in &applied.registered {
        _ = writeln!(out, "  + server {name} is registered");
    }
    for note in &applied.notes {
        _ = writeln!(out, "note: {}", safe::line(note, 300));
    }
    out
}

/// What was done.
fn told(applied: &Applied) -> String {
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
    out
}
