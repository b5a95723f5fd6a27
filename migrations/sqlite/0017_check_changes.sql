-- Which changes a check holds, so that a change is found by its fingerprint however many checks there are. What the reports of a
-- check say stands here again, and goes with it.
CREATE TABLE check_changes (
    catalog     TEXT   NOT NULL,
    fingerprint TEXT   NOT NULL,
    check_id    BIGINT NOT NULL REFERENCES checks (id),
    PRIMARY KEY (catalog, fingerprint, check_id)
);
CREATE INDEX check_changes_by_check ON check_changes (check_id);
CREATE INDEX checks_by_environment ON checks (environment, id);

INSERT INTO check_changes (catalog, fingerprint, check_id)
SELECT c.catalog, json_extract(f.value, '$.fingerprint'), c.id
FROM checks c, json_each(c.report, '$.tools') t, json_each(t.value, '$.findings') f
UNION
SELECT c.catalog, json_extract(f.value, '$.fingerprint'), c.id
FROM checks c, json_each(c.earlier) r, json_each(r.value, '$.tools') t, json_each(t.value, '$.findings') f;
