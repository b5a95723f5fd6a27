//! One side of a diff or gate as a person writes it: a file, stdin, or a reference into the database.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use super::context::{Access, Context};
use crate::{
    app::{AppError, Kind, view},
    diff::Side,
    snapshot::MAX_FILE_BYTES,
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

/// What a reference may look like.
pub(super) const FORMS: &str = "a file (with `/` or `.json` in its name), `-` for stdin, `server@latest`, \
     `server@sha256:…` (6 and more hex digits are enough), `catalog@2026.11.30`, or an environment";

/// Reads one side.
pub(super) fn read(text: &str, context: &Context) -> Result<Side, AppError> {
    match named(text) {
        Named::File(path) => file(path),
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
    let (Named::File(one), Named::File(other)) = (named(baseline), named(candidate)) else {
        return (read(baseline, context), read(candidate, context));
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| file(other));
        (file(one), other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Adds what a side may be to the failure of a reference.
fn explained(reference: &str, mut error: AppError, context: &Context) -> AppError {
    let forms = format!("a side is {FORMS}");
    if error.code == "no-database" {
        error.message = format!("`{reference}` is no file, and {}", error.message);
        error.help = forms;
        // Nobody said that there is a database: this is a mistyped file, not a database that is gone.
        if context.database.is_none() {
            error.kind = Kind::NotFound;
        }
    } else if matches!(error.kind, Kind::Invalid | Kind::NotFound) {
        error.help = if error.help.is_empty() { forms } else { format!("{}; {forms}", error.help) };
    }
    error
}

/// Reads a saved answer.
pub(super) fn file(path: &str) -> Result<Side, AppError> {
    view::file_side(path, &text(path)?)
}

/// Reads a text file, or stdin where the path is `-`, up to what a saved answer may have.
pub(super) fn text(path: &str) -> Result<String, AppError> {
    let invalid =
        |cause: String| AppError::new(Kind::Invalid, "unreadable-file", format!("`{path}` {cause}"));
    let cap = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    let read = if path == "-" {
        io::stdin().lock().take(cap + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|f| f.take(cap + 1).read_to_end(&mut bytes))
    };
    read.map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => invalid("does not exist".to_owned()).help(format!("a side is {FORMS}")),
        _ => invalid(format!("cannot be read: {e}")),
    })?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(invalid(format!("is larger than {MAX_FILE_BYTES} bytes, the limit for a saved answer")));
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
