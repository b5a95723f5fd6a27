//! The codes of problems: stable, and what programs look at. A code has one status wherever it comes.

/// One code.
pub(super) struct Code {
    /// The code.
    pub(super) code: &'static str,
    /// Its status.
    pub(super) status: u16,
    /// What it says, for the description.
    pub(super) what: &'static str,
}

/// The code of this name.
pub(super) fn of(code: &str) -> Option<&'static Code> {
    CODES.iter().find(|known| known.code == code)
}

const fn code(code: &'static str, status: u16, what: &'static str) -> Code {
    Code { code, status, what }
}

/// Every code that the API answers with, by name.
pub(super) const CODES: &[Code] = &[
    code("absolute-finding", 422, "the draft holds what is never accepted"),
    code("already-live", 409, "the version is live there"),
    code("ambiguous-catalog", 400, "several catalogs were live there, and none is named"),
    code("body-too-large", 413, "the body is over the route's limit"),
    code("catalog-needed", 400, "there are several catalogs, and none is named"),
    code("contract-not-stored", 409, "the text of a pinned tool is not in this database"),
    code("cross-origin", 403, "a browser sent it from another site"),
    code("database-unavailable", 503, "the database did not answer"),
    code("draft-decided", 409, "the draft was approved, rejected or superseded"),
    code("empty-reason", 400, "the reason says nothing"),
    code("foreign-host", 421, "the service listens on loopback and was asked under another name"),
    code("held", 409, "the version was left by a rollback and not released"),
    code("idempotency-key-in-flight", 409, "the first request with the key is not answered yet"),
    code("idempotency-key-reused", 422, "the key belongs to another request"),
    code("internal", 500, "a fault of the service, which its log explains"),
    code("invalid-body", 400, "the body cannot be read; `errors` says where"),
    code("invalid-cursor", 400, "the cursor is none, or of another list"),
    code("invalid-idempotency-key", 400, "the key is not 1 to 128 printable ASCII characters"),
    code("invalid-if-match", 400, "the header names no state"),
    code("invalid-path", 400, "a part of the path cannot be a name or number"),
    code("invalid-query", 400, "a parameter cannot be read, or there is none of that name"),
    code("missing-if-match", 428, "the state that was seen has to be named"),
    code("never-live", 409, "the version was never live there"),
    code("never-promoted", 404, "the catalog was never live there"),
    code("no-contracts", 409, "the version names a tool without pinning it"),
    code("no-server-name", 409, "a tool of the version has no server"),
    code("no-servers", 400, "the catalog holds no server"),
    code("no-snapshot", 409, "none of the server's listings ended well"),
    code("not-a-tools-list", 400, "it is no answer to `tools/list`"),
    code("not-held", 409, "the version is not held"),
    code("not-json", 400, "it is no JSON"),
    code("not-registered", 409, "nobody said where the server is found"),
    code("nothing-changed", 409, "the servers offer what the newest version holds"),
    code("one-page", 400, "it is one page of several"),
    code("policy-blocks", 422, "the catalog's policy blocks it"),
    code("server-not-pinned", 404, "the version holds nothing of the server"),
    code("stale-draft", 409, "the catalog or a server moved on since the draft was made"),
    code("stale-etag", 412, "it is not what it was when it was read"),
    code("stale-generation", 412, "somebody moved the pointer since"),
    code("too-large", 400, "there are more tools or calls than are read"),
    code("too-many-in-flight", 503, "too many requests with keys are being worked on"),
    code("unknown-catalog", 404, "there is no such catalog"),
    code("unknown-draft", 404, "there is no such draft"),
    code("unknown-environment", 404, "nothing was ever promoted to it"),
    code("unknown-route", 404, "there is no such route"),
    code("unknown-server", 404, "there is no such server"),
    code("unknown-version", 404, "there is no such version"),
    code("unreadable-calls", 400, "a recorded call cannot be read"),
    code("unreadable-tool", 400, "a tool is none as the protocol describes it"),
    code("version-needed", 400, "several versions are held, and none is named"),
    code("wrong-content-type", 415, "the body is not said to be JSON"),
    code("wrong-method", 405, "the route does not answer the method"),
];
