-- Which changes a check holds, so that a change is found by its fingerprint however many checks there are. What the reports of a
-- check say stands here again, and goes with it.
CREATE TABLE check_changes (
    catalog     TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    check_id    BIGINT           NOT NULL REFERENCES checks (id),
    PRIMARY KEY (catalog, fingerprint, check_id)
);
CREATE INDEX check_changes_by_check ON check_changes (check_id);
CREATE INDEX checks_by_environment ON checks (environment, id);

-- JSON with an escaped U+0000 is none to PostgreSQL, and none of what is read here has one.
INSERT INTO check_changes (catalog, fingerprint, check_id)
SELECT c.catalog, f.value ->> 'fingerprint', c.id
FROM checks c
CROSS JOIN json_array_elements(replace(c.report, '\u0000', '\u0020')::json -> 'tools') t
CROSS JOIN json_array_elements(t.value -> 'findings') f
UNION
SELECT c.catalog, f.value ->> 'fingerprint', c.id
FROM checks c
CROSS JOIN json_array_elements(replace(c.earlier, '\u0000', '\u0020')::json) r
CROSS JOIN json_array_elements(r.value -> 'tools') t
CROSS JOIN json_array_elements(t.value -> 'findings') f;
