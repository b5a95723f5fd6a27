//! What a move was made on.

use chrono::NaiveDate;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Digest, Level, ServerName};

/// What a server was found to serve of what a version pins.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProbeAnswer {
    /// Every pinned contract.
    Serves,
    /// Something else.
    Differs,
    /// It could not be listed.
    Unreachable,
    /// Nobody registered it, so it cannot be asked.
    Unregistered,
}

/// One server that was asked before a move.
#[derive(ToSchema)]
pub(crate) struct Probed {
    /// The server that the contracts came from.
    server: ServerName,
    /// The registered server that was asked, where it is another.
    #[schema(nullable = false)]
    asked: Option<ServerName>,
    answer: ProbeAnswer,
    /// Pinned tools that it serves otherwise.
    #[schema(required = false)]
    changed: Vec<String>,
    /// Pinned tools that it does not serve.
    #[schema(required = false)]
    missing: Vec<String>,
    /// What happened, where it could not be asked.
    #[schema(nullable = false)]
    message: Option<String>,
}

/// A change that would have blocked and passed, because it was announced for as long as is promised.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct LetGo {
    fingerprint: Digest,
    /// In words: `breaking: tool `a`: …`.
    change: String,
    /// The day on which it was announced.
    since: NaiveDate,
    /// How many days were promised.
    days: u32,
}

/// What a move was made on, as it was then; what there was none of is absent.
#[derive(ToSchema)]
pub(crate) struct Grounds {
    /// On what changes for whoever uses the environment; absent for the first move.
    #[schema(nullable = false)]
    verdict: Option<Level>,
    /// The numbers of the decisions that let changes pass which would have blocked.
    #[schema(required = false)]
    decisions: Vec<i64>,
    /// The changes that passed because they were announced for as long as is promised, and would have blocked.
    #[schema(required = false)]
    announced: Vec<LetGo>,
    /// Who had approved the version.
    #[schema(required = false)]
    approvers: Vec<String>,
    /// What the servers were found to serve.
    #[schema(required = false)]
    probed: Vec<Probed>,
    /// The codes of gates that stood in the way and were overridden.
    #[schema(required = false)]
    overridden: Vec<String>,
    /// Whether it was an emergency; absent where not.
    #[schema(nullable = false)]
    emergency: Option<bool>,
}
