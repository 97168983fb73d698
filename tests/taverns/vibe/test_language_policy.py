"""The step *language policy*: configuration, text, place."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import Block, BudgetGroup, ConfigError, StrictModeError
from innkeeper.prompt.errors import PipelineError
from innkeeper.taverns import vibe
from innkeeper.taverns.vibe.language_policy import (
    ALIASES,
    LANGUAGE_POLICY,
    VIBETAVERN_LANGUAGES,
    canonical_tag,
    is_language,
    policy_text,
    with_policy,
)
from innkeeper.text.verbatim import ALL_ZONES

JAPANESE = {"enabled": True, "target_lang": "ja"}


def _policy(**policy: Any) -> str | None:
    """The policy's text in a build with this configuration."""
    plan = vibe.build(message="a", context={"language_policy": {**JAPANESE, **policy}})
    return next((block.content for block in plan.blocks if block.slot == "language_policy"), None)


@pytest.mark.parametrize(
    ("enabled", "there"),
    [
        (True, True),
        (False, False),
        ("false", False),
        ("False", False),
        ("true", True),
        ("yes", True),
        ("off", False),
        (1, True),
        (0, False),
        (None, False),
        ("", False),
    ],
)
def test_enabled_is_a_boolean(enabled: Any, there: bool) -> None:
    """The text of a boolean is read as one: ``"false"`` is false."""
    assert (_policy(enabled=enabled) is not None) is there


def test_off_by_default() -> None:
    """Without a configuration, or with only a language, there is no policy."""
    for context in ({}, {"language_policy": None}, {"language_policy": {"target_lang": "ja"}}):
        assert [block.slot for block in vibe.build(message="a", context=context).blocks] == ["user_message"]


def test_block() -> None:
    """The block is a system block with its language, and is reported as a stat."""
    stats: dict[str, Any] = {}

    def instrumenter(event: str, /, **payload: Any) -> None:
        if event == "stat":
            stats[payload["key"]] = (payload["step"], payload["value"])

    plan = vibe.build(message="a", context={"language_policy": JAPANESE}, instrumenter=instrumenter)
    block = plan.blocks[0]
    assert (block.role, block.slot, block.group) == ("system", "language_policy", BudgetGroup.SYSTEM)
    assert block.metadata == {"source": "language_policy", "target_lang": "ja-JP"}
    assert stats["enabled"] == ("language_policy", True)


@dataclass(frozen=True)
class Layer:
    id: str
    style: str | None
    context: str | None = None
    options: str | None = None
    override: str | None = None
    static: str | None = None


LAYERS = [
    Layer("none", None),
    Layer("context", "c", context="c"),
    Layer("static over context", "p", context="c", static="p"),
    Layer("options over static", "o", context="c", static="p", options="o"),
    Layer("override over all", "m", context="c", static="p", options="o", override="m"),
]


@pytest.mark.parametrize("case", LAYERS, ids=lambda case: case.id)
def test_layers(case: Layer) -> None:
    """The context's section is the base; step options, then the context's module configs, are merged over it."""

    def hint(value: str | None) -> dict[str, Any]:
        return {} if value is None else {"style_hint": value}

    context = {
        "language_policy": {**JAPANESE, **hint(case.context)},
        "module_configs": {"LanguagePolicy": hint(case.override)},
    }
    builder = vibe.builder(message="a", context=context, step_options={"language_policy": hint(case.options)})
    plan = builder.configure_step("language_policy", **hint(case.static)).build()
    assert (f"Style: {case.style}." in plan.blocks[0].content) is (case.style is not None)


@pytest.mark.parametrize(
    ("tag", "canonical"),
    [
        ("zh_Hans", "zh-CN"),
        ("zh-hant-TW", "zh-TW"),
        ("EN", "en-US"),
        ("yue", "yue-HK"),
        ("ko", "ko-KR"),
        (" ja-jp ", "ja-JP"),
        ("fr", "fr"),
        ("PT-br", "pt-BR"),
        ("zh", "zh"),
        ("en-GB", "en-GB"),
        ("sr-latn", "sr-Latn"),
        ("tlh", "tlh"),
    ],
)
def test_any_language(tag: str, canonical: str) -> None:
    """Every language with a valid tag is allowed, under its canonical tag."""
    plan = vibe.build(message="a", context={"language_policy": {"enabled": True, "target_lang": tag}})
    assert plan.blocks[0].metadata["target_lang"] == canonical
    assert canonical in plan.blocks[0].content
    assert plan.warnings == ()


