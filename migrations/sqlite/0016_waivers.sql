-- Waivers are few among many decisions, and looked at each time somebody opens the first page.
CREATE INDEX waivers_by_end ON decisions (expires, id) WHERE expires IS NOT NULL;
CREATE INDEX decisions_of_one ON decisions (catalog, fingerprint, id);
