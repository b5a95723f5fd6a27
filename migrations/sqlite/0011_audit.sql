-- By which way a write came in (JSON); absent from what was written before there was one.
ALTER TABLE events ADD COLUMN origin TEXT;

-- What was signed of versions and moves, each in the transaction of its event; once a key.
CREATE TABLE signatures (
    name     TEXT   NOT NULL,
    key      TEXT   NOT NULL,
    seq      BIGINT NOT NULL REFERENCES events (seq),
    envelope TEXT   NOT NULL,
    PRIMARY KEY (name, key)
);

-- How far a receiver of the log has been sent it.
CREATE TABLE audit_cursors (
    receiver TEXT   NOT NULL PRIMARY KEY,
    seq      BIGINT NOT NULL
);

CREATE TRIGGER signatures_are_immutable BEFORE UPDATE ON signatures
BEGIN SELECT RAISE(ABORT, 'signatures are only ever added'); END;
CREATE TRIGGER signatures_are_kept BEFORE DELETE ON signatures
BEGIN SELECT RAISE(ABORT, 'signatures are only ever added'); END;

-- `INSERT OR REPLACE` deletes without asking the triggers of a deletion.
CREATE TRIGGER events_are_not_replaced BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE seq = NEW.seq OR previous = NEW.previous OR digest = NEW.digest)
BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END;
CREATE TRIGGER signatures_are_not_replaced BEFORE INSERT ON signatures
WHEN EXISTS (SELECT 1 FROM signatures WHERE name = NEW.name AND key = NEW.key)
BEGIN SELECT RAISE(ABORT, 'signatures are only ever added'); END;
CREATE TRIGGER versions_are_not_replaced BEFORE INSERT ON versions
WHEN EXISTS (
    SELECT 1 FROM versions WHERE catalog = NEW.catalog AND (version = NEW.version OR ordinal = NEW.ordinal) OR draft = NEW.draft
)
BEGIN SELECT RAISE(ABORT, 'versions are immutable'); END;
CREATE TRIGGER moves_are_not_replaced BEFORE INSERT ON moves
WHEN EXISTS (
    SELECT 1 FROM moves
    WHERE environment = NEW.environment AND catalog = NEW.catalog AND generation = NEW.generation
)
BEGIN SELECT RAISE(ABORT, 'moves are only ever added'); END;
CREATE TRIGGER decisions_are_not_replaced BEFORE INSERT ON decisions
WHEN EXISTS (SELECT 1 FROM decisions WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'decisions are only ever added'); END;
-- Who approves the same twice is no error.
CREATE TRIGGER approvals_are_not_replaced BEFORE INSERT ON approvals
WHEN EXISTS (SELECT 1 FROM approvals WHERE draft = NEW.draft AND digest = NEW.digest AND actor = NEW.actor)
BEGIN SELECT RAISE(IGNORE); END;
