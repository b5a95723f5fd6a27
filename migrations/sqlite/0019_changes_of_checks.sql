-- Those of the checks that were there before.
INSERT INTO check_changes (catalog, fingerprint, check_id)
SELECT c.catalog, json_extract(f.value, '$.fingerprint'), c.id
FROM checks c, json_each(c.report, '$.tools') t, json_each(t.value, '$.findings') f
WHERE true
UNION
SELECT c.catalog, json_extract(f.value, '$.fingerprint'), c.id
FROM checks c, json_each(c.earlier) r, json_each(r.value, '$.tools') t, json_each(t.value, '$.findings') f
WHERE true
ON CONFLICT DO NOTHING;
