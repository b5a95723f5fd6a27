-- Servers by how their newest listing ended, in the order of an index: of each context that catalogs rely on.
ALTER TABLE heads ADD COLUMN relied_outcome TEXT COLLATE "C";
UPDATE heads SET relied_outcome = (SELECT l.outcome FROM listings l WHERE l.id = heads.last AND l.is_primary);
CREATE INDEX heads_by_outcome ON heads (relied_outcome, server, context);

CREATE OR REPLACE FUNCTION keep_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO heads (server, context, last, last_ok, last_relied, relied_outcome)
    VALUES (NEW.server, NEW.context, NEW.id,
            CASE WHEN NEW.snapshot IS NOT NULL THEN NEW.id END,
            CASE WHEN NEW.snapshot IS NOT NULL AND NEW.is_primary THEN NEW.id END,
            CASE WHEN NEW.is_primary THEN NEW.outcome END)
    ON CONFLICT (server, context) DO UPDATE SET last = excluded.last,
        last_ok = coalesce(excluded.last_ok, heads.last_ok),
        last_relied = coalesce(excluded.last_relied, heads.last_relied),
        relied_outcome = excluded.relied_outcome;
    RETURN NULL;
END $$;
