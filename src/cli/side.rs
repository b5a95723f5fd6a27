//! One side of a diff or gate as a person writes it: a file, stdin, or a reference into the database.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use super::context::{Access, Context, block_on};
use crate::{
    app::{AppError, Kind, check, tree, view},
    catalog::announced::Announced,
    diff::{Calls, Options, Report, Side, diff_with_calls},
    gate::judge::announced,
    name::ServerName,
    snapshot::{Listing, MAX_FILE_BYTES},
};

/// What a text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named<'a> {
    /// A file; `-` is stdin.
    File(&'a str),
    /// A snapshot, a catalog version or an environment.
    Reference(&'a str),
}

/// Tells files from references: a file exists, or looks like a path.
pub(super) fn named(text: &str) -> Named<'_> {
    let path_like = text.contains(['/', '\\']) || text.to_ascii_lowercase().ends_with(".json");
    if text == "-" || path_like || Path::new(text).exists() {
        Named::File(text)
    } else {
        Named::Reference(text)
    }
}

/// What a side may be.
const FORMS: &str = "a side is a file (with `/` or `.json` in its name; `-` is stdin), `server@latest`, \
     `server@DIGEST`, `catalog@2026.11.30`, or an environment";

/// The code of a file that does not exist, which may have been meant as something else.
const NO_FILE: &str = "no-such-file";

/// Reads one side.
pub(super) fn read(text: &str, context: &Context) -> Result<Side, AppError> {
    match named(text) {
        Named::File(path) => file(path).map_err(|e| if e.code == NO_FILE { e.help(FORMS) } else { e }),
        Named::Reference(reference) => context
            .with_app(Access::Read, async |app| app.side(reference).await)
            .map_err(|error| explained(reference, error, context)),
    }
}

