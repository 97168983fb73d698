CREATE TABLE api_providers (
  id VARCHAR DEFAULT replace(gen_random_uuid()::text, '-', '') NOT NULL,
  name VARCHAR NOT NULL,
  display_name TEXT DEFAULT '' NOT NULL,
  base_url TEXT,
  docs_url TEXT,
  auth_scheme TEXT DEFAULT 'bearer' NOT NULL,
  auth_header_name TEXT DEFAULT 'Authorization' NOT NULL,
  secret_name TEXT,
  rate_limits JSON DEFAULT '{}' NOT NULL,
  tier_ceiling VARCHAR,
  is_active BOOLEAN DEFAULT true NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  CONSTRAINT pk_api_providers PRIMARY KEY (id),
  CONSTRAINT ck_api_providers_tier_ceiling_known CHECK (tier_ceiling IN ('sfw', 'nsfw')),
  CONSTRAINT uq_api_providers_name UNIQUE (name)
)

-- next

CREATE TABLE audit_events (
  id BIGSERIAL NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  actor TEXT DEFAULT '' NOT NULL,
  action VARCHAR NOT NULL,
  resource_type TEXT DEFAULT '' NOT NULL,
  resource_id TEXT DEFAULT '' NOT NULL,
  request_id TEXT,
  before JSON,
  after JSON,
  details JSON DEFAULT '{}' NOT NULL,
  CONSTRAINT pk_audit_events PRIMARY KEY (id)
)

-- next

CREATE INDEX ix_audit_events_created_at ON audit_events (created_at)

-- next

CREATE TABLE characters (
  id VARCHAR DEFAULT replace(gen_random_uuid()::text, '-', '') NOT NULL,
  user_id TEXT,
  name VARCHAR NOT NULL,
  description TEXT DEFAULT '' NOT NULL,
  persona TEXT,
  traits TEXT,
  backstory TEXT,
  voice_tone TEXT,
  mood TEXT,
  first_message TEXT,
  system_prompt TEXT,
  base_prompt TEXT,
  style_preset TEXT,
  reference_image_url TEXT,
  image_url TEXT,
  preview_image_url TEXT,
  personality_traits JSON DEFAULT '{}' NOT NULL,
  physical_traits JSON DEFAULT '{}' NOT NULL,
  outfit_defaults JSON DEFAULT '{}' NOT NULL,
  rendering_rules JSON DEFAULT '{}' NOT NULL,
  appearance_tags JSON DEFAULT '[]' NOT NULL,
  clothing_tags JSON DEFAULT '[]' NOT NULL,
  signature_items JSON DEFAULT '[]' NOT NULL,
  voice_examples JSON DEFAULT '[]' NOT NULL,
  forbidden_phrases JSON DEFAULT '[]' NOT NULL,
  alternate_greetings JSON DEFAULT '[]' NOT NULL,
  locked_traits JSON DEFAULT '[]' NOT NULL,
  avoid_traits JSON DEFAULT '[]' NOT NULL,
  scene_behavior_rules JSON DEFAULT '{}' NOT NULL,
  gender TEXT,
  role TEXT DEFAULT 'ai' NOT NULL,
  content_rating VARCHAR DEFAULT 'sfw' NOT NULL,
  is_public BOOLEAN DEFAULT false NOT NULL,
  declared_age INTEGER,
  moderation_status TEXT DEFAULT 'pending' NOT NULL,
  consistency_method TEXT DEFAULT 'i2i_reference' NOT NULL,
  seed_locked BIGINT,
  metadata JSON DEFAULT '{}' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  CONSTRAINT pk_characters PRIMARY KEY (id),
  CONSTRAINT ck_characters_gender_known CHECK (gender IN ('male', 'female', 'non-binary', 'other', 'unspecified')),
  CONSTRAINT ck_characters_role_known CHECK (role IN ('ai', 'user', 'narrator')),
  CONSTRAINT ck_characters_content_rating_known CHECK (content_rating IN ('sfw', 'nsfw')),
  CONSTRAINT ck_characters_moderation_status_known CHECK (moderation_status IN ('pending', 'approved', 'rejected')),
  CONSTRAINT ck_characters_consistency_method_known CHECK (consistency_method IN ('seed_locked', 'i2i_reference', 'hybrid')),
  CONSTRAINT ck_characters_adult_is_declared CHECK (content_rating = 'sfw' OR (declared_age IS NOT NULL AND declared_age >= 18))
)

