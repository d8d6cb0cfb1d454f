-- Labels of jobs, to be filtered by: "\nname=value\n…\n", sorted; empty if there are none.
ALTER TABLE listing ADD COLUMN labels TEXT NOT NULL DEFAULT '';
