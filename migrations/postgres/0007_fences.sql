-- Every claim has a number, and numbers only grow, whatever becomes of a server: what an older claim writes is refused.
CREATE TABLE fences (
    last BIGINT NOT NULL
);
INSERT INTO fences (last) VALUES (0);
ALTER TABLE polls ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