-- next

CREATE INDEX ix_characters_user_id ON characters (user_id)

-- next

CREATE TABLE detection_lists (
  name VARCHAR NOT NULL,
  version INTEGER NOT NULL,
  body JSON NOT NULL,
  content_sha256 VARCHAR NOT NULL,
  note TEXT DEFAULT '' NOT NULL,
  author TEXT DEFAULT '' NOT NULL,
  approved_by TEXT,
  is_active BOOLEAN DEFAULT false NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  CONSTRAINT pk_detection_lists PRIMARY KEY (name, version)
)

-- next

CREATE UNIQUE INDEX uq_detection_lists_active ON detection_lists (name) WHERE is_active

-- next

CREATE TABLE enhancement_logs (
  id BIGSERIAL NOT NULL,
  request_id TEXT,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  user_id TEXT,
  conversation_id TEXT,
  job_id TEXT,
  use_case TEXT,
  job_type TEXT,
  target_model TEXT,
  enhancer_model TEXT,
  provider TEXT,
  template_id TEXT,
  template_name TEXT,
  template_version INTEGER,
  template_label TEXT,
  template_source TEXT,
  resolution_level TEXT,
  resolution_level_int INTEGER,
  fallback_level INTEGER,
  resolution_trace JSON DEFAULT '[]' NOT NULL,
  execution TEXT DEFAULT 'none' NOT NULL,
  requested_tier TEXT,
  effective_tier TEXT,
  tier_reasons JSON DEFAULT '[]' NOT NULL,
  detector_version TEXT,
  decision TEXT,
  input_sha256 TEXT,
  output_sha256 TEXT,
  input_tokens INTEGER,
  output_tokens INTEGER,
  budget_tokens INTEGER,
  compressed BOOLEAN,
  dropped_segments JSON DEFAULT '[]' NOT NULL,
  ui_tokens INTEGER,
  cache_hit BOOLEAN,
  cache_layer TEXT,
  cache_age_s NUMERIC(14, 3),
  attempts JSON DEFAULT '[]' NOT NULL,
  used_fallback_model TEXT,
  latency_ms JSON DEFAULT '{}' NOT NULL,
  execution_time_ms NUMERIC(14, 3),
  usage JSON DEFAULT '{}' NOT NULL,
  cost_usd NUMERIC(12, 6),
  cost_source TEXT,
  status TEXT DEFAULT 'ok' NOT NULL,
  error_code TEXT,
  error_detail_redacted TEXT,
  experiment_id TEXT,
  variant TEXT,
  CONSTRAINT pk_enhancement_logs PRIMARY KEY (id),
  CONSTRAINT ck_enhancement_logs_execution_known CHECK (execution IN ('model', 'rules', 'none')),
  CONSTRAINT ck_enhancement_logs_cost_source_known CHECK (cost_source IN ('provider', 'catalogue', 'estimate'))
)

-- next

CREATE INDEX ix_enhancement_logs_created_at ON enhancement_logs (created_at, template_name)

-- next

CREATE INDEX ix_enhancement_logs_request_id ON enhancement_logs (request_id)

-- next

CREATE TABLE negative_prompts (
  id VARCHAR DEFAULT replace(gen_random_uuid()::text, '-', '') NOT NULL,
  model_type VARCHAR NOT NULL,
  content_mode VARCHAR DEFAULT 'sfw' NOT NULL,
  generation_mode VARCHAR DEFAULT 'txt2img' NOT NULL,
  negative_prompt TEXT NOT NULL,
  priority INTEGER DEFAULT '1' NOT NULL,
  is_active BOOLEAN DEFAULT true NOT NULL,
  description TEXT DEFAULT '' NOT NULL,
  created_by TEXT DEFAULT '' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  CONSTRAINT pk_negative_prompts PRIMARY KEY (id),
  CONSTRAINT ck_negative_prompts_content_mode_known CHECK (content_mode IN ('sfw', 'nsfw')),
  CONSTRAINT ck_negative_prompts_generation_mode_known CHECK (generation_mode IN ('txt2img', 'i2i')),
  CONSTRAINT one_fragment UNIQUE (model_type, content_mode, generation_mode, negative_prompt)
)

