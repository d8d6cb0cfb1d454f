-- What one user asks for must not take longer the more others have run.
CREATE INDEX jobs_user ON jobs (user);
CREATE INDEX runs_user ON runs (user, program, ended);
