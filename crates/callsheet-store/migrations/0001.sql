-- One row a run, kept up to date by the transaction that appends, so that listing never folds a log.
CREATE TABLE runs (
    id         INTEGER PRIMARY KEY,
    run        TEXT    NOT NULL UNIQUE,
    request    TEXT    NOT NULL DEFAULT '',
    started_at INTEGER NOT NULL DEFAULT 0,
    changed_at INTEGER NOT NULL DEFAULT 0,
    facts      INTEGER NOT NULL DEFAULT 0,
    outcome    TEXT,
    cost_usd   REAL
);

-- Facts of every run, in the record version they were written in. `key` is the run's id times 2^32 plus the number of the
-- fact: a run's facts stand together and need no index. A body is JSON, as a text or, with a `size`, packed as what differs
-- from common facts.
CREATE TABLE facts (
    key  INTEGER PRIMARY KEY,
    at   INTEGER NOT NULL,
    v    INTEGER NOT NULL,
    size INTEGER,
    body BLOB    NOT NULL,
    -- The orders of persons that it carries out, as JSON.
    orders TEXT
);

-- Bytes by their SHA-256. With a `size` they are compressed, with a `base` as what differs from that blob, which has none.
CREATE TABLE blobs (
    id    INTEGER PRIMARY KEY,
    hash  BLOB    NOT NULL UNIQUE,
    base  INTEGER,
    size  INTEGER,
    bytes BLOB    NOT NULL
);

-- Messages keep their number for ever: a discarded number is never given again.
CREATE TABLE messages (
    n    INTEGER PRIMARY KEY AUTOINCREMENT,
    run  TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX messages_of_run ON messages (run, n);

-- The one writer of a run. `start` tells a reused process id from the process that took the lock.
CREATE TABLE locks (
    run   TEXT    PRIMARY KEY,
    token TEXT    NOT NULL,
    pid   INTEGER NOT NULL,
    start TEXT    NOT NULL,
    host  TEXT    NOT NULL,
    since INTEGER NOT NULL
) WITHOUT ROWID;

-- Metadata of files by absolute path; nothing of their content. Size and hash tell an entry that is out of date.
CREATE TABLE global_index (
    path TEXT    PRIMARY KEY,
    text TEXT    NOT NULL,
    size INTEGER NOT NULL,
    hash TEXT    NOT NULL
) WITHOUT ROWID;