-- next

CREATE INDEX ix_negative_prompts_pick ON negative_prompts (model_type, content_mode, generation_mode, is_active, priority)

-- next

CREATE TABLE prompt_cache_snapshot (
  id BIGSERIAL NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  content_sha256 VARCHAR NOT NULL,
  payload TEXT NOT NULL,
  built_from_revision BIGINT NOT NULL,
  CONSTRAINT pk_prompt_cache_snapshot PRIMARY KEY (id)
)

-- next

CREATE TABLE revisions (
  id INTEGER NOT NULL CONSTRAINT ck_revisions_only_one CHECK (id = 1),
  revision BIGINT NOT NULL,
  changed_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  CONSTRAINT pk_revisions PRIMARY KEY (id)
)

-- next

CREATE TABLE secrets (
  name VARCHAR NOT NULL,
  ciphertext BYTEA NOT NULL,
  key_id TEXT DEFAULT '' NOT NULL,
  updated_by TEXT DEFAULT '' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  CONSTRAINT pk_secrets PRIMARY KEY (name)
)

-- next

CREATE TABLE settings (
  key VARCHAR NOT NULL,
  value JSON NOT NULL,
  updated_by TEXT DEFAULT '' NOT NULL,
  updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  CONSTRAINT pk_settings PRIMARY KEY (key)
)

-- next

CREATE TABLE templates (
  id VARCHAR DEFAULT replace(gen_random_uuid()::text, '-', '') NOT NULL,
  name VARCHAR NOT NULL,
  description TEXT DEFAULT '' NOT NULL,
  latest_version INTEGER NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  created_by TEXT DEFAULT '' NOT NULL,
  CONSTRAINT pk_templates PRIMARY KEY (id),
  CONSTRAINT uq_templates_name UNIQUE (name)
)

-- next

CREATE TABLE tier_policies (
  name VARCHAR NOT NULL,
  version INTEGER NOT NULL,
  body JSON NOT NULL,
  content_sha256 VARCHAR NOT NULL,
  note TEXT DEFAULT '' NOT NULL,
  author TEXT DEFAULT '' NOT NULL,
  approved_by TEXT,
  is_active BOOLEAN DEFAULT false NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  CONSTRAINT pk_tier_policies PRIMARY KEY (name, version)
)

-- next

CREATE UNIQUE INDEX uq_tier_policies_active ON tier_policies (name) WHERE is_active

-- next

CREATE TABLE tools (
  name VARCHAR NOT NULL,
  description TEXT DEFAULT '' NOT NULL,
  definition JSON DEFAULT '{}' NOT NULL,
  is_active BOOLEAN DEFAULT true NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  CONSTRAINT pk_tools PRIMARY KEY (name)
)

-- next

CREATE TABLE usage_logs (
  id BIGSERIAL NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  provider TEXT,
  model_key TEXT,
  user_id TEXT,
  request_id TEXT,
  endpoint_path TEXT,
  request_type TEXT DEFAULT 'chat' NOT NULL,
  tokens_input INTEGER,
  tokens_output INTEGER,
  tokens_cached INTEGER,
  tokens_total INTEGER,
  cost_usd NUMERIC(12, 6),
  cost_source TEXT,
  response_status INTEGER,
  response_time_ms NUMERIC(14, 3),
  error_code TEXT,
  metadata JSON DEFAULT '{}' NOT NULL,
  CONSTRAINT pk_usage_logs PRIMARY KEY (id),
  CONSTRAINT ck_usage_logs_request_type_known CHECK (request_type IN ('chat', 'image', 'video'))
)

-- next

CREATE INDEX ix_usage_logs_created_at ON usage_logs (created_at)

-- next