@pytest.mark.parametrize(
    "policy",
    [
        {"target_lang": "plain English"},
        {"target_lang": "xx-YY"},
        {"target_lang": "fr", "allowed": ["en", "ja"]},
        {"target_lang": "fr", "allowed": VIBETAVERN_LANGUAGES},
        {"target_lang": "ja", "allowed": []},
        {"target_lang": "a" * 5000},
    ],
    ids=lambda policy: str(policy)[:40],
)
def test_languages_outside_the_allowlist(policy: dict[str, Any]) -> None:
    """A language that is not allowed is a warning and no policy; strictly it is an error."""
    context = {"language_policy": {"enabled": True, **policy}}
    plan = vibe.build(message="a", context=context)
    assert [block.slot for block in plan.blocks] == ["user_message"]
    assert [warning.step for warning in plan.warnings] == ["language_policy"]
    with pytest.raises(PipelineError) as caught:
        vibe.build(message="a", context=context, strict=True)
    assert isinstance(caught.value.__cause__, StrictModeError)


def test_the_allowlist_is_canonical() -> None:
    """The allowlist may be spelled any way."""
    assert _policy(target_lang="zh-CN", allowed=["zh_hans"]) is not None


@pytest.mark.parametrize("target", [None, "", "  "])
def test_enabled_without_a_language(target: str | None) -> None:
    """A policy that is on and names no language is an error."""
    with pytest.raises(PipelineError, match="target_lang"):
        vibe.build(message="a", context={"language_policy": {"enabled": True, "target_lang": target}})


WRONG: list[dict[str, Any]] = [
    {"enabled": "maybe"},
    {"langauge": "ja"},
    {"target_lang": 5},
    {"style_hint": ["x"]},
    {"special_tags": 5},
    {"special_tags": [5]},
    {"policy_text_builder": "text"},
]


@pytest.mark.parametrize("policy", WRONG, ids=str)
def test_wrong_configuration_fails_first(policy: dict[str, Any]) -> None:
    """A key that is unknown or a value that does not fit fails before a block is made, wherever it is configured."""
    stats: list[str] = []

    def instrumenter(event: str, /, **payload: Any) -> None:
        if event == "stat":
            stats.append(event)

    with pytest.raises(ConfigError, match="language_policy"):
        vibe.build(message="a", step_options={"language_policy": policy}, instrumenter=instrumenter)
    with pytest.raises(ConfigError, match="language_policy"):
        vibe.build(message="a", context={"module_configs": {"language_policy": policy}}, instrumenter=instrumenter)
    with pytest.raises(PipelineError) as caught:
        vibe.build(message="a", context={"language_policy": policy}, instrumenter=instrumenter)
    assert isinstance(caught.value.__cause__, ConfigError)
    assert stats == []


def test_context_section_must_be_a_mapping() -> None:
    """The section is a mapping or nothing."""
    with pytest.raises(PipelineError, match="must be a mapping"):
        vibe.build(context={"language_policy": "ja"})


def test_special_tags() -> None:
    """Tags are stripped and counted once; ``lang`` among them, in any case, brings the rule of mixed languages."""
    text = _policy(special_tags=[" think ", "think", "", "LANG"])
    assert text is not None
    assert text.count("<think>") == 1
    assert "<LANG>" not in text
    assert '<lang code="...">' in text
    assert "<lang" not in (_policy(special_tags=["think"]) or "")


def test_policy_text_builder() -> None:
    """A builder gets language, style and tags; blank means no policy; a failure is a warning and the built-in text."""
    calls: list[Any] = []

    def mine(*args: Any) -> str:
        calls.append(args)
        return "mine"

    assert _policy(policy_text_builder=mine, style_hint=" casual ", special_tags=["lang"]) == "mine"
    assert calls == [("ja-JP", "casual", ("lang",))]
    assert _policy(policy_text_builder=lambda *_: " ") is None
    assert _policy(policy_text_builder=lambda *_: None) is None
    policy = {**JAPANESE, "policy_text_builder": lambda: "too few arguments"}
    plan = vibe.build(message="a", context={"language_policy": policy})
    assert plan.blocks[0].content.startswith("Language policy:")
    assert ["policy_text_builder" in note.message for note in plan.warnings] == [True]