/// Reads two sides, two files at the same time: reading is most of the work where little changed.
pub(super) fn both(
    baseline: &str,
    candidate: &str,
    context: &Context,
) -> (Result<Side, AppError>, Result<Side, AppError>) {
    if !(offline(baseline) && offline(candidate)) {
        return (read(baseline, context), read(candidate, context));
    }
    std::thread::scope(|scope| {
        let candidate = scope.spawn(|| read(candidate, context));
        (read(baseline, context), candidate.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Whether a side is read without the database, and so without a runtime.
pub(super) fn offline(text: &str) -> bool {
    matches!(named(text), Named::File(_))
}

/// The report of two sides and recorded calls. Where a runtime was started (not `offline`), it has taken over the signals for good, so they
/// are heeded while the diff computes.
pub(super) fn diffed(
    baseline: Side,
    candidate: Side,
    options: Options,
    calls: Calls,
    offline: bool,
) -> Result<Report, AppError> {
    if !offline {
        return block_on(check::compared_with_calls(baseline, candidate, options, calls));
    }
    let report = diff_with_calls(&baseline, &candidate, options, &calls);
    // The process ends soon: giving two long lists back piece by piece is a tenth of its time.
    std::mem::forget((baseline, candidate, calls));
    Ok(report)
}

/// Adds what a side may be, where the reference may have been meant as something else.
fn explained(reference: &str, mut error: AppError, context: &Context) -> AppError {
    match error.code {
        "no-database" => {
            error.message = format!("`{reference}` is no file, and {}", error.message);
            error.help = FORMS.to_owned();
            // Nobody said that there is a database: this is a mistyped file, not a database that is gone.
            if context.database.is_none() {
                error.kind = Kind::NotFound;
            }
        }
        "bad-side" => error.help = FORMS.to_owned(),
        "unknown-environment" => error.help = format!("{}; {FORMS}", error.help),
        _ => {}
    }
    error
}

/// Reads a saved answer.
pub(super) fn file(path: &str) -> Result<Side, AppError> {
    let text = text(path)?;
    if crate::gate::lock::is_one(&text) {
        return Ok(tree::read_lock(label(path), &text)?.side(label(path)));
    }
    view::file_side(label(path), &text)
}

/// A side with what is declared and announced in it.
pub(super) struct Release {
    /// The side.
    pub(super) side: Side,
    /// The version of each server that declares one; of a saved answer, which names none, that of its only one.
    pub(super) versions: Vec<(Option<ServerName>, String)>,
    /// What a lockfile says was announced to go.
    pub(super) announced: Announced,
}

/// Reads one side with that.
pub(super) fn release(text: &str, context: &Context) -> Result<Release, AppError> {
    match named(text) {
        Named::File(path) => {
            file_release(path).map_err(|e| if e.code == NO_FILE { e.help(FORMS) } else { e })
        }
        Named::Reference(reference) => {
            let side = read(text, context)?;
            let versions = context.with_app(Access::Read, async |app| app.declared_in(reference).await)?;
            let versions = versions.into_iter().map(|(server, version)| (Some(server), version)).collect();
            Ok(Release { side, versions, announced: Announced::new() })
        }
    }
}

/// The same of a saved answer or a lockfile.
pub(super) fn file_release(path: &str) -> Result<Release, AppError> {
    let text = text(path)?;
    if !crate::gate::lock::is_one(&text) {
        let (side, version) = view::file_release(label(path), &text)?;
        let versions = version.map(|version| (None, version)).into_iter().collect();
        return Ok(Release { side, versions, announced: Announced::new() });
    }
    let lock = tree::read_lock(label(path), &text)?;
    let versions = lock.servers.iter().filter_map(|s| Some((Some(s.name.clone()), s.version.clone()?)));
    Ok(Release { side: lock.side(label(path)), versions: versions.collect(), announced: announced(&lock) })
}

/// Reads a saved answer to be recorded.
pub(super) fn listing(path: &str) -> Result<Listing, AppError> {
    view::file_listing(label(path), &text(path)?)
}

/// Refuses more than one text from stdin.
///
/// # Errors
/// Where two of them are `-`.
pub(super) fn stdin_once(texts: &[&str]) -> Result<(), AppError> {
    if texts.iter().filter(|text| **text == "-").count() < 2 {
        return Ok(());
    }
    Err(AppError::new(Kind::Invalid, "stdin-twice", "`-` is given twice, and stdin can be read once")
        .help("save one of them to a file"))
}

pub(super) fn label(path: &str) -> &str {
    if path == "-" { "stdin" } else { path }
}

/// Reads a text file, or stdin where the path is `-`, up to what a saved answer may have.
pub(super) fn text(path: &str) -> Result<String, AppError> {
    text_up_to(path, MAX_FILE_BYTES, "a saved answer")
}

/// Reads a text file, or stdin where the path is `-`, up to so many bytes, the limit for what it is.
pub(super) fn text_up_to(path: &str, most: usize, what: &str) -> Result<String, AppError> {
    let named = label(path);
    let invalid =
        |cause: String| AppError::new(Kind::Invalid, "unreadable-file", format!("`{named}` {cause}"));
    let cap = u64::try_from(most).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    let read = if path == "-" {
        io::stdin().lock().take(cap + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|f| f.take(cap + 1).read_to_end(&mut bytes))
    };
    read.map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => {
            AppError::new(Kind::Invalid, NO_FILE, format!("`{named}` does not exist")).help("check the path")
        }
        io::ErrorKind::IsADirectory => invalid("cannot be read: it is a folder".to_owned()),
        _ => invalid(format!("cannot be read: {e}")),
    })?;
    if bytes.len() > most {
        return Err(invalid(format!("is larger than {most} bytes, the limit for {what}")));
    }
    String::from_utf8(bytes)
        .map_err(|e| invalid(format!("is no UTF-8 text: byte {} is invalid", e.utf8_error().valid_up_to())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_references_are_told_apart() {
        for (text, file) in [
            ("-", true),
            ("a.json", true),
            ("./production", true),
            ("dir/list", true),
            ("Cargo.toml", true), // exists here
            ("production", false),
            ("github@latest", false),
            ("github@sha256:0123456789", false),
            ("orders@2026.11.30", false),
        ] {
            let expected = if file { Named::File(text) } else { Named::Reference(text) };
            assert_eq!(named(text), expected, "{text}");
        }
    }
}
