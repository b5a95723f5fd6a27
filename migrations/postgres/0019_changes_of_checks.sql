-- Those of the checks that were there before.
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
CROSS JOIN json_array_elements(t.value -> 'findings') f
ON CONFLICT DO NOTHING;
