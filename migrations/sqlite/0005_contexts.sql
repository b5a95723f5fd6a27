-- Under which credentials a list was taken. A server is asked under one context or several; catalogs rely on the first.
ALTER TABLE listings ADD COLUMN context TEXT NOT NULL DEFAULT 'default';
ALTER TABLE listings ADD COLUMN is_primary INTEGER NOT NULL DEFAULT 1;
CREATE INDEX listings_by_context ON listings (server, context, id);
