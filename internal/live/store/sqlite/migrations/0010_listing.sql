-- What lists of jobs are filtered by: short rows, since those of jobs are long, found by who, in which
-- state, and by names. A description that cannot be read is told when its job is.
CREATE TABLE listing (
  number   INTEGER PRIMARY KEY,
  user     TEXT NOT NULL,
  state    INTEGER NOT NULL,
  cluster  TEXT NOT NULL,
  name     TEXT NOT NULL,
  program  TEXT NOT NULL,
  deadline INTEGER NOT NULL,
  ended    INTEGER NOT NULL
) STRICT;
INSERT INTO listing SELECT number, user,
  CASE b ->> '$.state' WHEN 'SUBMITTED' THEN 1 WHEN 'SELECTED' THEN 2 WHEN 'CONTRACTED' THEN 3 WHEN 'STAGING' THEN 4
    WHEN 'QUEUED' THEN 5 WHEN 'RUNNING' THEN 6 WHEN 'STOPPING' THEN 7 WHEN 'STOPPED' THEN 8 WHEN 'RESUMING' THEN 9
    WHEN 'DONE' THEN 10 WHEN 'FAILED' THEN 11 WHEN 'CANCELLED' THEN 12 ELSE 0 END,
  coalesce(b ->> '$.cluster', ''), coalesce(s ->> '$.name', ''),
  coalesce((SELECT program FROM runs WHERE job = number LIMIT 1), ''),
  coalesce(b ->> '$.deadline', 0), coalesce(b ->> '$.ended', 0)
  FROM (SELECT number, user, iif(json_valid(CAST(body AS TEXT)), CAST(body AS TEXT), '{}') AS b,
    iif(json_valid(CAST(spec AS TEXT)), CAST(spec AS TEXT), '{}') AS s FROM jobs);
CREATE INDEX listing_state ON listing (user, state);
CREATE INDEX listing_name ON listing (user, name);
CREATE INDEX listing_program ON listing (user, program);

-- What was predicted of the ends of jobs, for charts.
CREATE TABLE outlooks (
  job    INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  early  INTEGER NOT NULL,
  middle INTEGER NOT NULL,
  late   INTEGER NOT NULL,
  chance REAL NOT NULL,
  PRIMARY KEY (job, at)
) STRICT, WITHOUT ROWID;
