-- Metadata of files by absolute path; nothing of their content. Size and hash tell an entry that is out of date.
CREATE TABLE global_index (
    path TEXT    PRIMARY KEY,
    text TEXT    NOT NULL,
    size INTEGER NOT NULL,
    hash TEXT    NOT NULL
);
