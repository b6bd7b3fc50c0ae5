-- Facts of every run, in the record version they were written in.
CREATE TABLE facts (
    run  TEXT    NOT NULL,
    n    INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    v    INTEGER NOT NULL,
    body TEXT    NOT NULL,
    PRIMARY KEY (run, n)
);

-- One row a run, kept up to date by the transaction that appends, so that listing never folds a log.
CREATE TABLE runs (
    run        TEXT    PRIMARY KEY,
    request    TEXT    NOT NULL DEFAULT '',
    started_at INTEGER NOT NULL DEFAULT 0,
    changed_at INTEGER NOT NULL DEFAULT 0,
    facts      INTEGER NOT NULL DEFAULT 0,
    outcome    TEXT
);

-- Bytes by their SHA-256.
CREATE TABLE blobs (
    hash  TEXT PRIMARY KEY,
    bytes BLOB NOT NULL
);

-- Letters keep their number for ever: a discarded number is never given again.
CREATE TABLE letters (
    n    INTEGER PRIMARY KEY AUTOINCREMENT,
    run  TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX letters_of_run ON letters (run, n);

-- The one writer of a run. `start` tells a reused process id from the process that took the lock.
CREATE TABLE locks (
    run   TEXT    PRIMARY KEY,
    token TEXT    NOT NULL,
    pid   INTEGER NOT NULL,
    start TEXT    NOT NULL,
    host  TEXT    NOT NULL,
    since INTEGER NOT NULL
);
