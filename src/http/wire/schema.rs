//! How the API's description names the core's types: their JSON in the shape of types that can describe themselves. The
//! core does not know that it is described; the tests hold every answer against these.
#![expect(dead_code, reason = "these are never made, only described")]

mod moves;
mod policy;
mod webhooks;

pub(crate) use moves::Grounds;
pub(crate) use policy::{EnvironmentPolicy, Policy, PolicySettings};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
pub(crate) use webhooks::{
    DeliveryNumber, DeliveryStatus, EventKind, WebhookName, WebhookShape, WebhookState, WebhookUrl,
};

/// The name of a server, as people here chose it.
#[derive(ToSchema, Serialize)]
#[schema(value_type = String, pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", min_length = 1, max_length = 64, examples("orders"))]
pub(crate) struct ServerName(String);

/// The name of a catalog.
#[derive(ToSchema)]
#[schema(value_type = String, pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", min_length = 1, max_length = 64, examples("orders"))]
pub(crate) struct CatalogName(String);

/// The name of an environment.
#[derive(ToSchema, Serialize)]
#[schema(value_type = String, pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", min_length = 1, max_length = 64, examples("production"))]
pub(crate) struct EnvironmentName(String);

/// The name of a team.
#[derive(ToSchema)]
#[schema(value_type = String, pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", min_length = 1, max_length = 64, examples("payments"))]
pub(crate) struct TeamName(String);

/// The id of a token.
#[derive(ToSchema)]
#[schema(value_type = String, pattern = "^tok-[0-9a-fA-F]{12}$", examples("tok-0123456789ab"))]
pub(crate) struct TokenId(String);

/// What a caller is.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CallerKind {
    /// A person.
    Human,
    /// A pipeline.
    Ci,
    /// A program that acts on a model's word.
    Agent,
}

/// What a caller was given.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// Looks.
    Viewer,
    /// Makes and edits drafts.
    Author,
    /// Decides on changes, approves and rejects.
    Reviewer,
    /// Promotes, rolls back, freezes.
    Operator,
    /// Everything.
    Admin,
}

/// Where a caller's rights hold.
#[derive(ToSchema)]
pub(crate) struct Scope {
    /// The catalogs; all where absent.
    #[schema(required = false)]
    catalogs: Vec<CatalogName>,
    /// The environments; all where absent.
    #[schema(required = false)]
    environments: Vec<EnvironmentName>,
}

/// The number of a catalog's version: the day of its approval, the second of that day with `.1` behind it.
#[derive(ToSchema)]
#[schema(value_type = String, pattern = r"^[0-9]{4,6}\.(0[1-9]|1[0-2])\.(0[1-9]|[12][0-9]|3[01])(\.[1-9][0-9]{0,5})?$", examples("2026.11.30", "2026.11.30.1"))]
pub(crate) struct CatalogVersion(String);

/// The semantic version of one tool's contract.
#[derive(ToSchema)]
#[schema(value_type = String, examples("1.2.0"))]
pub(crate) struct ContractVersion(String);

/// A SHA-256 over a canonical form.
#[derive(ToSchema)]
#[schema(value_type = String, pattern = "^sha256:[0-9a-f]{64}$", examples("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))]
pub(crate) struct Digest(String);

/// A JSON Pointer (RFC 6901).
#[derive(ToSchema)]
#[schema(value_type = String, examples("/properties/state"))]
pub(crate) struct JsonPointer(String);

/// By which way a write came in: what stands behind the name of its actor.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct Origin {
    /// What proved the actor's name: `local`, `token:ID`, `session`, `oidc`, `none`.
    #[schema(examples("local"))]
    auth: String,
    /// The person that an agent or a build says it acts for; a claim.
    #[schema(nullable = false)]
    on_behalf_of: Option<String>,
    /// The request, as its answer and the service's log call it.
    #[schema(nullable = false)]
    request_id: Option<String>,
    /// The key under which the caller may repeat the request.
    #[schema(nullable = false)]
    idempotency_key: Option<String>,
}

/// The number of a draft: `3`, or `d-3` as people see it.
#[derive(ToSchema)]
#[schema(value_type = String, pattern = "^(d-)?[0-9]{1,18}$", examples("d-3"))]
pub(crate) struct DraftNumber(String);

/// The number of a check.
#[derive(ToSchema)]
#[schema(value_type = String, pattern = "^[0-9]{1,18}$", examples("7"))]
pub(crate) struct CheckNumber(String);

/// A tool of a `tools/list` answer, as its server sent it.
#[derive(ToSchema, Serialize)]
#[schema(value_type = Object, examples(json!({"name": "order_query", "inputSchema": {"type": "object"}})))]
pub(crate) struct RawTool(Value);

/// The digests of one tool.
#[derive(ToSchema)]
pub(crate) struct Digests {
    /// Everything, exactly as received.
    raw: Digest,
    /// Name, schemas and annotations, notation removed.
    contract: Digest,
    /// Title, descriptions and icons.
    presentation: Digest,
}

