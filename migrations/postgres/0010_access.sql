-- Who may do what. Secrets are never here: tokens, sessions and logins are found by the sha256 of what their holder shows.

CREATE TABLE tokens (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    digest       TEXT COLLATE "C" NOT NULL UNIQUE,
    name         TEXT COLLATE "C" NOT NULL,
    owner        TEXT COLLATE "C" NOT NULL,
    kind         TEXT COLLATE "C" NOT NULL CHECK (kind IN ('human', 'ci', 'agent')),
    roles        TEXT COLLATE "C" NOT NULL,
    scope        TEXT COLLATE "C" NOT NULL,
    created_by   TEXT COLLATE "C" NOT NULL,
    created_at   TEXT COLLATE "C" NOT NULL,
    expires_at   TEXT COLLATE "C",
    last_used_at TEXT COLLATE "C",
    revoked_by   TEXT COLLATE "C",
    revoked_at   TEXT COLLATE "C",
    parent       TEXT COLLATE "C" REFERENCES tokens (id),
    CHECK ((revoked_by IS NULL) = (revoked_at IS NULL))
);
CREATE INDEX tokens_by_parent ON tokens (parent);
CREATE INDEX tokens_by_time ON tokens (created_at, id);

-- Signed in with a token, whose rights are looked up each time, or through an issuer, which said them then.
CREATE TABLE sessions (
    digest     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    token      TEXT COLLATE "C" REFERENCES tokens (id),
    name       TEXT COLLATE "C" NOT NULL,
    issuer     TEXT COLLATE "C",
    roles      TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    expires_at TEXT COLLATE "C" NOT NULL,
    CHECK (token IS NULL OR issuer IS NULL)
);
CREATE INDEX sessions_by_end ON sessions (expires_at);

-- Sent to an issuer and not back yet; `browser` is what only the browser that began it can show.
CREATE TABLE logins (
    state      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    browser    TEXT COLLATE "C" NOT NULL,
    nonce      TEXT COLLATE "C" NOT NULL,
    verifier   TEXT COLLATE "C" NOT NULL,
    next       TEXT COLLATE "C" NOT NULL,
    expires_at TEXT COLLATE "C" NOT NULL
);

-- A name belongs to the first account that signed in under it, so that nobody becomes somebody else by renaming themselves.
CREATE TABLE people (
    name    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    issuer  TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    since   TEXT COLLATE "C" NOT NULL,
    UNIQUE (issuer, subject)
);

CREATE TABLE teams (
    name       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    members    TEXT COLLATE "C" NOT NULL,
    changed_at TEXT COLLATE "C" NOT NULL
);

-- One team owns a server or a catalog, or none does.
CREATE TABLE owners (
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('server', 'catalog')),
    name TEXT COLLATE "C" NOT NULL,
    team TEXT COLLATE "C" NOT NULL REFERENCES teams (name),
    PRIMARY KEY (kind, name)
);
