-- What outlives the process. Times are RFC 3339 text in UTC, JSON is text, versions are text with an `ordinal` to sort
-- by. Only triggers and AUTOINCREMENT are SQLite's own; the rest is plain SQL.

-- Every text that can recur, once, keyed by the sha256 of its exact bytes.
CREATE TABLE content (
    digest TEXT NOT NULL PRIMARY KEY,
    body   TEXT NOT NULL
);

-- What a tool's text means under one canonicalisation policy. Texts that differ in key order share `raw`.
CREATE TABLE contracts (
    content      TEXT NOT NULL REFERENCES content (digest),
    policy       TEXT NOT NULL,
    tool         TEXT NOT NULL,
    raw          TEXT NOT NULL,
    contract     TEXT NOT NULL,
    presentation TEXT NOT NULL,
    PRIMARY KEY (content, policy)
);
CREATE INDEX contracts_by_raw ON contracts (raw);

CREATE TABLE snapshots (
    server TEXT    NOT NULL,
    digest TEXT    NOT NULL,
    tools  INTEGER NOT NULL,
    PRIMARY KEY (server, digest)
);

CREATE TABLE snapshot_tools (
    server   TEXT    NOT NULL,
    snapshot TEXT    NOT NULL,
    position INTEGER NOT NULL,
    content  TEXT    NOT NULL REFERENCES content (digest),
    PRIMARY KEY (server, snapshot, position),
    FOREIGN KEY (server, snapshot) REFERENCES snapshots (server, digest)
);

-- Every attempt, however it ended. Only an `ok` one refers to a snapshot.
CREATE TABLE listings (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    server     TEXT NOT NULL,
    at         TEXT NOT NULL,
    outcome    TEXT NOT NULL,
    snapshot   TEXT,
    provenance TEXT NOT NULL,
    evidence   TEXT NOT NULL,
    FOREIGN KEY (server, snapshot) REFERENCES snapshots (server, digest),
    CHECK ((outcome = 'ok') = (snapshot IS NOT NULL))
);
CREATE INDEX listings_by_server ON listings (server, id);

CREATE TABLE catalogs (
    name    TEXT NOT NULL PRIMARY KEY,
    policy  TEXT NOT NULL,
    servers TEXT NOT NULL
);

-- Approved, immutable.
CREATE TABLE versions (
    catalog     TEXT   NOT NULL REFERENCES catalogs (name),
    version     TEXT   NOT NULL,
    ordinal     BIGINT NOT NULL,
    digest      TEXT   NOT NULL,
    content     TEXT   NOT NULL REFERENCES content (digest),
    draft       BIGINT UNIQUE,
    approved_by TEXT   NOT NULL,
    reason      TEXT   NOT NULL,
    approved_at TEXT   NOT NULL,
    PRIMARY KEY (catalog, version),
    UNIQUE (catalog, ordinal)
);

CREATE TABLE drafts (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    catalog    TEXT NOT NULL REFERENCES catalogs (name),
    base       TEXT,
    digest     TEXT NOT NULL,
    content    TEXT NOT NULL REFERENCES content (digest),
    report     TEXT NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'rejected', 'superseded')),
    created_by TEXT NOT NULL,
    created_at TEXT NOT NULL,
    decided_by TEXT,
    decided_at TEXT,
    reason     TEXT NOT NULL DEFAULT '',
    version    TEXT,
    FOREIGN KEY (catalog, base) REFERENCES versions (catalog, version),
    FOREIGN KEY (catalog, version) REFERENCES versions (catalog, version),
    CHECK ((status = 'approved') = (version IS NOT NULL)),
    CHECK ((status = 'pending') = (decided_by IS NULL))
);
CREATE INDEX drafts_by_catalog ON drafts (catalog, id);
CREATE UNIQUE INDEX one_pending_draft_per_catalog ON drafts (catalog) WHERE status = 'pending';

-- Where an environment points, per catalog.
CREATE TABLE pointers (
    environment TEXT   NOT NULL,
    catalog     TEXT   NOT NULL,
    version     TEXT   NOT NULL,
    generation  BIGINT NOT NULL CHECK (generation > 0),
    moved_by    TEXT   NOT NULL,
    moved_at    TEXT   NOT NULL,
    PRIMARY KEY (environment, catalog),
    FOREIGN KEY (catalog, version) REFERENCES versions (catalog, version)
);

-- Versions that a rollback left and that are refused until released; `generation` is the rollback's.
CREATE TABLE holds (
    environment TEXT   NOT NULL,
    catalog     TEXT   NOT NULL,
    version     TEXT   NOT NULL,
    generation  BIGINT NOT NULL,
    PRIMARY KEY (environment, catalog, version),
    FOREIGN KEY (environment, catalog, generation) REFERENCES moves (environment, catalog, generation)
);

-- Every move of a pointer, only ever added.
CREATE TABLE moves (
    environment  TEXT   NOT NULL,
    catalog      TEXT   NOT NULL,
    generation   BIGINT NOT NULL CHECK (generation > 0),
    kind         TEXT   NOT NULL CHECK (kind IN ('promote', 'rollback')),
    from_version TEXT,
    to_version   TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    actor        TEXT   NOT NULL,
    at           TEXT   NOT NULL,
    PRIMARY KEY (environment, catalog, generation),
    FOREIGN KEY (catalog, from_version) REFERENCES versions (catalog, version),
    FOREIGN KEY (catalog, to_version) REFERENCES versions (catalog, version)
);

-- The answer that a retry with the same key gets.
CREATE TABLE idempotency_keys (
    key         TEXT   NOT NULL PRIMARY KEY,
    request     TEXT   NOT NULL,
    environment TEXT   NOT NULL,
    catalog     TEXT   NOT NULL,
    generation  BIGINT NOT NULL,
    FOREIGN KEY (environment, catalog, generation) REFERENCES moves (environment, catalog, generation)
);

-- Append-only and hash-chained; a fork of the chain has no place to go.
CREATE TABLE events (
    seq      BIGINT NOT NULL PRIMARY KEY,
    at       TEXT   NOT NULL,
    actor    TEXT   NOT NULL,
    kind     TEXT   NOT NULL,
    subject  TEXT   NOT NULL,
    data     TEXT   NOT NULL,
    previous TEXT   NOT NULL UNIQUE,
    digest   TEXT   NOT NULL UNIQUE
);

CREATE TRIGGER content_is_immutable BEFORE UPDATE ON content
BEGIN SELECT RAISE(ABORT, 'content is immutable'); END;

CREATE TRIGGER versions_are_immutable BEFORE UPDATE ON versions
BEGIN SELECT RAISE(ABORT, 'versions are immutable'); END;
CREATE TRIGGER versions_are_kept BEFORE DELETE ON versions
BEGIN SELECT RAISE(ABORT, 'versions are kept'); END;

CREATE TRIGGER decided_drafts_are_final BEFORE UPDATE ON drafts WHEN OLD.status <> 'pending'
BEGIN SELECT RAISE(ABORT, 'decided drafts are final'); END;
CREATE TRIGGER drafts_are_kept BEFORE DELETE ON drafts
BEGIN SELECT RAISE(ABORT, 'drafts are kept'); END;

CREATE TRIGGER moves_are_immutable BEFORE UPDATE ON moves
BEGIN SELECT RAISE(ABORT, 'moves are only ever added'); END;
CREATE TRIGGER moves_are_kept BEFORE DELETE ON moves
BEGIN SELECT RAISE(ABORT, 'moves are only ever added'); END;

CREATE TRIGGER events_are_immutable BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END;
CREATE TRIGGER events_are_kept BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END;
