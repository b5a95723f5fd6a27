-- What is decided of single changes, who approved what a draft held, and what was said. Decisions and approvals are only
-- ever added: a newer decision takes the place of an older one.
CREATE TABLE decisions (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    catalog     TEXT NOT NULL REFERENCES catalogs (name),
    fingerprint TEXT NOT NULL,
    environment TEXT,
    ruling      TEXT NOT NULL CHECK (ruling IN ('accept', 'reject', 'withdraw')),
    reason      TEXT NOT NULL,
    owner       TEXT,
    expires     TEXT,
    change      TEXT NOT NULL,
    actor       TEXT NOT NULL,
    at          TEXT NOT NULL,
    CHECK (expires IS NULL OR ruling = 'accept')
);
CREATE INDEX decisions_by_catalog ON decisions (catalog, id);

CREATE TABLE approvals (
    draft  BIGINT NOT NULL REFERENCES drafts (id),
    digest TEXT   NOT NULL,
    actor  TEXT   NOT NULL,
    reason TEXT   NOT NULL,
    at     TEXT   NOT NULL,
    PRIMARY KEY (draft, digest, actor)
);

CREATE TABLE comments (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    draft       BIGINT NOT NULL REFERENCES drafts (id),
    fingerprint TEXT,
    body        TEXT   NOT NULL,
    actor       TEXT   NOT NULL,
    at          TEXT   NOT NULL
);
CREATE INDEX comments_by_draft ON comments (draft, id);

-- Where nothing moves for now; an empty catalog stands for all of them.
CREATE TABLE freezes (
    environment TEXT NOT NULL,
    catalog     TEXT NOT NULL,
    reason      TEXT NOT NULL,
    actor       TEXT NOT NULL,
    at          TEXT NOT NULL,
    PRIMARY KEY (environment, catalog)
);

-- What environments demand, and what the last document said, so that the next one does not undo what others did since.
ALTER TABLE catalogs ADD COLUMN environments TEXT NOT NULL DEFAULT '{}';
ALTER TABLE catalogs ADD COLUMN applied TEXT;
-- Servers were pairs of name and source; now each is an object, which may say which tools are selected.
UPDATE catalogs SET servers = (
    SELECT json_group_array(json_object(
        'name', json_extract(value, '$[0]'), 'source', json(json_extract(value, '$[1]'))
    )) FROM json_each(catalogs.servers)
);

ALTER TABLE drafts ADD COLUMN earlier TEXT NOT NULL DEFAULT '[]';
ALTER TABLE drafts ADD COLUMN edited_by TEXT NOT NULL DEFAULT '[]';
ALTER TABLE moves ADD COLUMN grounds TEXT NOT NULL DEFAULT '{}';

-- Whether anything was written about an object since.
CREATE INDEX events_by_subject ON events (subject, seq);

CREATE TRIGGER decisions_are_immutable BEFORE UPDATE ON decisions
BEGIN SELECT RAISE(ABORT, 'decisions are only ever added'); END;
CREATE TRIGGER decisions_are_kept BEFORE DELETE ON decisions
BEGIN SELECT RAISE(ABORT, 'decisions are only ever added'); END;

CREATE TRIGGER approvals_are_immutable BEFORE UPDATE ON approvals
BEGIN SELECT RAISE(ABORT, 'approvals are only ever added'); END;
CREATE TRIGGER approvals_are_kept BEFORE DELETE ON approvals
BEGIN SELECT RAISE(ABORT, 'approvals are only ever added'); END;
