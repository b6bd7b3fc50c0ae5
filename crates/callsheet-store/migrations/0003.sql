-- What the calls of a run cost so far, as far as known.
ALTER TABLE runs ADD COLUMN cost_usd REAL NOT NULL DEFAULT 0;
