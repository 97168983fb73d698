CREATE TABLE stored_responses (
  owner VARCHAR NOT NULL,
  id VARCHAR NOT NULL,
  content TEXT DEFAULT '' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  CONSTRAINT pk_stored_responses PRIMARY KEY (owner, id)
)
-- next
CREATE INDEX ix_stored_responses_created_at ON stored_responses (created_at)
