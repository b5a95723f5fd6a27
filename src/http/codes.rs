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
    code("ambiguous-fingerprint", 400, "the digits fit several changes"),
    code("approvals", 422, "fewer people than the environment asks for have approved the version"),
    code("bad-comment", 400, "the remark is empty or too long"),
    code("bad-edit", 400, "the patch asks for more than an edit may change"),
    code("bad-environments", 400, "an environment comes after itself, or after one that is not there"),
    code("bad-expiry", 400, "the end is not in the future, or not of an acceptance"),
    code("bad-patch", 400, "the patch cannot be applied to the draft"),
    code("body-too-large", 413, "the body is over the route's limit"),
    code("busy", 409, "others wrote all the time; nothing was written"),
    code("catalog-needed", 400, "there are several catalogs, and none is named"),
    code("change-rejected", 422, "the draft holds a change that was rejected"),
    code("contract-not-stored", 409, "the text of a pinned tool is not in this database"),
    code("contracts-unknown", 422, "what the version pins is not all in this database"),
    code("cross-origin", 403, "a browser sent it from another site"),
    code("database-unavailable", 503, "the database did not answer"),
    code("draft-decided", 409, "the draft was approved, rejected or superseded"),
    code("draft-edited", 412, "somebody edited the draft since"),
    code("emergency-promotion", 400, "only a rollback can be an emergency"),
    code("empty-reason", 400, "the reason says nothing"),
    code("foreign-host", 421, "the service listens on loopback and was asked under another name"),
    code("frozen", 422, "nothing moves there for now"),
    code("frozen-already", 409, "it is frozen"),
    code("held", 409, "the version was left by a rollback and not released"),
    code("idempotency-key-in-flight", 409, "the first request with the key is not answered yet"),
    code("idempotency-key-reused", 422, "the key belongs to another request"),
    code("internal", 500, "a fault of the service, which its log explains"),
    code("invalid-actor", 400, "the name is not 1 to 64 visible ASCII characters"),
    code("invalid-body", 400, "the body cannot be read; `errors` says where"),
    code("invalid-cursor", 400, "the cursor is none, or of another list"),
    code("invalid-idempotency-key", 400, "the key is not 1 to 128 printable ASCII characters"),
    code("invalid-if-match", 400, "the header names no state"),
    code("invalid-if-none-match", 400, "the header is not `*`, or comes with `If-Match`"),
    code("invalid-owner", 400, "the owner is not 1 to 100 characters of one line"),
    code("invalid-path", 400, "a part of the path cannot be a name or number"),
    code("invalid-query", 400, "a parameter cannot be read, or there is none of that name"),
    code(
        "invalid-reason",
        400,
        "the reason is too long, or holds a character that not every database can keep",
    ),
    code("missing-if-match", 428, "the state that was seen has to be named"),
    code("never-live", 409, "the version was never live there"),
    code("never-promoted", 404, "the catalog was never live there"),
    code("no-change", 400, "no change is named"),
    code("no-contracts", 409, "the version names a tool without pinning it"),
    code("no-server-name", 409, "a tool of the version has no server"),
    code("no-servers", 400, "the catalog holds no server"),
    code("no-snapshot", 409, "none of the server's listings ended well"),
    code("not-a-tools-list", 400, "it is no answer to `tools/list`"),
    code("not-frozen", 409, "it is not frozen"),
    code("not-held", 409, "the version is not held"),
    code("not-json", 400, "it is no JSON"),
    code("not-registered", 409, "nobody said where the server is found"),
    code("not-served", 422, "the servers do not serve what the version pins"),
    code("nothing-changed", 409, "the servers offer what the newest version holds"),
    code("one-page", 400, "it is one page of several"),
    code("order", 422, "the version was not live in the environment that comes before"),
    code("own-draft", 422, "its authors cannot approve it"),
    code("owner-without-expiry", 400, "only a decision that ends has an owner"),
    code("policy-blocks", 422, "the catalog's policy blocks it"),
    code("server-not-pinned", 404, "the version holds nothing of the server"),
    code("stale-draft", 409, "the catalog or a server moved on since the draft was made"),
    code("stale-etag", 412, "it is not what it was when it was read"),
    code("stale-generation", 412, "somebody moved the pointer since"),
    code("stale-settings", 412, "the catalog is set otherwise than when it was read, or is there already"),
    code("too-large", 400, "there are more tools or calls than are read"),
    code("too-many-changes", 400, "more changes are named than one request decides on"),
    code("too-many-in-flight", 503, "too many requests with keys are being worked on"),
    code("too-many-tools", 422, "it holds more tools than the policy allows"),
    code("unknown-catalog", 404, "there is no such catalog"),
    code("unknown-change", 404, "there is no such change"),
    code("unknown-draft", 404, "there is no such draft"),
    code(
        "unknown-environment",
        404,
        "nothing was ever promoted to it, nor do the settings of a catalog name it",
    ),
    code("unknown-route", 404, "there is no such route"),
    code("unknown-rule", 404, "the rule found nothing in the draft"),
    code("unknown-server", 404, "there is no such server"),
    code("unknown-version", 404, "there is no such version"),
    code("unreadable-calls", 400, "a recorded call cannot be read"),
    code("unreadable-tool", 400, "a tool is none as the protocol describes it"),
    code("version-needed", 400, "several versions are held, and none is named"),
    code("wrong-content-type", 415, "the body is not said to be what the route reads"),
    code("wrong-method", 405, "the route does not answer the method"),
];
