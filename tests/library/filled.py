"""A library with a little of everything."""

from innkeeper.library.db.engine import Database
from innkeeper.library.log.conversations import CharacterStore, ConversationStore
from innkeeper.library.log.logs import LogStore
from innkeeper.library.models.stores import (
    ModelStore,
    NegativeStore,
    ProviderStore,
    RoutePolicyStore,
    SecretStore,
    SettingsStore,
    ToolStore,
)
from innkeeper.library.templates.store import TemplateStore
from innkeeper.library.templates.template import PARTIAL, Variable
from innkeeper.library.tiers.documents import DetectionListStore, PolicyStore
from innkeeper.prompt.data import freeze
from tests.library.drafts import draft


def fill(db: Database) -> Database:
    """Put something into every part of a library."""
    store = TemplateStore(db)
    store.publish(
        draft(
            "header",
            "Header: é 日本\n  second line\n",
            use_case=PARTIAL,
            job_type=None,
            target_model=None,
            variables=(),
        )
    )
    store.publish(draft(description="Rewrites.", note="one", author="ann"), who="ann", why="first")
    store.add_version(
        draft(
            text="{{> header}}{{subject}}: yes, 'no', \"null\" # 1",
            partials=(("header", 1),),
            metadata=freeze({"a": [1, 2.5, None, True], "b": {"c": "0123"}}),
            variables=(Variable(name="subject", required=False, default="a cat"),),
        )
    )
    store.move_label(draft().name, "staging", 2)
    provider = ProviderStore(db).add(
        {"name": "openrouter", "secret_name": "KEY", "rate_limits": {"requests_per_minute": 60}}
    )
    model = {"model_key": "maker/one", "modality": "chat", "provider_id": provider.id, "tasks": ["roleplay"]}
    ModelStore(db).add(model | {"pricing": {"input": 0.15}, "avg_generation_time": 1.25})
    ModelStore(db).set_default("roleplay", "maker/one")
    NegativeStore(db).add({"model_type": "sdxl", "negative_prompt": "blurry", "priority": 2})
    NegativeStore(db).add({"model_type": "sdxl", "negative_prompt": "noise", "priority": 1, "generation_mode": "i2i"})
    ToolStore(db).add({"name": "dice", "definition": {"type": "function"}})
    RoutePolicyStore(db).add({"name": "roleplay", "task": "roleplay", "attempts": 6, "money": 0.01})
    PolicyStore(db).add("default", {"tier": "sfw"}, activate=True)
    DetectionListStore(db).add("ages", {"terms": ["a"]})
    DetectionListStore(db).add("ages", {"terms": ["a", "b"]}, activate=True)
    SettingsStore(db).set("retention", {"days": 30})
    SecretStore(db).add({"name": "KEY", "ciphertext": bytes(range(256))})
    character = CharacterStore(db).add({"name": "Wren", "voice_examples": ["Aye."]})
    here = ConversationStore(db).create({"id": "c", "character_id": character.id}).id
    ConversationStore(db).append(here, "user", "Hello\r\n\ttab", client_msg_id="1")
    LogStore(db).add({"template_name": "x", "cost_usd": 0.000001, "cache_hit": False, "latency_ms": {"total": 3.5}})
    return db
