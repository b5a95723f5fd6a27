-- What builds offered, held against what was live somewhere. The same build against the same version is kept once.
-- They are never edited; they hold no decision, so old ones may go.
CREATE TABLE checks (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    digest       TEXT NOT NULL UNIQUE,
    catalog      TEXT NOT NULL REFERENCES catalogs (name),
    environment  TEXT NOT NULL,
    version      TEXT NOT NULL,
    servers      TEXT NOT NULL,
    repository   TEXT,
    revision     TEXT,
    branch       TEXT,
    pull_request TEXT,
    verdict      TEXT NOT NULL,
    report       TEXT NOT NULL,
    earlier      TEXT NOT NULL,
    created_by   TEXT NOT NULL,
    created_at   TEXT NOT NULL
);
CREATE INDEX checks_by_catalog ON checks (catalog, id);
CREATE INDEX checks_by_repository ON checks (repository, id);

CREATE TRIGGER checks_are_immutable BEFORE UPDATE ON checks
BEGIN SELECT RAISE(ABORT, 'checks are immutable'); END;