CREATE TABLE api_models (
  id VARCHAR DEFAULT replace(gen_random_uuid()::text, '-', '') NOT NULL,
  provider_id VARCHAR NOT NULL,
  model_key VARCHAR NOT NULL,
  version TEXT,
  display_name TEXT DEFAULT '' NOT NULL,
  modality VARCHAR NOT NULL,
  tasks JSON DEFAULT '[]' NOT NULL,
  priority INTEGER DEFAULT '0' NOT NULL,
  model_family TEXT,
  endpoint_path TEXT,
  input_defaults JSON DEFAULT '{}' NOT NULL,
  capabilities JSON DEFAULT '{}' NOT NULL,
  context_window INTEGER,
  tokenizer JSON,
  pricing JSON DEFAULT '{}' NOT NULL,
  tier_ceiling VARCHAR,
  output_format TEXT,
  avg_generation_time NUMERIC(12, 3),
  is_active BOOLEAN DEFAULT true NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  CONSTRAINT pk_api_models PRIMARY KEY (id),
  CONSTRAINT ck_api_models_modality_known CHECK (modality IN ('image', 'video', 'chat')),
  CONSTRAINT ck_api_models_tier_ceiling_known CHECK (tier_ceiling IN ('sfw', 'nsfw')),
  CONSTRAINT fk_api_models_provider_id FOREIGN KEY(provider_id) REFERENCES api_providers (id),
  CONSTRAINT uq_api_models_model_key UNIQUE (model_key)
)

-- next

CREATE INDEX ix_api_models_provider_id ON api_models (provider_id)

-- next

CREATE TABLE conversations (
  id VARCHAR DEFAULT replace(gen_random_uuid()::text, '-', '') NOT NULL,
  user_id TEXT,
  project_id TEXT,
  character_id VARCHAR,
  user_character_id VARCHAR,
  title TEXT DEFAULT 'New Conversation' NOT NULL,
  conversation_type TEXT DEFAULT 'general' NOT NULL,
  status TEXT DEFAULT 'active' NOT NULL,
  memory_tier TEXT DEFAULT 'conversation' NOT NULL,
  memory_data JSON DEFAULT '{}' NOT NULL,
  current_location TEXT,
  last_seq BIGINT DEFAULT '0' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  CONSTRAINT pk_conversations PRIMARY KEY (id),
  CONSTRAINT ck_conversations_memory_tier_known CHECK (memory_tier IN ('conversation', 'character', 'profile')),
  CONSTRAINT fk_conversations_character_id FOREIGN KEY(character_id) REFERENCES characters (id) ON DELETE SET NULL,
  CONSTRAINT fk_conversations_user_character_id FOREIGN KEY(user_character_id) REFERENCES characters (id) ON DELETE SET NULL
)

-- next

CREATE INDEX ix_conversations_user ON conversations (user_id, updated_at)

-- next

CREATE TABLE label_events (
  id BIGSERIAL NOT NULL,
  template_id VARCHAR NOT NULL,
  label VARCHAR NOT NULL,
  from_version INTEGER,
  to_version INTEGER,
  who TEXT DEFAULT '' NOT NULL,
  why TEXT DEFAULT '' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  CONSTRAINT pk_label_events PRIMARY KEY (id),
  CONSTRAINT fk_label_events_template_id FOREIGN KEY(template_id) REFERENCES templates (id)
)

-- next

CREATE INDEX ix_label_events_template_id ON label_events (template_id)

-- next

CREATE TABLE template_versions (
  template_id VARCHAR NOT NULL,
  version INTEGER NOT NULL CONSTRAINT ck_template_versions_version_positive CHECK (version > 0),
  target_model TEXT,
  enhancer_model TEXT,
  provider TEXT,
  job_type TEXT,
  use_case VARCHAR NOT NULL,
  content_mode VARCHAR DEFAULT 'sfw' NOT NULL,
  system_prompt TEXT NOT NULL,
  syntax TEXT DEFAULT 'mustache' NOT NULL,
  variables JSON DEFAULT '[]' NOT NULL,
  token_limit INTEGER DEFAULT '512' NOT NULL,
  max_output_tokens INTEGER,
  partials JSON DEFAULT '[]' NOT NULL,
  extends JSON,
  metadata JSON DEFAULT '{}' NOT NULL,
  note TEXT DEFAULT '' NOT NULL,
  author TEXT DEFAULT '' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  content_sha256 TEXT,
  CONSTRAINT pk_template_versions PRIMARY KEY (template_id, version),
  CONSTRAINT ck_template_versions_content_mode_known CHECK (content_mode IN ('sfw', 'nsfw')),
  CONSTRAINT ck_template_versions_syntax_known CHECK (syntax IN ('mustache', 'liquid')),
  CONSTRAINT fk_template_versions_template_id FOREIGN KEY(template_id) REFERENCES templates (id)
)

