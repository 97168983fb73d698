"""The step *language policy*: in which language the model writes, and what it leaves as it is.

Fields, aliases, tags and the block's place are those of 1-vibetavern-pipeline (*:language_policy*) and of
VibeTavern's own step; the text of the policy is ours. Any language with a valid BCP 47 tag is allowed, unless
``allowed`` says otherwise; each has one canonical spelling.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from innkeeper.prompt import (
    Block,
    BudgetGroup,
    ConfigError,
    Context,
    FrozenDict,
    Origin,
    OriginAsset,
    State,
    Step,
    StepConfig,
    UsageError,
)
from innkeeper.prompt.text import kind_of

_TRUE: Final = frozenset({"1", "true", "yes", "y", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "n", "off", ""})


class LanguagePolicyConfig(StepConfig, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The policy. Fields that are not given come from ``context.language_policy``.

    ``enabled`` (default false) may be the text of a boolean; ``"false"`` is false. ``style_hint`` says how to write.
    ``special_tags`` are tags whose content stays as it is; with ``lang`` among them, passages in other languages are marked.
    ``policy_text_builder(target_lang, style_hint, special_tags)`` gives another text. ``allowed`` are the only languages
    permitted; by default every valid one is.
    """

    enabled: Any = msgspec.UNSET
    target_lang: str | msgspec.UnsetType | None = msgspec.UNSET
    style_hint: str | msgspec.UnsetType | None = msgspec.UNSET
    special_tags: Any = msgspec.UNSET
    policy_text_builder: Any = msgspec.UNSET
    allowed: Any = msgspec.UNSET

    def __post_init__(self) -> None:
        """Bring the fields into shape. Raises `UsageError` for what does not fit."""
        put = msgspec.structs.force_setattr
        if self.enabled is not msgspec.UNSET:
            put(self, "enabled", _boolean(self.enabled))
        for field in ("special_tags", "allowed"):
            if (value := getattr(self, field)) is not msgspec.UNSET and value is not None:
                put(self, field, _texts(field, value))
        builder = self.policy_text_builder
        if builder is not msgspec.UNSET and builder is not None and not callable(builder):
            raise UsageError("policy_text_builder must be callable")


class _Policy(msgspec.Struct, frozen=True):
    """The configuration with every field decided."""

    enabled: bool = False
    target_lang: str | None = None
    style_hint: str | None = None
    special_tags: tuple[str, ...] = ()
    policy_text_builder: Any = None
    allowed: tuple[str, ...] | None = None


def check_context_policy(context: Context) -> None:
    """Raise `ConfigError` when ``context.language_policy`` does not fit: before any step has done anything."""
    _from_context(context)


def _from_context(context: Context) -> LanguagePolicyConfig:
    policy = context.get("language_policy")
    if not policy and (policy is None or isinstance(policy, Mapping)):
        return _NO_POLICY
    if not isinstance(policy, Mapping):
        raise ConfigError(
            f"context.language_policy must be a mapping, not {kind_of(policy)}",
            hint='for example {"enabled": true, "target_lang": "ja-JP"}',
        )
    return LANGUAGE_POLICY.configure(policy)


_NO_POLICY: Final = LanguagePolicyConfig()


def _decided(context: Context, config: LanguagePolicyConfig) -> _Policy:
    fields: dict[str, Any] = {}
    for layer in (_from_context(context), config):
        policy_fields = msgspec.structs.asdict(layer)
        fields |= {key: value for key, value in policy_fields.items() if value is not msgspec.UNSET}
    fields["style_hint"] = (fields.get("style_hint") or "").strip() or None
    fields["special_tags"] = fields.get("special_tags") or ()
    return _Policy(**fields)


def _apply(state: State, config: LanguagePolicyConfig) -> None:
    policy = _decided(state.context, config)
    plan = state.result.plan
    if not policy.enabled or plan is None:
        return
    if not (policy.target_lang or "").strip():
        raise ConfigError(
            "the language policy is enabled without a target_lang", hint='set target_lang to a tag such as "ja-JP"'
        )
    target = canonical_tag(policy.target_lang or "")
    allowed = policy.allowed
    if not (is_language(target) if allowed is None else target in map(canonical_tag, allowed)):
        known = f"allowed are {', '.join(allowed)}" if allowed is not None else "it is not a BCP 47 tag"
        state.warn(f"the language policy has no effect: {policy.target_lang!r} is not allowed", hint=known)
        return
    text = _text(state, policy, target)
    if not text.strip():
        return
    state.result.plan = plan.with_blocks(with_policy(plan.blocks, _block(text, target)))
    state.result.blocks = list(state.result.plan.blocks)
    state.stat("enabled", value=True)


def _text(state: State, policy: _Policy, target: str) -> str:
    if policy.policy_text_builder is not None:
        try:
            text = policy.policy_text_builder(target, policy.style_hint, policy.special_tags)
        except Exception as error:  # noqa: BLE001 - the application's own function may raise anything
            state.warn(f"policy_text_builder failed, the built-in text is used: {type(error).__name__}: {error}")
        else:
            return "" if text is None else str(text)
    return policy_text(target, policy.style_hint, policy.special_tags)


