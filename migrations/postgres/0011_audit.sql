-- By which way a write came in (JSON); absent from what was written before there was one.
ALTER TABLE events ADD COLUMN origin TEXT COLLATE "C";
