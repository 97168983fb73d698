"""The rows of the library's tables: a struct a table, with a field for each column, read at the store's edge.

What is saved was checked (`innkeeper.library.db.rows.checked`); what other programs wrote, or an older snapshot holds, is read
tolerantly: NULL is the default, and JSON of another kind than its column's counts as empty. An unknown tier is the general one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_origin

import msgspec

from innkeeper.gate.tier import Tier
from innkeeper.prompt.data import EMPTY, FrozenDict, freeze, thaw
from innkeeper.prompt.typed.once import convert

R = TypeVar("R", bound=msgspec.Struct)


class StoredRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a table; its fields are the columns, in their order."""

    def to_dict(self) -> dict[str, Any]:
        """The values by their columns, JSON-ready."""
        plain: dict[str, Any] = thaw(msgspec.to_builtins(self))
        return plain


def read_row(row: Mapping[str, Any], kind: type[R]) -> R:
    """Return a stored row as a struct; columns without a field are left out.

    Raises `msgspec.ValidationError` where a plain column holds a value of another type.
    """
    values: dict[str, Any] = {}
    for name, column in _json_and_tiers(kind).items():
        value = row.get(name)
        if column is Tier:
            value = None if value is None else Tier.of(value)
        elif column is FrozenDict:
            value = freeze(value) if isinstance(value, Mapping) else None
        elif column is not None:  # a list, of texts or of anything
            items = freeze(value) if isinstance(value, (list, tuple)) else ()
            value = tuple(map(str, items)) if column is str else items
        else:
            value = freeze(value)
        if value is not None:
            values[name] = value
    return convert(values, kind)