-- next

CREATE INDEX ix_template_versions_use_case ON template_versions (use_case)

-- next

CREATE TABLE api_model_defaults (
  task VARCHAR NOT NULL,
  model_id VARCHAR NOT NULL,
  CONSTRAINT pk_api_model_defaults PRIMARY KEY (task),
  CONSTRAINT fk_api_model_defaults_model_id FOREIGN KEY(model_id) REFERENCES api_models (id) ON DELETE CASCADE
)

-- next

CREATE INDEX ix_api_model_defaults_model_id ON api_model_defaults (model_id)

-- next

CREATE TABLE messages (
  id VARCHAR DEFAULT replace(gen_random_uuid()::text, '-', '') NOT NULL,
  conversation_id VARCHAR NOT NULL,
  seq BIGINT NOT NULL,
  client_msg_id TEXT,
  role VARCHAR NOT NULL,
  content TEXT NOT NULL,
  message_type TEXT DEFAULT 'text' NOT NULL,
  tokens INTEGER,
  model_key TEXT,
  template_id TEXT,
  template_version INTEGER,
  tier VARCHAR,
  finish_reason TEXT,
  safety JSON,
  created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  deleted_at TIMESTAMP WITH TIME ZONE,
  CONSTRAINT pk_messages PRIMARY KEY (id),
  CONSTRAINT ck_messages_role_known CHECK (role IN ('system', 'user', 'assistant', 'tool')),
  CONSTRAINT ck_messages_tier_known CHECK (tier IN ('sfw', 'nsfw')),
  CONSTRAINT one_place UNIQUE (conversation_id, seq),
  CONSTRAINT sent_once UNIQUE (conversation_id, client_msg_id),
  CONSTRAINT fk_messages_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (id) ON DELETE CASCADE
)

-- next

CREATE TABLE template_labels (
  template_id VARCHAR NOT NULL,
  label VARCHAR NOT NULL,
  version INTEGER NOT NULL,
  use_case VARCHAR NOT NULL,
  target_model VARCHAR DEFAULT '' NOT NULL,
  enhancer_model VARCHAR DEFAULT '' NOT NULL,
  job_type VARCHAR DEFAULT '' NOT NULL,
  content_mode VARCHAR NOT NULL,
  partial_name VARCHAR DEFAULT '' NOT NULL,
  moved_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
  moved_by TEXT DEFAULT '' NOT NULL,
  CONSTRAINT pk_template_labels PRIMARY KEY (template_id, label),
  CONSTRAINT version_exists FOREIGN KEY(template_id, version) REFERENCES template_versions (template_id, version),
  CONSTRAINT one_answer UNIQUE (label, use_case, target_model, content_mode, job_type, enhancer_model, partial_name)
)

-- next

CREATE VIEW prompt_templates AS
SELECT t.id, t.name AS template_name, v.target_model, v.enhancer_model, v.provider, v.job_type, v.use_case, v.content_mode,
       v.system_prompt, v.token_limit, (l.version IS NOT NULL) AS is_active, v.version, v.metadata, t.description,
       t.created_by, t.created_at, coalesce(l.moved_at, v.created_at) AS updated_at
FROM templates t
LEFT JOIN template_labels l ON l.template_id = t.id AND l.label = 'production'
JOIN template_versions v ON v.template_id = t.id AND v.version = coalesce(l.version, t.latest_version)

-- next

CREATE VIEW api_providers_public AS
SELECT id, name, display_name, docs_url, tier_ceiling, is_active, created_at, updated_at FROM api_providers

-- next

