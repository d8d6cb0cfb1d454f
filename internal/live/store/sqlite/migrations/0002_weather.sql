-- What was measured of the network and of hosts: many small rows, found by
-- series and time.

CREATE TABLE weather (
  what   TEXT NOT NULL,
  origin TEXT NOT NULL,
  target TEXT NOT NULL,
  at     INTEGER NOT NULL,
  value  REAL NOT NULL,
  PRIMARY KEY (what, origin, target, at)
) STRICT, WITHOUT ROWID;
