-- What a server offers beside its tools (prompts, resources, resource templates), as snapshots are kept: once per
-- content, texts in `content`.
CREATE TABLE surfaces (
    server TEXT    NOT NULL,
    kind   TEXT    NOT NULL,
    digest TEXT    NOT NULL,
    items  INTEGER NOT NULL,
    PRIMARY KEY (server, kind, digest)
);

CREATE TABLE surface_items (
    server   TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    surface  TEXT    NOT NULL,
    position INTEGER NOT NULL,
    content  TEXT    NOT NULL REFERENCES content (digest),
    PRIMARY KEY (server, kind, surface, position),
    FOREIGN KEY (server, kind, surface) REFERENCES surfaces (server, kind, digest)
);

-- How each of them ended in a listing: JSON, one object each, for they are read with it and never searched.
ALTER TABLE listings ADD COLUMN surfaces TEXT NOT NULL DEFAULT '[]';