CREATE FUNCTION innkeeper_count() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
UPDATE revisions SET revision = revision + 1, changed_at = now();
PERFORM pg_notify('innkeeper_revision', (SELECT revision::text FROM revisions));
RETURN NULL;
END
$body$

-- next

CREATE FUNCTION innkeeper_keep() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
RAISE EXCEPTION 'rows of % are immutable', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$body$

-- next

CREATE TRIGGER count_template_labels AFTER INSERT OR UPDATE OR DELETE ON template_labels FOR EACH STATEMENT EXECUTE FUNCTION innkeeper_count()

-- next

CREATE TRIGGER count_negative_prompts AFTER INSERT OR UPDATE OR DELETE ON negative_prompts FOR EACH STATEMENT EXECUTE FUNCTION innkeeper_count()

-- next

CREATE TRIGGER count_api_providers AFTER INSERT OR UPDATE OR DELETE ON api_providers FOR EACH STATEMENT EXECUTE FUNCTION innkeeper_count()

-- next

CREATE TRIGGER count_api_models AFTER INSERT OR UPDATE OR DELETE ON api_models FOR EACH STATEMENT EXECUTE FUNCTION innkeeper_count()

-- next

CREATE TRIGGER count_api_model_defaults AFTER INSERT OR UPDATE OR DELETE ON api_model_defaults FOR EACH STATEMENT EXECUTE FUNCTION innkeeper_count()

-- next

CREATE TRIGGER count_tools AFTER INSERT OR UPDATE OR DELETE ON tools FOR EACH STATEMENT EXECUTE FUNCTION innkeeper_count()

-- next

CREATE TRIGGER count_tier_policies AFTER INSERT OR UPDATE OR DELETE ON tier_policies FOR EACH STATEMENT EXECUTE FUNCTION innkeeper_count()

-- next

CREATE TRIGGER count_detection_lists AFTER INSERT OR UPDATE OR DELETE ON detection_lists FOR EACH STATEMENT EXECUTE FUNCTION innkeeper_count()

-- next

CREATE TRIGGER count_settings AFTER INSERT OR UPDATE OR DELETE ON settings FOR EACH STATEMENT EXECUTE FUNCTION innkeeper_count()

-- next

CREATE TRIGGER keep_template_versions BEFORE UPDATE OR DELETE ON template_versions FOR EACH ROW EXECUTE FUNCTION innkeeper_keep()

-- next

CREATE TRIGGER keep_label_events BEFORE UPDATE OR DELETE ON label_events FOR EACH ROW EXECUTE FUNCTION innkeeper_keep()

-- next

CREATE TRIGGER keep_audit_events BEFORE UPDATE OR DELETE ON audit_events FOR EACH ROW EXECUTE FUNCTION innkeeper_keep()

-- next

CREATE TRIGGER keep_tier_policies BEFORE UPDATE OF name, version, body, content_sha256 OR DELETE ON tier_policies FOR EACH ROW EXECUTE FUNCTION innkeeper_keep()

-- next

CREATE TRIGGER keep_detection_lists BEFORE UPDATE OF name, version, body, content_sha256 OR DELETE ON detection_lists FOR EACH ROW EXECUTE FUNCTION innkeeper_keep()

-- next

CREATE FUNCTION innkeeper_template_update() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
PERFORM revision FROM revisions FOR UPDATE;
IF coalesce((SELECT version FROM template_labels WHERE template_id = OLD.id AND label = 'production'), (SELECT latest_version FROM templates WHERE id = OLD.id)) <> OLD.version THEN
RAISE EXCEPTION 'the template was changed meanwhile: repeat the statement' USING ERRCODE = 'serialization_failure';
END IF;
IF NEW.template_name IS DISTINCT FROM OLD.template_name OR NEW.id IS DISTINCT FROM OLD.id THEN
RAISE EXCEPTION 'a template keeps its id and name: make a new one instead' USING ERRCODE = 'restrict_violation';
END IF;
UPDATE templates SET description = coalesce(NEW.description, '') WHERE id = OLD.id;
IF NEW.target_model IS DISTINCT FROM OLD.target_model OR NEW.enhancer_model IS DISTINCT FROM OLD.enhancer_model OR NEW.provider IS DISTINCT FROM OLD.provider OR NEW.job_type IS DISTINCT FROM OLD.job_type OR NEW.use_case IS DISTINCT FROM OLD.use_case OR NEW.content_mode IS DISTINCT FROM OLD.content_mode OR NEW.system_prompt IS DISTINCT FROM OLD.system_prompt OR NEW.token_limit IS DISTINCT FROM OLD.token_limit OR NEW.metadata::text IS DISTINCT FROM OLD.metadata::text THEN
UPDATE templates SET latest_version = latest_version + 1 WHERE id = OLD.id;

