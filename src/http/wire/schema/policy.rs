//! What blocks: policies of catalogs and of environments.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::{Assumption, EnvironmentName, Formats, Level, ServerName};

/// Which callers have to be able to go on.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    /// Those who send.
    Input,
    /// Those who read.
    Output,
    /// Both.
    Full,
}

/// Which versions a candidate is held against.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Against {
    /// The newest approved one; for an environment, what is live there.
    Latest,
    /// Each contract that a tool had since its contractVersion last moved its major, as well.
    SinceMajor,
    /// Everything that was ever live as well.
    EverLive,
}

/// What has to be so of the servers before a pointer moves.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Probe {
    /// Every registered server serves what is pinned.
    Require,
    /// They are asked, and what they said is recorded.
    Record,
    /// Nobody is asked.
    Skip,
}

/// What blocks, per catalog.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct Policy {
    assume: Assumption,
    formats: Formats,
    /// Levels that block.
    fail_on: Vec<Level>,
    compatibility: Direction,
    against: Against,
    /// How many people other than its authors have to approve a draft. With none, its author may.
    approvals: u32,
    /// The most tools that a version may hold.
    #[schema(nullable = false)]
    max_tools: Option<u32>,
    /// After how many days what was announced to go may go without blocking; never where absent.
    #[schema(nullable = false)]
    deprecation_days: Option<u32>,
}

/// What blocks, per catalog; what is left out is as in a catalog that nobody set: `declared`, `risky`, `breaking` and
/// `undecided`, `full`, `latest`, no approvals by others, any number of tools, no
/// days after which what was announced may go.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PolicySettings {
    #[schema(required = false)]
    assume: Assumption,
    #[schema(required = false)]
    formats: Formats,
    /// Levels that block.
    #[schema(required = false)]
    fail_on: Vec<Level>,
    #[schema(required = false)]
    compatibility: Direction,
    #[schema(required = false)]
    against: Against,
    /// How many people other than its authors have to approve a draft. With none, its author may.
    #[schema(required = false, maximum = 100_000)]
    approvals: u32,
    /// The most tools that a version may hold.
    #[schema(maximum = 100_000)]
    max_tools: Option<u32>,
    /// After how many days what was announced to go may go without blocking; never where absent.
    #[schema(maximum = 100_000)]
    deprecation_days: Option<u32>,
}

/// What an environment demands of a catalog's versions. What it leaves out is as the catalog's policy says.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EnvironmentPolicy {
    /// The environment that comes before: only what was live there, and is not held there, comes here.
    after: Option<EnvironmentName>,
    assume: Option<Assumption>,
    formats: Option<Formats>,
    /// Levels that block a promotion.
    fail_on: Option<Vec<Level>>,
    /// Levels that block a rollback; none where absent.
    #[schema(required = false)]
    rollback_fail_on: Vec<Level>,
    compatibility: Option<Direction>,
    against: Option<Against>,
    /// How many people other than its authors have to have approved a version.
    #[schema(maximum = 100_000)]
    approvals: Option<u32>,
    /// The most tools that a version may hold.
    #[schema(maximum = 100_000)]
    max_tools: Option<u32>,
    /// After how many days what was announced in this environment may go without blocking.
    #[schema(maximum = 100_000)]
    deprecation_days: Option<u32>,
    /// `require` where absent.
    #[schema(required = false)]
    probe: Probe,
    /// By the server that the contracts came from, the registered server that serves its tools here, where it is another.
    #[schema(required = false)]
    servers: BTreeMap<String, ServerName>,
}
