-- What a server offers beside its tools (prompts, resources, resource templates), as snapshots are kept: once per
-- content, texts in `content`.
CREATE TABLE surfaces (
    server TEXT COLLATE "C" NOT NULL,
    kind   TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    items  BIGINT           NOT NULL,
    PRIMARY KEY (server, kind, digest)
);

CREATE TABLE surface_items (
    server   TEXT COLLATE "C" NOT NULL,
    kind     TEXT COLLATE "C" NOT NULL,
    surface  TEXT COLLATE "C" NOT NULL,
    position BIGINT           NOT NULL,
    content  TEXT COLLATE "C" NOT NULL REFERENCES content (digest),
    PRIMARY KEY (server, kind, surface, position),
    FOREIGN KEY (server, kind, surface) REFERENCES surfaces (server, kind, digest)
);

-- How each of them ended in a listing: JSON, one object each, for they are read with it and never searched.
ALTER TABLE listings ADD COLUMN surfaces TEXT COLLATE "C" NOT NULL DEFAULT '[]';
