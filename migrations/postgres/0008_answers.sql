-- What was answered under a caller's key, so that a request that is sent twice is done once. Without an answer the request
-- is being worked on. Moves keep their keys in `idempotency_keys` as well, for ever and in their own transaction.
CREATE TABLE answers (
    key     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    request TEXT COLLATE "C" NOT NULL,
    since   TEXT COLLATE "C" NOT NULL,
    status  BIGINT,
    headers TEXT COLLATE "C",
    body    BYTEA,
    CHECK ((status IS NULL) = (headers IS NULL) AND (status IS NULL) = (body IS NULL))
);
CREATE INDEX answers_by_age ON answers (since);
