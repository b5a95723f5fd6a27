-- When each registered server was asked last and is to be asked next, and which process is asking it now. A lease that is not renewed ends by
-- itself, so a process that is gone is followed by another.
CREATE TABLE polls (
    server     TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES servers (name) ON DELETE CASCADE,
    asked      TEXT COLLATE "C",
    due        TEXT COLLATE "C" NOT NULL,
    failures   BIGINT           NOT NULL DEFAULT 0,
    holder     TEXT COLLATE "C",
    held_until TEXT COLLATE "C",
    CHECK ((holder IS NULL) = (held_until IS NULL))
);
CREATE INDEX polls_by_due ON polls (due);
