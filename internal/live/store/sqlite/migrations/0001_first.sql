-- Bodies are JSON. What stands in a column of its own is there to be found by.
-- sum is the CRC-32C of the body: SQLite does not notice a flipped bit.

CREATE TABLE events (
  n    INTEGER PRIMARY KEY,
  body BLOB NOT NULL,
  sum  INTEGER NOT NULL
) STRICT;

CREATE TABLE snapshots (
  up_to INTEGER PRIMARY KEY,
  state BLOB NOT NULL,
  sum   INTEGER NOT NULL
) STRICT;

-- AUTOINCREMENT: the number of one that is gone is not given out again.
CREATE TABLE outbox (
  id   INTEGER PRIMARY KEY AUTOINCREMENT,
  body BLOB NOT NULL,
  sum  INTEGER NOT NULL
) STRICT;

CREATE TABLE jobs (
  number    INTEGER PRIMARY KEY AUTOINCREMENT,
  unique_id TEXT NOT NULL UNIQUE,
  user      TEXT NOT NULL,
  submitted INTEGER NOT NULL,
  parent    INTEGER NOT NULL,
  open      INTEGER NOT NULL,
  work      TEXT NOT NULL,
  result    TEXT NOT NULL,
  body      BLOB NOT NULL,
  spec      BLOB NOT NULL
) STRICT;
CREATE INDEX jobs_open ON jobs (number) WHERE open = 1;
CREATE INDEX jobs_parent ON jobs (parent) WHERE parent <> 0;

CREATE TABLE entries (
  n    INTEGER PRIMARY KEY,
  job  INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX entries_job ON entries (job);

CREATE TABLE checkpoints (
  job   INTEGER NOT NULL,
  n     INTEGER NOT NULL,
  image TEXT NOT NULL,
  work  TEXT NOT NULL,
  body  BLOB NOT NULL,
  PRIMARY KEY (job, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
  job     INTEGER NOT NULL,
  epoch   INTEGER NOT NULL,
  ended   INTEGER NOT NULL,
  cluster TEXT NOT NULL,
  program TEXT NOT NULL,
  user    TEXT NOT NULL,
  body    BLOB NOT NULL,
  PRIMARY KEY (job, epoch)
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_ended ON runs (ended);
CREATE INDEX runs_program ON runs (program, ended);

CREATE TABLE transfers (
  n       INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  job     INTEGER NOT NULL,
  program TEXT NOT NULL,
  origin  TEXT NOT NULL,
  target  TEXT NOT NULL,
  body    BLOB NOT NULL
) STRICT;
CREATE INDEX transfers_at ON transfers (at);

CREATE TABLE quotes (
  job     INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  cluster TEXT NOT NULL,
  kind    TEXT NOT NULL,
  program TEXT NOT NULL,
  body    BLOB NOT NULL,
  PRIMARY KEY (job, at, cluster, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX quotes_at ON quotes (at);

CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
