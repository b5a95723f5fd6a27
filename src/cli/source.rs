//! Where a list of tools comes from: a command, a URL or a saved answer. Exactly one.

use std::path::{Path, PathBuf};

use super::oauth;
use crate::{
    app::{AppError, Kind},
    mcp::{Source, SourceError},
};

/// The ways to say it; at most one of them. A command has no flag: it is what stands after `--`.
#[derive(clap::Args)]
#[group(skip)]
// Spelt out, because headers belong to a URL: alone they are no source.
#[command(group = clap::ArgGroup::new("source").args(["url", "file", "command"]))]
pub(super) struct Args {
    /// The HTTP endpoint of the server: Streamable HTTP or HTTP+SSE.
    #[arg(long, value_name = "URL", conflicts_with_all = ["file", "command"], value_parser = url)]
    url: Option<String>,
    /// A header sent with every request; repeat for more. Values are never stored or printed.
    #[arg(long = "header", value_name = "KEY=VALUE", requires = "url", conflicts_with_all = ["file", "command"], value_parser = header)]
    headers: Vec<(String, String)>,
    #[command(flatten)]
    oauth: oauth::Args,
    /// A saved `tools/list` answer: `{"tools":[…]}`, a JSON-RPC response, or a bare array; `-` for stdin.
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    file: Option<PathBuf>,
    /// The command that starts the server, and its arguments; no shell sees them.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// What was said.
pub(super) enum Chosen {
    /// A server to ask.
    Live(Source),
    /// A saved answer.
    File(String),
}

impl Args {
    /// What was said, where something has to be.
    ///
    /// # Errors
    /// Where nothing was, or the source can never work.
    pub(super) fn required(&self) -> Result<Chosen, AppError> {
        self.chosen()?.ok_or_else(|| invalid(SourceError::NoCommand))
    }

    /// What was said, if anything was.
    ///
    /// # Errors
    /// Where the source can never work: that is told before anything is asked or recorded.
    pub(super) fn chosen(&self) -> Result<Option<Chosen>, AppError> {
        let source = match (&self.url, &self.file) {
            (Some(url), _) => Source::http(url, self.headers.clone()),
            (None, Some(_)) if self.oauth.symbolic().is_some() => {
                Err(SourceError::OAuth("they are for a URL, not for a saved answer".to_owned()))
            }
            (None, Some(file)) => return Ok(Some(Chosen::File(file.to_string_lossy().into_owned()))),
            (None, None) if self.command.is_empty() && self.oauth.symbolic().is_none() => return Ok(None),
            (None, None) => Source::stdio(self.command.clone()),
        };
        let source = match self.oauth.client()? {
            None => source,
            Some(client) => source.and_then(|source| source.with_oauth(client)),
        };
        source.map(|source| Some(Chosen::Live(source))).map_err(invalid)
    }
}

fn invalid(error: SourceError) -> AppError {
    AppError::new(Kind::Invalid, "invalid-source", error.to_string())
}

/// A source as a reader knows it: without the program's folder, and without what may be secret in it.
pub(super) fn label(source: &Source) -> String {
    match source {
        Source::Stdio { program, args, .. } => {
            let name = Path::new(program).file_name().map_or(program.into(), |n| n.to_string_lossy());
            Source::command(name.into_owned(), args.clone()).target()
        }
        Source::Http { .. } => source.target(),
    }
}

/// A slip of the hand is told with the usage.
fn url(text: &str) -> Result<String, String> {
    let rest = text.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"));
    match rest {
        Some((_, rest)) if !rest.is_empty() && !rest.starts_with('/') => Ok(text.to_owned()),
        _ => Err("it is no http or https URL; expected something like https://example.com/mcp".to_owned()),
    }
}

/// `Authorization=Bearer x`, or with a colon, as it stands on the wire.
pub(super) fn header(text: &str) -> Result<(String, String), String> {
    let at = text.find(['=', ':']).ok_or("expected KEY=VALUE, for example Authorization=Bearer\\ TOKEN")?;
    let (key, value) = (text[..at].trim(), text[at + 1..].trim());
    if key.is_empty() {
        return Err("the header has no name; expected KEY=VALUE".to_owned());
    }
    Ok((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_keeps_no_secret_of_a_url() {
        let of = |url: &str| {
            label(&Source::Http {
                url: url.to_owned(),
                headers: vec![("a".into(), "secret".into())],
                oauth: None,
                transport: crate::catalog::server::HttpTransport::Auto,
            })
        };
        for (url, expected) in [
            ("https://user:secret@example.com/mcp?token=secret#secret", "https://example.com/mcp"),
            ("http://127.0.0.1:3001/mcp", "http://127.0.0.1:3001/mcp"),
            ("https://example.com?key=secret", "https://example.com/"),
            ("https://a:b@secret@example.com/x@y", "https://example.com/x@y"),
        ] {
            assert_eq!(of(url), expected);
        }
    }

    #[test]
    fn a_url_names_a_scheme_and_a_host() {
        for (text, good) in [
            ("https://example.com/mcp", true),
            ("http://127.0.0.1:3001", true),
            ("example.com/mcp", false),
            ("ftp://example.com/mcp", false),
            ("https:///mcp", false),
            ("", false),
        ] {
            assert_eq!(url(text).is_ok(), good, "{text}");
        }
    }

    #[test]
    fn a_header_is_read_with_either_sign() {
        assert_eq!(header("Authorization=Bearer a=b"), Ok(("Authorization".into(), "Bearer a=b".into())));
        assert_eq!(header("X-Key: v=w"), Ok(("X-Key".into(), "v=w".into())));
        assert!(header("nothing").is_err());
        assert!(header("=x").is_err());
    }
}
