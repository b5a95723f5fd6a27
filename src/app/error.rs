//! Why a use case could not be done, in a form that each face translates: the API to a status, the CLI to an exit code.

use super::view::Preflight;
use crate::{
    catalog::suggest::did_you_mean,
    reach::innermost,
    snapshot::{Evidence, Outcome},
    store::StoreError,
};

/// What kind of failure it is; decides status and exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What was asked for makes no sense as asked (400, exit 2).
    Invalid,
    /// The named object does not exist (404, exit 2).
    NotFound,
    /// It existed and was forgotten (410, exit 2).
    Gone,
    /// It exists and its state forbids this (409, exit 1).
    Conflict,
    /// The caller looked at an older state (412, exit 1).
    Stale,
    /// A policy forbids it (422, exit 1).
    Blocked,
    /// The caller may not do it (403, exit 1).
    Forbidden,
    /// Something outside did not answer: a server, the database (503, exit 3).
    Unavailable,
    /// Our own fault (500, exit 3).
    Internal,
}

impl Kind {
    /// Not for the caller to mend: what surrounds us failed, or we did.
    #[must_use]
    pub fn is_ours(self) -> bool {
        match self {
            Self::Unavailable | Self::Internal => true,
            Self::Invalid
            | Self::NotFound
            | Self::Gone
            | Self::Conflict
            | Self::Stale
            | Self::Blocked
            | Self::Forbidden => false,
        }
    }
}

/// A failure. `message` names the object and the cause, lower case, no final period; `help` is the next step.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct AppError {
    /// The kind.
    pub kind: Kind,
    /// Stable, kebab-case; part of the API (`stale-generation`, `unknown-catalog`, `never-live`, `held`, …).
    pub code: &'static str,
    /// What went wrong.
    pub message: String,
    /// What to do; may be empty.
    pub help: String,
    /// Where a listing failed: how.
    pub listing: Option<Box<(Outcome, Evidence)>>,
    /// Where a move was refused by a gate: all that it was judged on.
    pub preflight: Option<Box<Preflight>>,
    /// The cause, for the log only; never shown by the API.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl AppError {
    /// A failure without further particulars.
    #[must_use]
    pub fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            code,
            message: message.into(),
            help: String::new(),
            listing: None,
            preflight: None,
            source: None,
        }
    }

    /// The same with the next step.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }
    /// The same with its cause, for the log.
    #[must_use]
    pub(super) fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// `name` is none of the `known`.
    pub(crate) fn unknown(what: &'static str, code: &'static str, name: &str, known: &[String]) -> Self {
        let hint = did_you_mean(name, known.iter().map(String::as_str));
        let help = match known {
            [] => format!("there is no {what} yet"),
            known if known.len() > 20 => format!("there are {} of that kind", known.len()),
            known => format!("known: {}", known.join(", ")),
        };
        Self::new(Kind::NotFound, code, format!("{what} `{name}` does not exist{hint}")).help(help)
    }
}

impl From<StoreError> for AppError {
    /// What a use case did not foresee. Those that it does are matched where they happen.
    fn from(error: StoreError) -> Self {
        let help = match &error {
            // Of a read that is true as well.
            StoreError::Database(_) => {
                "try again; nobody knows whether a change was made, and a move under the same `Idempotency-Key` is made once"
            }
            _ => "",
        };
        let (kind, code, message) = match &error {
            StoreError::Moved(_) => (Kind::Stale, "stale-generation", error.to_string()),
            StoreError::KeyReused => (
                Kind::Blocked,
                "idempotency-key-reused",
                "the idempotency key was used for another request; use a new key for a new request"
                    .to_owned(),
            ),
            StoreError::Shifted => (Kind::Conflict, "busy", error.to_string()),
            StoreError::DraftChanged => (Kind::Conflict, "stale-draft", error.to_string()),
            StoreError::VersionExists => (Kind::Conflict, "version-exists", error.to_string()),
            StoreError::Corrupt { .. } => (Kind::Internal, "corrupt-database", error.to_string()),
            StoreError::ClaimLost(_) => (Kind::Conflict, "claim-lost", error.to_string()),
            StoreError::Outdated(_) => (Kind::Unavailable, "database-outdated", error.to_string()),
            StoreError::Database(cause) => (
                Kind::Unavailable,
                "database-unavailable",
                format!("the database did not answer: {}", innermost(cause.as_ref())),
            ),
        };
        Self::new(kind, code, message).help(help).caused_by(error)
    }
}
