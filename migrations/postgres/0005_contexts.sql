-- Under which credentials a list was taken. A server is asked under one context or several; catalogs rely on the first.
ALTER TABLE listings ADD COLUMN context TEXT COLLATE "C" NOT NULL DEFAULT 'default';
ALTER TABLE listings ADD COLUMN is_primary BOOLEAN NOT NULL DEFAULT TRUE;
CREATE INDEX listings_by_context ON listings (server, context, id);
