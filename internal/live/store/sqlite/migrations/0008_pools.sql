-- Pools of work items, and what became of these, in chunks.

CREATE TABLE pools (
  number    INTEGER PRIMARY KEY AUTOINCREMENT,
  owner     INTEGER NOT NULL,
  key       TEXT NOT NULL,
  user      TEXT NOT NULL,
  submitted INTEGER NOT NULL,
  open      INTEGER NOT NULL,
  work      TEXT NOT NULL,
  body      BLOB NOT NULL,
  sum       INTEGER NOT NULL,
  spec      BLOB NOT NULL,
  spec_sum  INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX pools_key ON pools (owner, key);
CREATE INDEX pools_open ON pools (number) WHERE open = 1;

CREATE TABLE pool_chunks (
  pool INTEGER NOT NULL,
  n    INTEGER NOT NULL,
  body BLOB NOT NULL,
  sum  INTEGER NOT NULL,
  PRIMARY KEY (pool, n)
) STRICT, WITHOUT ROWID;