/// What callers are taken to send.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Assumption {
    /// Only properties that the baseline declares.
    Declared,
    /// Anything that the baseline's schema allows.
    Strict,
}

/// What a `format` is taken for.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Formats {
    /// It rejects values.
    Assert,
    /// It says something to readers only.
    Annotate,
    /// It may do either.
    Risky,
}

/// How bad a finding is, the worst last.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// Proved harmless, or words only.
    Compatible,
    /// Breaks no schema, may change what happens.
    Risky,
    /// Not proved either way.
    Undecided,
    /// A call or a result that was fine is not fine now.
    Breaking,
}

/// The least part of a contractVersion that has to move.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Bump {
    None,
    Patch,
    Minor,
    Major,
}

/// Which part of a tool a change is in.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Surface {
    Listing,
    Input,
    Output,
    Annotations,
    Presentation,
}

/// What happened to a tool.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Added,
    Removed,
    Changed,
}

/// A value that shows a break, confirmed by a validator on both sides.
#[derive(ToSchema)]
pub(crate) struct Witness {
    /// The arguments of a call, or a result.
    value: Value,
    /// Where in it the rejecting side objects.
    at: JsonPointer,
    /// The validator's reason.
    reason: String,
    /// `recorded` where it is what a recorded call carried.
    #[schema(value_type = Option<String>, nullable = false)]
    origin: Option<String>,
    /// The JSON-RPC message that would carry it.
    message: Option<Value>,
}

/// One change, judged by one rule.
#[derive(ToSchema)]
pub(crate) struct Finding {
    /// The rule's id; `toolpact explain RULE` and RULES.md say what it sees.
    rule: String,
    level: Level,
    surface: Surface,
    /// Where in that surface.
    pointer: JsonPointer,
    /// One plain sentence.
    message: String,
    /// What stood there before.
    baseline: Option<Value>,
    /// What stands there now.
    candidate: Option<Value>,
    #[schema(nullable = false)]
    witness: Option<Witness>,
    /// What to do about it.
    #[schema(nullable = false)]
    help: Option<String>,
    /// What a decision sticks to.
    fingerprint: Digest,
    /// Never waived.
    #[schema(nullable = false)]
    absolute: Option<bool>,
}

/// What becomes of the recorded calls of one tool.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct ToolCalls {
    recorded: u64,
    /// Calls that the baseline rejects already.
    rejected_before: u64,
    /// Calls that the baseline accepts and the candidate rejects.
    broken: u64,
}

/// Everything about one tool that is not the same on both sides.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct ToolReport {
    /// Empty where neither side says.
    server: String,
    tool: String,
    status: Status,
    verdict: Level,
    required_bump: Bump,
    /// Worst first.
    findings: Vec<Finding>,
    /// From the baseline's contract to the candidate's, RFC 6902.
    patch: Option<Value>,
    #[schema(nullable = false)]
    calls: Option<ToolCalls>,
}

/// What becomes of all recorded calls.
#[derive(ToSchema)]
pub(crate) struct RecordedCalls {
    recorded: u64,
    /// Recorded messages that are no calls.
    skipped: u64,
    /// Calls of tools that the baseline does not list.
    unmatched: u64,
    broken: u64,
}

/// The verdict under each assumption.
#[derive(ToSchema)]
pub(crate) struct Verdicts {
    declared: Level,
    strict: Level,
}

/// What differs between two lists of tools, judged.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct Report {
    verdict: Level,
    assumption: Assumption,
    formats: Formats,
    verdicts: Verdicts,
    required_bump: Bump,
    /// The baseline's label.
    baseline: String,
    /// The candidate's label.
    candidate: String,
    /// The version of rules and canonicalisation that judged.
    rule_set: String,
    /// Tools that are not the same, worst first.
    tools: Vec<ToolReport>,
    /// How many tools are the same on both sides.
    unchanged: u64,
    #[schema(nullable = false)]
    calls: Option<RecordedCalls>,
}

/// What is decided of a change.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ruling {
    /// It may come.
    Accept,
    /// It must not come, whatever the policy says of its level.
    Reject,
    /// What was decided before counts no more.
    Withdraw,
}

/// Why a change stands in the way.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Blocks {
    /// It is never accepted.
    Absolute,
    /// Its level blocks, and nobody decided on it.
    Open,
    /// It was refused.
    Rejected,
    /// Its waiver has ended.
    WaiverExpired,
}

/// A change by its fingerprint, or by the first six or more hex digits of it.
#[derive(ToSchema)]
#[schema(value_type = String, pattern = "^(sha256:)?[0-9A-Fa-f]{6,64}$", examples("sha256:e3b0c442"))]
pub(crate) struct ChangeName(String);

/// How a contract relates to the one before it.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Compatibility {
    Initial,
    Unchanged,
    BackwardCompatible,
    Risky,
    Breaking,
    Undecided,
}

/// Where a tool stands in its life.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ReleaseStatus {
    Active,
    Deprecated,
    Experimental,
}

/// What became of a draft; all but `pending` are final.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DraftStatus {
    Pending,
    Approved,
    Rejected,
    Superseded,
}

