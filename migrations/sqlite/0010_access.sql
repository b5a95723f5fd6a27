-- Who may do what. Secrets are never here: tokens, sessions and logins are found by the sha256 of what their holder shows.

CREATE TABLE tokens (
    id           TEXT NOT NULL PRIMARY KEY,
    digest       TEXT NOT NULL UNIQUE,
    name         TEXT NOT NULL,
    owner        TEXT NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('human', 'ci', 'agent')),
    roles        TEXT NOT NULL,
    scope        TEXT NOT NULL,
    created_by   TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    expires_at   TEXT,
    last_used_at TEXT,
    revoked_by   TEXT,
    revoked_at   TEXT,
    parent       TEXT REFERENCES tokens (id),
    CHECK ((revoked_by IS NULL) = (revoked_at IS NULL))
);
CREATE INDEX tokens_by_parent ON tokens (parent);
CREATE INDEX tokens_by_time ON tokens (created_at, id);

-- Signed in with a token, whose rights are looked up each time, or through an issuer, which said them then.
CREATE TABLE sessions (
    digest     TEXT NOT NULL PRIMARY KEY,
    token      TEXT REFERENCES tokens (id),
    name       TEXT NOT NULL,
    issuer     TEXT,
    roles      TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    CHECK (token IS NULL OR issuer IS NULL)
);
CREATE INDEX sessions_by_end ON sessions (expires_at);

-- Sent to an issuer and not back yet; `browser` is what only the browser that began it can show.
CREATE TABLE logins (
    state      TEXT NOT NULL PRIMARY KEY,
    browser    TEXT NOT NULL,
    nonce      TEXT NOT NULL,
    verifier   TEXT NOT NULL,
    next       TEXT NOT NULL,
    expires_at TEXT NOT NULL
);

-- A name belongs to the first account that signed in under it, so that nobody becomes somebody else by renaming themselves.
CREATE TABLE people (
    name    TEXT NOT NULL PRIMARY KEY,
    issuer  TEXT NOT NULL,
    subject TEXT NOT NULL,
    since   TEXT NOT NULL,
    UNIQUE (issuer, subject)
);

CREATE TABLE teams (
    name       TEXT NOT NULL PRIMARY KEY,
    members    TEXT NOT NULL,
    changed_at TEXT NOT NULL
);

-- One team owns a server or a catalog, or none does.
CREATE TABLE owners (
    kind TEXT NOT NULL CHECK (kind IN ('server', 'catalog')),
    name TEXT NOT NULL,
    team TEXT NOT NULL REFERENCES teams (name),
    PRIMARY KEY (kind, name)
);
