CREATE TABLE jobs (
	id VARCHAR DEFAULT replace(gen_random_uuid()::text, '-', '') NOT NULL, 
	tenant TEXT DEFAULT '' NOT NULL, 
	owner TEXT DEFAULT '' NOT NULL, 
	idempotency_key TEXT, 
	request_sha256 TEXT DEFAULT '' NOT NULL, 
	mode VARCHAR NOT NULL, 
	backend VARCHAR NOT NULL, 
	model_key VARCHAR NOT NULL, 
	request JSON DEFAULT '{}' NOT NULL, 
	body JSON DEFAULT '{}' NOT NULL, 
	notes JSON DEFAULT '[]' NOT NULL, 
	tier VARCHAR DEFAULT 'sfw' NOT NULL, 
	state VARCHAR NOT NULL, 
	error_kind TEXT, 
	error_message TEXT, 
	retryable BOOLEAN, 
	attempt INTEGER DEFAULT '0' NOT NULL, 
	max_attempts INTEGER DEFAULT '5' NOT NULL, 
	due_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	deadline TIMESTAMP WITH TIME ZONE NOT NULL, 
	lease TEXT, 
	lease_until TIMESTAMP WITH TIME ZONE, 
	reference JSON, 
	outputs JSON DEFAULT '[]' NOT NULL, 
	results JSON DEFAULT '[]' NOT NULL, 
	progress NUMERIC(6, 4), 
	cost_estimate NUMERIC(12, 6), 
	cost_usd NUMERIC(12, 6), 
	callback_url TEXT, 
	cancel_due TIMESTAMP WITH TIME ZONE, 
	cancel_tries INTEGER DEFAULT '0' NOT NULL, 
	version INTEGER DEFAULT '1' NOT NULL, 
	created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL, 
	updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL, 
	finished_at TIMESTAMP WITH TIME ZONE, 
	CONSTRAINT pk_jobs PRIMARY KEY (id), 
	CONSTRAINT ck_jobs_mode_known CHECK (mode IN ('t2i', 'i2i', 't2v', 'i2v')), 
	CONSTRAINT ck_jobs_tier_known CHECK (tier IN ('sfw', 'nsfw')), 
	CONSTRAINT ck_jobs_state_known CHECK (state IN ('created', 'queued', 'dispatched', 'running', 'storing', 'succeeded', 'failed', 'cancelled', 'expired')), 
	CONSTRAINT asked_once UNIQUE (tenant, owner, idempotency_key)
)
-- next
CREATE INDEX ix_jobs_cancel ON jobs (cancel_due)
-- next
CREATE INDEX ix_jobs_due ON jobs (state, due_at)
-- next
CREATE INDEX ix_jobs_lease ON jobs (lease_until)
-- next
CREATE INDEX ix_jobs_owner ON jobs (tenant, owner, created_at)
-- next
CREATE TABLE job_events (
	id BIGSERIAL NOT NULL, 
	job_id VARCHAR NOT NULL, 
	created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL, 
	event VARCHAR NOT NULL, 
	state TEXT DEFAULT '' NOT NULL, 
	details JSON DEFAULT '{}' NOT NULL, 
	CONSTRAINT pk_job_events PRIMARY KEY (id), 
	CONSTRAINT fk_job_events_job_id FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE
)
-- next
CREATE INDEX ix_job_events_job ON job_events (job_id, id)
-- next
CREATE TABLE job_deliveries (
	id VARCHAR DEFAULT replace(gen_random_uuid()::text, '-', '') NOT NULL, 
	job_id VARCHAR NOT NULL, 
	url TEXT NOT NULL, 
	body TEXT NOT NULL, 
	state VARCHAR DEFAULT 'waiting' NOT NULL, 
	attempt INTEGER DEFAULT '0' NOT NULL, 
	due_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	error TEXT DEFAULT '' NOT NULL, 
	created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL, 
	CONSTRAINT pk_job_deliveries PRIMARY KEY (id), 
	CONSTRAINT ck_job_deliveries_state_known CHECK (state IN ('waiting', 'delivered', 'dead')), 
	CONSTRAINT fk_job_deliveries_job_id FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE
)
-- next
CREATE INDEX ix_job_deliveries_due ON job_deliveries (state, due_at)
-- next
CREATE INDEX ix_job_deliveries_job_id ON job_deliveries (job_id)
-- next
CREATE TABLE webhook_receipts (
	backend VARCHAR NOT NULL, 
	delivery VARCHAR NOT NULL, 
	received_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	CONSTRAINT pk_webhook_receipts PRIMARY KEY (backend, delivery)
)
-- next
CREATE INDEX ix_webhook_receipts_received_at ON webhook_receipts (received_at)
