-- Which changes a check holds, so that a change is found by its fingerprint however many checks there are. What the reports of a
-- check say stands here again, and goes with it. The database writes it, so that it is written for a process as well that does not
-- know of it.
CREATE TABLE check_changes (
    catalog     TEXT   NOT NULL,
    fingerprint TEXT   NOT NULL,
    check_id    BIGINT NOT NULL REFERENCES checks (id),
    PRIMARY KEY (catalog, fingerprint, check_id)
);
CREATE INDEX check_changes_by_check ON check_changes (check_id);

CREATE TRIGGER changes_of_a_check AFTER INSERT ON checks BEGIN
    INSERT INTO check_changes (catalog, fingerprint, check_id)
    SELECT NEW.catalog, json_extract(f.value, '$.fingerprint'), NEW.id
    FROM json_each(NEW.report, '$.tools') t, json_each(t.value, '$.findings') f
    UNION
    SELECT NEW.catalog, json_extract(f.value, '$.fingerprint'), NEW.id
    FROM json_each(NEW.earlier) r, json_each(r.value, '$.tools') t, json_each(t.value, '$.findings') f;
END;
