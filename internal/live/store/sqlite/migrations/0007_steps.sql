-- What the engine was told in each batch, so that its decisions can be replayed. first is the
-- number of the first event that came of it, or of the next one if none did.
CREATE TABLE steps (
  n     INTEGER PRIMARY KEY,
  first INTEGER NOT NULL,
  sum   INTEGER NOT NULL,
  body  BLOB NOT NULL
) STRICT;
