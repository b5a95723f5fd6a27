-- Lists by the page, however long they are: what a page shows stands in columns, and in the order of an index.

-- The newest listing of each server and context: however it ended, that ended `ok`, and that did so while catalogs relied on
-- the context. Kept by the trigger, so that it is right whoever writes.
CREATE TABLE heads (
    server      TEXT COLLATE "C" NOT NULL,
    context     TEXT COLLATE "C" NOT NULL,
    last        BIGINT           NOT NULL,
    last_ok     BIGINT,
    last_relied BIGINT,
    PRIMARY KEY (server, context)
);
INSERT INTO heads (server, context, last, last_ok, last_relied)
SELECT server, context, max(id),
       max(CASE WHEN snapshot IS NOT NULL THEN id END),
       max(CASE WHEN snapshot IS NOT NULL AND is_primary THEN id END)
FROM listings GROUP BY server, context;

CREATE FUNCTION keep_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO heads (server, context, last, last_ok, last_relied)
    VALUES (NEW.server, NEW.context, NEW.id,
            CASE WHEN NEW.snapshot IS NOT NULL THEN NEW.id END,
            CASE WHEN NEW.snapshot IS NOT NULL AND NEW.is_primary THEN NEW.id END)
    ON CONFLICT (server, context) DO UPDATE SET last = excluded.last,
        last_ok = coalesce(excluded.last_ok, heads.last_ok),
        last_relied = coalesce(excluded.last_relied, heads.last_relied);
    RETURN NULL;
END $$;
CREATE TRIGGER listings_have_heads AFTER INSERT ON listings
    FOR EACH ROW EXECUTE FUNCTION keep_head();

-- Which snapshots are listed still.
CREATE INDEX listings_by_snapshot ON listings (server, snapshot, id);
CREATE INDEX listings_by_outcome ON listings (server, outcome, id);

-- What a list of versions or drafts shows of what they hold. The triggers that keep both as they are step aside while the
-- new columns are filled.
ALTER TABLE versions ADD COLUMN tools BIGINT NOT NULL DEFAULT 0;
ALTER TABLE drafts ADD COLUMN verdict TEXT COLLATE "C" NOT NULL DEFAULT 'unknown';
DROP TRIGGER versions_are_immutable ON versions;
DROP TRIGGER decided_drafts_are_final ON drafts;
UPDATE versions SET tools = (
    SELECT json_array_length(c.body::json -> 'members') FROM content c WHERE c.digest = versions.content
);
UPDATE drafts SET verdict = report::json ->> 'verdict';
CREATE TRIGGER versions_are_immutable BEFORE UPDATE ON versions
    FOR EACH ROW EXECUTE FUNCTION refuse('versions are immutable');
CREATE TRIGGER decided_drafts_are_final BEFORE UPDATE ON drafts
    FOR EACH ROW WHEN (OLD.status <> 'pending') EXECUTE FUNCTION refuse('decided drafts are final');
CREATE INDEX drafts_by_status ON drafts (catalog, status, id);

CREATE INDEX moves_by_time ON moves (environment, at DESC, catalog, generation DESC);
CREATE INDEX moves_by_catalog ON moves (environment, catalog, at DESC, generation DESC);
-- Whether a version was ever live.
CREATE INDEX moves_by_version ON moves (catalog, to_version, environment);

CREATE INDEX events_by_kind ON events (kind, seq);
CREATE INDEX events_by_actor ON events (actor, seq);

-- Whether anything holds a text still.
CREATE INDEX snapshot_tools_by_content ON snapshot_tools (content);
CREATE INDEX surface_items_by_content ON surface_items (content);
CREATE INDEX versions_by_content ON versions (content);
CREATE INDEX drafts_by_content ON drafts (content);
