-- Who is told what happened. The log of events is what is told: `seen` is the last one that was looked at for a webhook. A
-- process that tells holds a webhook for a while, as one that polls holds a server.
CREATE TABLE webhooks (
    name       TEXT NOT NULL PRIMARY KEY,
    url        TEXT NOT NULL,
    shape      TEXT NOT NULL,
    filter     TEXT NOT NULL,
    secrets    TEXT NOT NULL,
    state      TEXT NOT NULL,
    because    TEXT,
    revision   INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    created_at TEXT NOT NULL,
    seen       INTEGER NOT NULL,
    holder     TEXT,
    held_until TEXT,
    fence      INTEGER NOT NULL DEFAULT 0
);

-- One event for one webhook. What waits has a time at which it is due.
CREATE TABLE deliveries (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook     TEXT NOT NULL REFERENCES webhooks (name),
    event       INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    status      TEXT NOT NULL,
    attempts    INTEGER NOT NULL,
    since       TEXT NOT NULL,
    due         TEXT,
    last_at     TEXT,
    last_status INTEGER,
    last_said   TEXT,
    UNIQUE (webhook, event),
    CHECK ((due IS NULL) = (status <> 'waiting'))
);
CREATE INDEX deliveries_by_due ON deliveries (webhook, due) WHERE due IS NOT NULL;
CREATE INDEX deliveries_by_webhook ON deliveries (webhook, id);
CREATE INDEX deliveries_by_age ON deliveries (since);
