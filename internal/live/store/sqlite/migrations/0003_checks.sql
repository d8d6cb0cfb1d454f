-- Jobs get checksums as events have; NULL in rows of before. commits counts what was
-- committed, so that a log that was cut off is noticed (see witness.go).

ALTER TABLE jobs ADD COLUMN sum INTEGER;
ALTER TABLE jobs ADD COLUMN spec_sum INTEGER;

CREATE TABLE commits (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  n  INTEGER NOT NULL
) STRICT;
INSERT INTO commits (id, n) VALUES (1, 0);