@cache
def fields_of(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The fields of a struct, looked up once: finding out their types takes longer than reading a hundred rows."""
    return msgspec.structs.fields(kind)


@cache
def _json_and_tiers(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """How each column is read: `Tier`, `FrozenDict` (an object), the type of a list's items, or None: as it is."""
    kinds: dict[str, Any] = {}
    for field in fields_of(kind):
        types = {field.type, *get_args(field.type)}
        if get_origin(field.type) is tuple:
            kinds[field.name] = str if get_args(field.type)[0] is str else Any
        else:
            kinds[field.name] = next((one for one in (Tier, FrozenDict) if one in types), None)
    return kinds


class CharacterRow(StoredRow, frozen=True, kw_only=True):
    """A row of ``characters``. One without an ``id`` is a person who is described in a request."""

    id: str = ""
    user_id: str | None = None
    name: str
    description: str = ""
    persona: str | None = None
    traits: str | None = None
    backstory: str | None = None
    voice_tone: str | None = None
    mood: str | None = None
    first_message: str | None = None
    system_prompt: str | None = None
    base_prompt: str | None = None
    style_preset: str | None = None
    reference_image_url: str | None = None
    image_url: str | None = None
    preview_image_url: str | None = None
    personality_traits: FrozenDict = EMPTY
    physical_traits: FrozenDict = EMPTY
    outfit_defaults: FrozenDict = EMPTY
    rendering_rules: FrozenDict = EMPTY
    appearance_tags: tuple[str, ...] = ()
    clothing_tags: tuple[str, ...] = ()
    signature_items: tuple[str, ...] = ()
    voice_examples: tuple[str, ...] = ()
    forbidden_phrases: tuple[str, ...] = ()
    alternate_greetings: tuple[str, ...] = ()
    locked_traits: tuple[str, ...] = ()
    avoid_traits: tuple[str, ...] = ()
    scene_behavior_rules: FrozenDict = EMPTY
    gender: str | None = None
    role: str = "ai"
    content_rating: Tier = Tier.SFW
    is_public: bool = False
    declared_age: int | None = None
    moderation_status: str = "pending"
    consistency_method: str = "i2i_reference"
    seed_locked: int | None = None
    metadata: FrozenDict = EMPTY
    created_at: str = ""
    updated_at: str = ""
    tenant: str = ""


class ConversationRow(StoredRow, frozen=True, kw_only=True):
    """A row of ``conversations``."""

    id: str
    user_id: str | None = None
    project_id: str | None = None
    character_id: str | None = None
    user_character_id: str | None = None
    title: str = "New Conversation"
    conversation_type: str = "general"
    status: str = "active"
    memory_tier: str = "conversation"
    memory_data: FrozenDict = EMPTY
    current_location: str | None = None
    last_seq: int = 0
    created_at: str = ""
    updated_at: str = ""
    tenant: str = ""


class MessageRow(StoredRow, frozen=True, kw_only=True):
    """A row of ``messages``. Its ``tier`` is None where none was noted."""

    id: str
    conversation_id: str
    seq: int
    client_msg_id: str | None = None
    role: str
    content: str
    message_type: str = "text"
    tokens: int | None = None
    model_key: str | None = None
    template_id: str | None = None
    template_version: int | None = None
    tier: Tier | None = None
    finish_reason: str | None = None
    safety: Any = None
    created_at: str = ""
    deleted_at: str | None = None
    pinned: bool = False
    reply_to: str | None = None
    original: str | None = None
    post_processing: Any = None


class SceneTemplateRow(StoredRow, frozen=True, kw_only=True):
    """A row of ``scenes``: a template that scenes are made from."""

    id: str
    tenant: str = ""
    user_id: str = ""
    name: str
    description: str = ""
    scene_prompt: str
    preview_image_url: str | None = None
    setting: str | None = None
    atmosphere: FrozenDict = EMPTY
    time_of_day: str | None = None
    scenario_type: str | None = None
    scene_starters: tuple[str, ...] = ()
    suggested_user_role: str | None = None
    default_clothing: str | None = None
    character_clothing_overrides: FrozenDict = EMPTY
    content_rating: Tier = Tier.SFW
    tags: tuple[str, ...] = ()
    scene_focus: str = "setting"
    narrative_style: str = "concise"
    visual_priority: tuple[str, ...] = ()
    perspective_hint: str = "third_person"
    max_words: int = 60
    min_characters: int = 1
    max_characters: int = 2
    is_public: bool = False
    usage_count: int = 0
    created_at: str = ""
    updated_at: str = ""


class SceneRow(StoredRow, frozen=True, kw_only=True):
    """A row of ``character_scenes``: a scene that was asked for."""

    id: str
    tenant: str = ""
    user_id: str = ""
    conversation_id: str | None = None
    number: int = 0
    character_id: str | None = None
    user_character_id: str | None = None
    template_id: str | None = None
    idempotency_key: str | None = None
    request_sha256: str = ""
    scene_name: str = ""
    scene_description: str = ""
    scene_text: str = ""
    text_source: str = ""
    scene_prompt: str = ""
    scene_rules: str = ""
    system_prompt: str = ""
    scene_starters: tuple[str, ...] = ()
    scene_type: str = "character_only"
    scene_mode: str = "none"
    generation_mode: str = "t2i"
    previous_scene_id: str | None = None
    previous_scene_image_url: str | None = None
    image_url: str | None = None
    job_id: str | None = None
    status: str = "pending"
    error_kind: str | None = None
    priority: int = 0
    seed: int | None = None
    tier: Tier = Tier.SFW
    state: FrozenDict = EMPTY
    context: FrozenDict = EMPTY
    figures: tuple[Any, ...] = ()
    request: FrozenDict = EMPTY
    generation_metadata: FrozenDict = EMPTY
    created_at: str = ""
    updated_at: str = ""


class StoredTool(StoredRow, frozen=True, kw_only=True):
    """A row of ``tools``."""

    name: str
    description: str = ""
    definition: FrozenDict = EMPTY
    is_active: bool = True
    created_at: str = ""
    updated_at: str = ""
    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    secret_name: str | None = None
    settings: FrozenDict = EMPTY


class RoutePolicyRow(StoredRow, frozen=True, kw_only=True):
    """A row of ``route_policies``; NULL is the default."""

    name: str
    modality: str | None = None
    task: str | None = None
    criteria: tuple[str, ...] = ()
    attempts: int | None = None
    strikes: int | None = None
    seconds: float | None = None
    first_seconds: float | None = None
    open_seconds: float | None = None
    money: float | None = None
    lower_tier: bool = False
    is_active: bool = True
    created_at: str = ""
    updated_at: str = ""


class LabelRow(StoredRow, frozen=True, kw_only=True):
    """A row of ``template_labels``: a version that holds a label, with its key, so that an index can refuse a second of it.

    Empty is any: no index sees NULL. ``partial_name`` is the name of a partial, since partials may share a key.
    """

    template_id: str
    label: str
    version: int
    use_case: str
    target_model: str = ""
    enhancer_model: str = ""
    job_type: str = ""
    content_mode: str
    partial_name: str = ""
    moved_at: str = ""
    moved_by: str = ""

    @property
    def answer(self) -> tuple[str, ...]:
        """The columns that no two rows have alike."""
        return tuple([getattr(self, name) for name in ANSWER])


ANSWER: Final = ("label", "use_case", "target_model", "content_mode", "job_type", "enhancer_model", "partial_name")
"""What is unique among the rows that hold labels."""


class SettingRow(StoredRow, frozen=True, kw_only=True):
    """A row of ``settings``."""

    key: str
    value: Any = None
    updated_by: str = ""
    updated_at: str = ""


class SecretRow(StoredRow, frozen=True, kw_only=True):
    """A row of ``secrets`` without what is sealed."""

    name: str
    key_id: str = ""
    updated_by: str = ""
    created_at: str = ""
    updated_at: str = ""


class DocumentRow(StoredRow, frozen=True, kw_only=True):
    """A row of ``tier_policies`` or ``detection_lists``: a version of a named document."""

    name: str
    version: int
    body: Any = None
    content_sha256: str
    note: str = ""
    author: str = ""
    approved_by: str | None = None
    is_active: bool = False
    created_at: str = ""


class EnhancementRow(StoredRow, frozen=True, kw_only=True):
    """A row of ``enhancement_logs``: one call."""

    id: int
    request_id: str | None = None
    created_at: str = ""
    user_id: str | None = None
    conversation_id: str | None = None
    job_id: str | None = None
    use_case: str | None = None
    job_type: str | None = None
    target_model: str | None = None
    enhancer_model: str | None = None
    provider: str | None = None
    template_id: str | None = None
    template_name: str | None = None
    template_version: int | None = None
    template_label: str | None = None
    template_source: str | None = None
    resolution_level: str | None = None
    resolution_level_int: int | None = None
    fallback_level: int | None = None
    resolution_trace: tuple[Any, ...] = ()
    execution: str = "none"
    requested_tier: Tier | None = None
    effective_tier: Tier | None = None
    tier_reasons: tuple[str, ...] = ()
    detector_version: str | None = None
    decision: str | None = None
    input_sha256: str | None = None
    output_sha256: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    budget_tokens: int | None = None
    compressed: bool | None = None
    dropped_segments: tuple[Any, ...] = ()
    ui_tokens: int | None = None
    cache_hit: bool | None = None
    cache_layer: str | None = None
    cache_age_s: float | None = None
    attempts: tuple[Any, ...] = ()
    used_fallback_model: str | None = None
    latency_ms: FrozenDict = EMPTY
    execution_time_ms: float | None = None
    usage: FrozenDict = EMPTY
    cost_usd: float | None = None
    cost_source: str | None = None
    status: str = "ok"
    error_code: str | None = None
    error_detail_redacted: str | None = None
    experiment_id: str | None = None
    variant: str | None = None


class AuditRow(StoredRow, frozen=True, kw_only=True):
    """A row of ``audit_events``: one change."""

    id: int
    created_at: str = ""
    actor: str = ""
    action: str
    resource_type: str = ""
    resource_id: str = ""
    request_id: str | None = None
    before: Any = None
    after: Any = None
    details: FrozenDict = EMPTY
