-- By which way a write came in (JSON); absent from what was written before there was one.
ALTER TABLE events ADD COLUMN origin TEXT COLLATE "C";

-- What was signed of versions and moves, each in the transaction of its event; once a key.
CREATE TABLE signatures (
    name     TEXT COLLATE "C" NOT NULL,
    key      TEXT COLLATE "C" NOT NULL,
    seq      BIGINT           NOT NULL REFERENCES events (seq),
    envelope TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (name, key)
);

-- How far a receiver of the log has been sent it.
CREATE TABLE audit_cursors (
    receiver TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    seq      BIGINT           NOT NULL
);

CREATE TRIGGER signatures_are_immutable BEFORE UPDATE ON signatures
    FOR EACH ROW EXECUTE FUNCTION refuse('signatures are only ever added');
CREATE TRIGGER signatures_are_kept BEFORE DELETE ON signatures
    FOR EACH ROW EXECUTE FUNCTION refuse('signatures are only ever added');
CREATE TRIGGER signatures_are_not_emptied BEFORE TRUNCATE ON signatures
    FOR EACH STATEMENT EXECUTE FUNCTION refuse('signatures are only ever added');
