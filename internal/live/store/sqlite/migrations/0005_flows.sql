-- Workflows, what became of their tasks, and what was decided for them.

CREATE TABLE flows (
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
CREATE UNIQUE INDEX flows_key ON flows (owner, key);
CREATE INDEX flows_open ON flows (number) WHERE open = 1;

CREATE TABLE flow_tasks (
  flow INTEGER NOT NULL,
  n    INTEGER NOT NULL,
  job  INTEGER NOT NULL,
  body BLOB NOT NULL,
  sum  INTEGER NOT NULL,
  PRIMARY KEY (flow, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE flow_entries (
  n    INTEGER PRIMARY KEY,
  flow INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX flow_entries_flow ON flow_entries (flow);
