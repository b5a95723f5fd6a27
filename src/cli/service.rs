//! A service as commands ask it: with a token from the environment, and with what its failures mean to a pipeline.

use std::env;

use super::config;
use crate::{
    app::{AppError, Kind},
    remote::{RemoteError, Service},
};

/// The variable that holds the token; with `_FILE` behind it, the one that names its file.
const TOKEN: &str = "TOOLPACT_TOKEN";

/// The service at a URL, asked with the token of this process.
///
/// # Errors
/// Where the URL is none, or the token cannot be had.
pub(super) fn open(url: &str) -> Result<Service, AppError> {
    let said = env::var(TOKEN).ok().map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
    let token = match said {
        Some(token) => Some(token),
        None => config::secret(TOKEN)?.map(|token| token.to_string_lossy().trim().to_owned()),
    };
    Service::new(url, token).map_err(failed)
}

/// What a failure means here. None of them says that something is blocked: what a service refuses is a mistake of the
/// settings, and what it cannot do now is no verdict.
pub(super) fn failed(error: RemoteError) -> AppError {
    let message = error.to_string();
    let (kind, code, help) = match error {
        RemoteError::Url(..) => (Kind::Invalid, "invalid-service", String::new()),
        RemoteError::Unreachable { .. } => (
            Kind::Unavailable,
            UNREACHABLE,
            "see that the URL is right and the service runs, then repeat; nothing is known of what changed"
                .to_owned(),
        ),
        RemoteError::Unknown { .. } => (
            Kind::Invalid,
            "invalid-token",
            format!(
                "put a token of kind ci with the role author into {TOKEN} (an admin makes one under `/tokens`, or with `toolpact \
                 tokens`); one that has ended is replaced, not renewed"
            ),
        ),
        RemoteError::Refused { status, help, .. } => match status {
            403 => (Kind::Invalid, "service-refused", if help.is_empty() { token_help() } else { help }),
            // What is live there is not all known; whoever asked can do nothing about that.
            409 | 412 | 422 => (Kind::Unavailable, "service-refused", help),
            _ => (Kind::Invalid, "service-refused", help),
        },
        RemoteError::TooLarge(..) => (
            Kind::Invalid,
            "too-large",
            "hold fewer servers of the tree against it at once: `--server NAME`".to_owned(),
        ),
        RemoteError::Foreign { .. } => (
            Kind::Unavailable,
            "no-service",
            "see that the URL is that of the service itself, and that no proxy answers in its place"
                .to_owned(),
        ),
    };
    AppError::new(kind, code, message).help(help)
}

/// The code of a failure after which a lockfile may judge instead.
pub(super) const UNREACHABLE: &str = "service-unreachable";

fn token_help() -> String {
    format!("use a token whose role and scope allow it, in {TOKEN}")
}
