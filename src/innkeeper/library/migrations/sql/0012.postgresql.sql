ALTER TABLE jobs ADD COLUMN route JSON
-- next
DROP INDEX ix_jobs_due
-- next
DROP INDEX ix_jobs_lease
-- next
DROP INDEX ix_jobs_cancel
-- next
CREATE INDEX ix_jobs_due ON jobs (due_at, id) WHERE state IN ('queued', 'running', 'storing') AND lease IS NULL
-- next
CREATE INDEX ix_jobs_deadline ON jobs (deadline) WHERE finished_at IS NULL
-- next
CREATE INDEX ix_jobs_lease ON jobs (lease_until) WHERE lease IS NOT NULL
-- next
CREATE INDEX ix_jobs_cancel ON jobs (cancel_due) WHERE cancel_due IS NOT NULL