INSERT INTO template_versions (template_id, version, target_model, enhancer_model, provider, job_type, use_case,
  content_mode, system_prompt, syntax, variables, token_limit, max_output_tokens, partials, extends, metadata, note, author)
SELECT t.id, t.latest_version, nullif(NEW.target_model, ''), nullif(NEW.enhancer_model, ''), nullif(NEW.provider, ''),
  nullif(NEW.job_type, ''), NEW.use_case, NEW.content_mode, NEW.system_prompt, v.syntax, v.variables, NEW.token_limit,
  v.max_output_tokens, v.partials, v.extends, coalesce(NEW.metadata, '{}'), 'edited with SQL', 'sql'
FROM templates t JOIN template_versions v ON v.template_id = t.id AND v.version = OLD.version
WHERE t.id = OLD.id
;

INSERT INTO label_events (template_id, label, from_version, to_version, who, why)
SELECT OLD.id, 'production', (SELECT version FROM template_labels WHERE template_id = OLD.id AND label = 'production'), CASE WHEN NEW.is_active THEN (SELECT latest_version FROM templates WHERE id = OLD.id) END, 'sql', 'changed with SQL'
WHERE NEW.is_active OR (SELECT version FROM template_labels WHERE template_id = OLD.id AND label = 'production') IS NOT NULL
;

INSERT INTO template_labels (template_id, label, version, use_case, target_model, enhancer_model, job_type, content_mode,
  partial_name, moved_by)
SELECT v.template_id, 'production', v.version, v.use_case, coalesce(v.target_model, ''), coalesce(v.enhancer_model, ''),
  coalesce(v.job_type, ''), v.content_mode, CASE WHEN v.use_case = 'partial' THEN t.name ELSE '' END, 'sql'
FROM template_versions v JOIN templates t ON t.id = v.template_id
WHERE v.template_id = OLD.id AND v.version = (SELECT latest_version FROM templates WHERE id = OLD.id) AND NEW.is_active
ON CONFLICT (template_id, label) DO UPDATE SET version = excluded.version, use_case = excluded.use_case,
  target_model = excluded.target_model, enhancer_model = excluded.enhancer_model, job_type = excluded.job_type,
  content_mode = excluded.content_mode, moved_at = now(), moved_by = excluded.moved_by
;
DELETE FROM template_labels WHERE template_id = OLD.id AND label = 'production' AND NOT NEW.is_active;
ELSIF NEW.is_active IS DISTINCT FROM OLD.is_active OR NEW.version IS DISTINCT FROM OLD.version THEN
IF NEW.version IS DISTINCT FROM OLD.version AND NOT NEW.is_active THEN
RAISE EXCEPTION 'a version is shown when it holds the label: set is_active = true with it' USING ERRCODE = 'restrict_violation';
END IF;
IF NOT EXISTS (SELECT 1 FROM template_versions WHERE template_id = OLD.id AND version = NEW.version) THEN
RAISE EXCEPTION 'there is no such version of this template' USING ERRCODE = 'restrict_violation';
END IF;

INSERT INTO label_events (template_id, label, from_version, to_version, who, why)
SELECT OLD.id, 'production', (SELECT version FROM template_labels WHERE template_id = OLD.id AND label = 'production'), CASE WHEN NEW.is_active THEN NEW.version END, 'sql', 'changed with SQL'
WHERE NEW.is_active OR (SELECT version FROM template_labels WHERE template_id = OLD.id AND label = 'production') IS NOT NULL
;

INSERT INTO template_labels (template_id, label, version, use_case, target_model, enhancer_model, job_type, content_mode,
  partial_name, moved_by)