def _block(text: str, target: str) -> Block:
    return Block(
        role="system",
        content=text,
        id="language_policy",
        slot="language_policy",
        group=BudgetGroup.SYSTEM,
        metadata=FrozenDict({"source": "language_policy", "target_lang": target}),
        origin=Origin(OriginAsset.ENGINE, "language_policy"),
    )


def with_policy(blocks: tuple[Block, ...], policy: Block) -> tuple[Block, ...]:
    """The blocks with the policy before the user's message; without one, before the user and tool blocks at the end.

    Assistant blocks with tool calls belong to that end: providers refuse a message between a call and its result.
    """
    position = next((index for index, block in enumerate(blocks) if block.slot == "user_message"), None)
    if position is None:
        position = len(blocks)
        while position > 0 and _takes_no_break(blocks[position - 1]):
            position -= 1
    return (*blocks[:position], policy, *blocks[position:])


def _takes_no_break(block: Block) -> bool:
    called = block.role == "assistant" and bool(block.message_metadata.get("tool_calls"))
    return called or block.role in ("user", "tool")


def _boolean(value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    text = str(value).strip().lower()
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise UsageError(f"enabled must be true or false, not {text[:40]!r}")


def _texts(field: str, value: Any) -> tuple[str, ...]:
    items = (value,) if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
        raise UsageError(f"{field} must be a list of texts")
    return tuple(dict.fromkeys(item.strip() for item in items if item.strip()))


LANGUAGE_POLICY: Final = Step("language_policy", _apply, LanguagePolicyConfig)
"""Puts the policy's block into the plan."""


VIBETAVERN_LANGUAGES: Final = ("en-US", "zh-CN", "zh-TW", "ko-KR", "ja-JP", "yue-HK")
"""The languages that VibeTavern itself allows: pass them as ``allowed`` for the same."""

ALIASES: Final[Mapping[str, str]] = {
    "en": "en-US",
    "en-us": "en-US",
    "zh-cn": "zh-CN",
    "zh-hans": "zh-CN",
    "zh-hans-cn": "zh-CN",
    "zh-tw": "zh-TW",
    "zh-hant": "zh-TW",
    "zh-hant-tw": "zh-TW",
    "ko": "ko-KR",
    "ko-kr": "ko-KR",
    "ja": "ja-JP",
    "ja-jp": "ja-JP",
    "yue": "yue-HK",
    "yue-hk": "yue-HK",
}
"""Tags in lower case and the tag they stand for (VibeTavern's table)."""

_LONGEST: Final = 100
_PARTS: Final = re.compile(r"[A-Za-z0-9]{1,8}(?:-[A-Za-z0-9]{1,8})*")


def canonical_tag(tag: str) -> str:
    """The usual spelling of a tag: by the alias table, else as BCP 47 has it. What is not a tag stays as written.

    >>> canonical_tag("zh_hans"), canonical_tag("PT-br"), canonical_tag("plain English")
    ('zh-CN', 'pt-BR', 'plain English')
    """
    stripped = tag.strip()
    return stripped if len(stripped) > _LONGEST else _canonical(stripped)


@lru_cache(maxsize=256)
def _canonical(tag: str) -> str:
    spelled = tag.replace("_", "-")
    if spelled.lower() in ALIASES:
        return ALIASES[spelled.lower()]
    if not _PARTS.fullmatch(spelled):
        return tag
    import langcodes

    try:
        standard: str = langcodes.standardize_tag(spelled)
    except ValueError:
        return tag
    return ALIASES.get(standard.lower(), standard)


def is_language(tag: str) -> bool:
    """Whether a tag is valid: well-formed, and each part of it registered."""
    return len(tag) <= _LONGEST and _PARTS.fullmatch(tag) is not None and _is_registered(tag)


@lru_cache(maxsize=256)
def _is_registered(tag: str) -> bool:
    import langcodes

    return bool(langcodes.tag_is_valid(tag))


_VERBATIM: Final = (
    "Copy unchanged, never translated: code blocks and inline code, Liquid markup ({{ }} and {% %}), HTML and XML tags, "
    "URLs and Markdown links."
)


def policy_text(target_lang: str, style_hint: str | None = None, special_tags: Sequence[str] = ()) -> str:
    """The instructions to the model: language and style, what to copy unchanged, how tools and JSON stay usable."""
    return "\n".join(
        f"{'- ' if index else ''}{line}" for index, line in enumerate(_lines(target_lang, style_hint, special_tags))
    )


def _lines(target: str, style: str | None, tags: Sequence[str]) -> list[str]:
    selected = [f"<{tag}>" for tag in tags if tag.lower() != "lang"]
    manner = f" Style: {style}." if style else ""
    lines = [
        "Language policy:",
        f"Write your replies in {target}, as somebody would whose language it is.{manner}",
        _VERBATIM,
        "Leave tool names, directive types and JSON keys as they are. Where JSON is asked for, send JSON and nothing else.",
        "A turn that calls tools has no prose in it.",
    ]
    if selected:
        lines.append(f"Leave what stands inside these tags as it is: {', '.join(selected)}.")
    if len(selected) < len(tags):
        lines.append(
            f'Mark a passage in another language with <lang code="...">...</lang>: inside it that language, outside {target}.'
        )
    return lines
