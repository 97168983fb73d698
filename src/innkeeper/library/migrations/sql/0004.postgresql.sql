CREATE TABLE conversation_states (
  scope VARCHAR NOT NULL,
  chat VARCHAR NOT NULL,
  state TEXT DEFAULT '' NOT NULL,
  state_before TEXT DEFAULT '' NOT NULL,
  number BIGINT NOT NULL,
  updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  CONSTRAINT pk_conversation_states PRIMARY KEY (scope, chat)
)
-- next
CREATE INDEX ix_conversation_states_latest ON conversation_states (scope, number)
-- next
CREATE INDEX ix_conversation_states_updated_at ON conversation_states (updated_at)