SELECT v.template_id, 'production', v.version, v.use_case, coalesce(v.target_model, ''), coalesce(v.enhancer_model, ''),
  coalesce(v.job_type, ''), v.content_mode, CASE WHEN v.use_case = 'partial' THEN t.name ELSE '' END, 'sql'
FROM template_versions v JOIN templates t ON t.id = v.template_id
WHERE v.template_id = OLD.id AND v.version = NEW.version AND NEW.is_active
ON CONFLICT (template_id, label) DO UPDATE SET version = excluded.version, use_case = excluded.use_case,
  target_model = excluded.target_model, enhancer_model = excluded.enhancer_model, job_type = excluded.job_type,
  content_mode = excluded.content_mode, moved_at = now(), moved_by = excluded.moved_by
;
DELETE FROM template_labels WHERE template_id = OLD.id AND label = 'production' AND NOT NEW.is_active;
END IF;
RETURN NEW;
END
$body$

-- next

CREATE TRIGGER prompt_templates_update INSTEAD OF UPDATE ON prompt_templates FOR EACH ROW EXECUTE FUNCTION innkeeper_template_update()

-- next

CREATE FUNCTION innkeeper_template_insert() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
PERFORM revision FROM revisions FOR UPDATE;
INSERT INTO templates (id, name, description, latest_version, created_by)
SELECT coalesce(NEW.id, replace(gen_random_uuid()::text, '-', '')), NEW.template_name, coalesce(NEW.description, ''), 1, coalesce(NEW.created_by, 'sql');

INSERT INTO template_versions (template_id, version, target_model, enhancer_model, provider, job_type, use_case,
  content_mode, system_prompt, token_limit, metadata, note, author)
SELECT t.id, 1, nullif(NEW.target_model, ''), nullif(NEW.enhancer_model, ''), nullif(NEW.provider, ''),
  nullif(NEW.job_type, ''), NEW.use_case, coalesce(NEW.content_mode, 'sfw'), NEW.system_prompt,
  coalesce(NEW.token_limit, 512), coalesce(NEW.metadata, '{}'), 'made with SQL', coalesce(NEW.created_by, 'sql')
FROM templates t WHERE t.name = NEW.template_name
;

INSERT INTO label_events (template_id, label, from_version, to_version, who, why)
SELECT (SELECT id FROM templates WHERE name = NEW.template_name), 'production', NULL::int, CASE WHEN NEW.is_active THEN 1 END, 'sql', 'changed with SQL'
WHERE NEW.is_active OR NULL::int IS NOT NULL
;

INSERT INTO template_labels (template_id, label, version, use_case, target_model, enhancer_model, job_type, content_mode,
  partial_name, moved_by)
SELECT v.template_id, 'production', v.version, v.use_case, coalesce(v.target_model, ''), coalesce(v.enhancer_model, ''),
  coalesce(v.job_type, ''), v.content_mode, CASE WHEN v.use_case = 'partial' THEN t.name ELSE '' END, 'sql'
FROM template_versions v JOIN templates t ON t.id = v.template_id
WHERE v.template_id = (SELECT id FROM templates WHERE name = NEW.template_name) AND v.version = 1 AND NEW.is_active
ON CONFLICT (template_id, label) DO UPDATE SET version = excluded.version, use_case = excluded.use_case,
  target_model = excluded.target_model, enhancer_model = excluded.enhancer_model, job_type = excluded.job_type,
  content_mode = excluded.content_mode, moved_at = now(), moved_by = excluded.moved_by
;
RETURN NEW;
END
$body$

-- next

CREATE TRIGGER prompt_templates_insert INSTEAD OF INSERT ON prompt_templates FOR EACH ROW EXECUTE FUNCTION innkeeper_template_insert()

-- next

CREATE FUNCTION innkeeper_template_delete() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
RAISE EXCEPTION 'templates are not deleted: set is_active = false' USING ERRCODE = 'restrict_violation';
END
$body$

-- next

CREATE TRIGGER prompt_templates_delete INSTEAD OF DELETE ON prompt_templates FOR EACH ROW EXECUTE FUNCTION innkeeper_template_delete()

-- next

INSERT INTO revisions (id, revision) VALUES (1, 0)
