-- Which changes a check holds, so that a change is found by its fingerprint however many checks there are. What the reports of a
-- check say stands here again, and goes with it. The database writes it, so that it is written for a process as well that does not
-- know of it. Each of these migrations holds the table of checks for a moment only: gates go on meanwhile.
CREATE TABLE check_changes (
    catalog     TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    check_id    BIGINT           NOT NULL REFERENCES checks (id),
    PRIMARY KEY (catalog, fingerprint, check_id)
);
CREATE INDEX check_changes_by_check ON check_changes (check_id);

-- JSON with an escaped U+0000 is none to PostgreSQL, and none of what is read here has one.
CREATE FUNCTION note_changes_of_a_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO check_changes (catalog, fingerprint, check_id)
    SELECT NEW.catalog, f.value ->> 'fingerprint', NEW.id
    FROM json_array_elements(replace(NEW.report, '\u0000', '\u0020')::json -> 'tools') t
    CROSS JOIN json_array_elements(t.value -> 'findings') f
    UNION
    SELECT NEW.catalog, f.value ->> 'fingerprint', NEW.id
    FROM json_array_elements(replace(NEW.earlier, '\u0000', '\u0020')::json) r
    CROSS JOIN json_array_elements(r.value -> 'tools') t
    CROSS JOIN json_array_elements(t.value -> 'findings') f;
    RETURN NULL;
END
$$;
CREATE TRIGGER changes_of_a_check AFTER INSERT ON checks FOR EACH ROW EXECUTE FUNCTION note_changes_of_a_check();
