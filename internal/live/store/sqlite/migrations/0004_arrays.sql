-- Arrays of which not every element has a row among the jobs yet.

CREATE TABLE arrays (
  number INTEGER PRIMARY KEY,
  work   TEXT NOT NULL,
  body   BLOB NOT NULL,
  sum    INTEGER NOT NULL
) STRICT;
