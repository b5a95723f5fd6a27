-- Servers that can be asked again. `spec` is JSON in which secrets are references, never values; `listings` tells what
-- they said, and may know servers that nobody registered.
CREATE TABLE servers (
    name          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    spec          TEXT COLLATE "C" NOT NULL,
    registered_by TEXT COLLATE "C" NOT NULL,
    registered_at TEXT COLLATE "C" NOT NULL
);