@dataclass(frozen=True)
class Place:
    id: str
    slots: list[str]
    inputs: dict[str, Any] = field(default_factory=dict)


TOOL = {"role": "tool", "content": "1", "tool_call_id": "c"}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "c"}]}
USER = {"role": "user", "content": "u"}
SAID = {"role": "assistant", "content": "a"}

PLACES = [
    Place("nothing at all", ["policy"]),
    Place(
        "before the message",
        ["history", "history", "policy", "user_message"],
        {"history": [SAID, USER], "message": "m"},
    ),
    Place(
        "after post-history",
        ["history", "post_history_instructions", "policy", "user_message"],
        {"history": [SAID], "message": "m", "meta": {"post_history_template": "P"}},
    ),
    Place("before the user's turn", ["history", "policy", "history"], {"history": [SAID, USER]}),
    Place(
        "before a run of user and tool turns",
        ["history", "policy", "history", "history"],
        {"history": [SAID, TOOL, USER]},
    ),
    Place(
        "not between a call and its result",
        ["history", "policy", *["history"] * 3],
        {"history": [SAID, USER, CALL, TOOL]},
    ),
    Place("at the end", ["history", "history", "policy"], {"history": [USER, SAID]}),
]


@pytest.mark.parametrize("case", PLACES, ids=lambda case: case.id)
def test_place(case: Place) -> None:
    """Before the user's message; else before the user and tool turns at the end; else last."""
    plan = vibe.build(context={"language_policy": JAPANESE}, **case.inputs)
    assert [(block.slot or "").replace("language_policy", "policy") for block in plan.blocks] == case.slots


def test_with_policy_before_the_first_message_slot() -> None:
    """The first block of the slot counts."""
    blocks = tuple(Block(role="user", content=name, slot="user_message") for name in "ab")
    assert [block.content for block in with_policy(blocks, Block(role="system", content="p"))] == ["p", "a", "b"]


def test_without_a_plan() -> None:
    """Where no step made a plan, there is nothing to put a policy into."""
    assert LANGUAGE_POLICY.name == "language_policy"
    builder = vibe.builder(context={"language_policy": JAPANESE}).remove_step("plan_assembly")
    with pytest.raises(Exception, match="made no plan"):
        builder.build()


@pytest.mark.parametrize(("alias", "tag"), ALIASES.items(), ids=list(ALIASES))
def test_aliases(alias: str, tag: str) -> None:
    """Each alias, however it is written, stands for one of VibeTavern's languages."""
    assert tag in VIBETAVERN_LANGUAGES
    for spelling in (alias, alias.upper(), f" {alias.replace('-', '_')} "):
        assert canonical_tag(spelling) == tag


@given(st.one_of(st.text(max_size=40), st.from_regex(r"[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8}){0,3}", fullmatch=True)))
def test_any_text(text: str) -> None:
    """Any text has a canonical form, which is its own; asking whether it is a language never fails."""
    tag = canonical_tag(text)
    assert canonical_tag(tag) == tag
    assert is_language(tag) in {True, False}


@pytest.mark.parametrize("tag", ["", "x", "english", "en--US", "a" * 200, "zh_CN", "en-US\n", "-en"])
def test_no_languages(tag: str) -> None:
    """What is no tag is no language."""
    assert not is_language(tag)


def test_short_lines() -> None:
    """A heading and a few short lines, each a bullet."""
    lines = policy_text("ja-JP", "casual", ("think", "lang")).splitlines()
    assert 5 <= len(lines) <= 8
    assert all(line.startswith("- ") for line in lines[1:])
    assert max(map(len, lines)) < 200


def test_what_it_says() -> None:
    """Language, style, verbatim zones, machine-read text, tool turns, tags."""
    text = policy_text("ja-JP", "casual", ("think", "lang"))
    for word in (
        "ja-JP",
        "casual",
        "code",
        "Liquid",
        "HTML",
        "XML",
        "URLs",
        "Markdown links",
        "tool names",
        "JSON keys",
        "<think>",
        "<lang code=",
    ):
        assert word in text
    assert len(ALL_ZONES) == 6  # a new zone must be named in the text


def test_without_style_and_tags() -> None:
    """What is not wanted is not said."""
    text = policy_text("fr")
    assert "Style" not in text
    assert "tags as it is" not in text
    assert "<lang" not in text
