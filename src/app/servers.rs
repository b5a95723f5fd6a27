//! Registered servers.

use crate::{catalog::ServerSource, mcp::Source};

/// A source as it may be shown and kept: symbolic, and without what its names call secret.
pub(super) fn shown(source: &ServerSource) -> String {
    match source {
        ServerSource::Stdio { program, args, .. } => {
            let args = args.iter().map(|arg| arg.as_str().to_owned()).collect();
            Source::command(program.as_str().to_owned(), args).target()
        }
        ServerSource::Http { url, .. } => {
            let shown = Source::Http { url: url.as_str().to_owned(), headers: Vec::new() }.target();
            // References in it are not to be read as what a URL has to encode.
            shown.replace("%7B", "{").replace("%7D", "}")
        }
    }
}
