//! What a move was made on.

use serde::Serialize;
use utoipa::ToSchema;

use super::{Level, ServerName};

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

/// What a move was made on, as it was then; what there was none of is absent.
#[derive(ToSchema)]
pub(crate) struct Grounds {
    /// On what changes for whoever uses the environment; absent for the first move.
    #[schema(nullable = false)]
    verdict: Option<Level>,
    /// The numbers of the decisions that let changes pass which would have blocked.
    #[schema(required = false)]
    decisions: Vec<i64>,
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