/// How a pointer moved.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MoveKind {
    Promote,
    Rollback,
}

/// How a listing ended. Only `ok` is ever diffed.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Ok,
    Partial,
    Error,
    Malformed,
    AuthRequired,
    Unavailable,
    Timeout,
    TooLarge,
    Unstable,
}

/// The package that a command runs.
#[derive(ToSchema)]
pub(crate) struct Package {
    registry: String,
    name: String,
    /// The version that the command asks for.
    #[schema(nullable = false)]
    requested: Option<String>,
    /// The version that ran.
    #[schema(nullable = false)]
    version: Option<String>,
}

/// What a list depends on beside time. Holds no secret that is known as one.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct Provenance {
    /// `stdio`, `http`, `sse` or `file`.
    transport: String,
    /// The command, the URL or the file.
    target: String,
    #[schema(nullable = false)]
    package: Option<Package>,
    /// `legacy` or `modern`.
    #[schema(nullable = false)]
    era: Option<String>,
    #[schema(nullable = false)]
    protocol_version: Option<String>,
    /// The capabilities that were declared to the server.
    client_capabilities: Value,
    /// The name of the authorization context.
    auth_context: String,
    /// As the server sent it.
    server_info: Option<Value>,
    /// As the server sent them.
    capabilities: Option<Value>,
    /// As the server sent them.
    #[schema(nullable = false)]
    instructions: Option<String>,
    #[schema(nullable = false)]
    ttl_ms: Option<u64>,
    #[schema(nullable = false)]
    cache_scope: Option<String>,
}

/// What was seen of a listing beside its tools.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct Evidence {
    /// What happened; empty for `ok`.
    message: String,
    /// What to do next.
    help: String,
    stray_lines: u64,
    stray_samples: Vec<String>,
    #[schema(nullable = false)]
    stderr_tail: Option<String>,
    #[schema(nullable = false)]
    exit_code: Option<i32>,
    #[schema(nullable = false)]
    http_status: Option<u16>,
    #[schema(nullable = false)]
    retry_after: Option<String>,
    rpc_error: Option<Value>,
    /// Deviations from the protocol that did not hinder the listing.
    warnings: Vec<String>,
    pages: u64,
    bytes: u64,
    elapsed_ms: u64,
}

/// What else a server declared to have.
#[derive(ToSchema)]
pub(crate) struct SurfaceRow {
    /// `prompts`, `resources` or `resource_templates`.
    kind: String,
    outcome: Outcome,
    #[schema(nullable = false)]
    message: Option<String>,
    #[schema(nullable = false)]
    digest: Option<Digest>,
    #[schema(nullable = false)]
    count: Option<u64>,
}

/// One tool that a server describes in several ways, by who asks.
#[derive(ToSchema)]
pub(crate) struct SplitView {
    tool: String,
    /// Pairs of an authorization context and the raw digest under it.
    #[schema(value_type = Vec<Vec<String>>)]
    views: Vec<(String, Digest)>,
}

/// The server release that the contracts of a version came from.
#[derive(ToSchema)]
pub(crate) struct ServerPin {
    server: ServerName,
    /// The snapshot that its contracts were taken from.
    snapshot: Digest,
    provenance: Provenance,
}

/// A host that gives tools names of its own.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AliasHost {
    Agentscope,
    ClaudeCode,
    GeminiCli,
    SpringAi,
}

/// The names under which hosts show a tool to a model.
#[derive(ToSchema)]
#[schema(rename_all = "kebab-case")]
pub(crate) struct Aliases {
    agentscope: String,
    claude_code: String,
    gemini_cli: String,
    spring_ai: String,
}

/// A name that a host cannot use, or not for this tool alone.
#[derive(ToSchema)]
pub(crate) struct AliasWarning {
    host: AliasHost,
    message: String,
}

/// How a tool stands to what is pinned.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ToolState {
    /// It is what was reviewed.
    Pinned,
    /// It was reviewed and is not listed.
    Missing,
    /// It is listed and was never reviewed.
    Unknown,
    /// It is listed and is not what was reviewed.
    Changed,
}

/// Which part of a changed tool is another.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ChangedPart {
    Contract,
    Presentation,
    Other,
    ListedTwice,
}

/// One tool of a list, or of what is pinned.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct VerifiedTool {
    tool: String,
    state: ToolState,
    #[schema(nullable = false)]
    changed: Option<ChangedPart>,
    #[schema(nullable = false)]
    contract_version: Option<ContractVersion>,
    #[schema(nullable = false)]
    pinned: Option<Digests>,
    #[schema(nullable = false)]
    listed: Option<Digests>,
}

/// A `tools/list` result: the tools byte for byte as their server sent them.
#[derive(ToSchema, Serialize)]
pub(crate) struct ToolsList {
    tools: Vec<RawTool>,
}

/// AgentScope's `tools.json`: where each server is found, and which of its tools are enabled.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentscopeTools {
    #[schema(value_type = Object)]
    mcp_servers: Value,
}
