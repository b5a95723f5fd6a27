//! Why a use case could not be done, in a form that each face translates: the API to a status, the CLI to an exit code.

use crate::snapshot::{Evidence, Outcome};

/// What kind of failure it is; decides status and exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What was asked for makes no sense as asked (400, exit 2).
    Invalid,
    /// The named object does not exist (404, exit 2).
    NotFound,
    /// It exists and its state forbids this (409, exit 1).
    Conflict,
    /// The caller looked at an older state (412, exit 1).
    Stale,
    /// A policy forbids it (422, exit 1).
    Blocked,
    /// Something outside did not answer: a server, the database (503, exit 3).
    Unavailable,
    /// Our own fault (500, exit 3).
    Internal,
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
    /// The cause, for the log only; never shown by the API.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl AppError {
    /// A failure without further particulars.
    #[must_use]
    pub fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Self {
        Self { kind, code, message: message.into(), help: String::new(), listing: None, source: None }
    }

    /// The same with the next step.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }
}
