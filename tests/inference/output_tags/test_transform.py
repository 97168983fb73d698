"""Output tags: rules and sanitizers in order, code untouched, and time linear in the text."""

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.output_tags import OutputTagsConfig, transform_tags
from innkeeper.inference.output_tags.transform import TagRule, apply_rule
from innkeeper.prompt import ConfigError, FrozenDict

LANG = {"enabled": True, "sanitizers": {"lang_spans": {"enabled": True}}}
RENAME = {"tag": "lang", "action": "rename", "to": "span", "attrs": {"code": "data-lang"}}


def transformed(text: str, **values: Any) -> str:
    """The text under a config."""
    return transform_tags(text, OutputTagsConfig.of({"enabled": True, **values})).text


CASES = {
    "sanitizer_then_rule": (
        '< lang code="ja-jp">x',
        {**LANG, "rules": [RENAME]},
        '<span data-lang="ja-JP">x</span>',
    ),
    "rules_in_order": (
        "<a>x</a>",
        {"rules": [{"tag": "a", "action": "rename", "to": "b"}, {"tag": "b", "action": "strip"}]},
        "x",
    ),
    "inline_code": ("`<a>` <a>x</a>", {"rules": [{"tag": "a", "action": "strip"}]}, "`<a>` x"),
    "fence": ("```\n<a>\n```\n<a>x</a>", {"rules": [{"tag": "a", "action": "drop"}]}, "```\n<a>\n```\n"),
    "liquid": ("{{ '<a>' }}<a>x", {"rules": [{"tag": "a", "action": "strip"}]}, "{{ '<a>' }}x"),
    "escape_as_entity": ('\\<lang code="ja">x\\</lang>', LANG, '&lt;lang code="ja">x&lt;/lang>'),
    "escape_literal": (
        "\\<a>x",
        {"rules": [{"tag": "a", "action": "strip"}], "escape_hatch": {"enabled": True, "mode": "literal"}},
        "<a>x",
    ),
    "escape_kept": (
        "\\<a>x",
        {"rules": [{"tag": "a", "action": "strip"}], "escape_hatch": {"enabled": True, "mode": "keep_backslash"}},
        "\\<a>x",
    ),
    "no_hatch": ("\\<a>x", {"rules": [{"tag": "a", "action": "strip"}], "escape_hatch": {}}, "\\x"),
    "backslashes_in_code": (
        "`\\1 \\\\ \\g<0>` <a>",
        {"rules": [{"tag": "a", "action": "strip"}]},
        "`\\1 \\\\ \\g<0>` ",
    ),
    "not_enabled": ("<a>x</a>", {"enabled": False, "rules": [{"tag": "a", "action": "strip"}]}, "<a>x</a>"),
    "nothing_to_do": ("\\<a>", {}, "\\<a>"),
    "sanitizer_not_enabled": ("<lang>x", {"sanitizers": {"lang_spans": {}}}, "<lang>x"),
}


@pytest.mark.parametrize(("text", "values", "expected"), CASES.values(), ids=CASES)
def test_transform(text: str, values: dict[str, Any], expected: str) -> None:
    """Each part does its work in its order."""
    assert transformed(text, **values) == expected


def test_warnings() -> None:
    """Unknown and failing sanitizers are warnings; they go to the warner, and are in the result."""
    heard: list[str] = []
    sanitizers = {"nobody": {"enabled": True}, "lang_spans": {"enabled": True, "auto_clsoe": True}, "off": {}}
    config = OutputTagsConfig.of({"enabled": True, "sanitizers": sanitizers, "warner": heard.append})
    result = transform_tags("<lang>x", config)
    assert result.text == "<lang>x"
    assert list(result.warnings) == heard
    assert [word in warning for word, warning in zip(("nobody", "auto_clsoe"), heard, strict=True)] == [True, True]


@pytest.mark.parametrize("warn", [False, True])
def test_warnings_in_the_log(warn: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Without a warner they are logged where that is wanted."""
    caplog.set_level(logging.WARNING)
    transform_tags("</lang>", OutputTagsConfig.of({**LANG, "warn": warn}))
    assert bool(caplog.records) is warn


def test_sanitizers_of_guests() -> None:
    """Another registry takes the place of the built-in one."""
    config = OutputTagsConfig.of({"enabled": True, "sanitizers": {"shout": {"enabled": True, "mark": "!"}}})
    assert transform_tags("a", config, {"shout": lambda text, o: (text.upper() + o["mark"], [])}).text == "A!"


WRONG = {
    "unknown_key": {"rule": []},
    "unknown_action": {"rules": [{"tag": "a", "action": "burn"}]},
    "unknown_mode": {"escape_hatch": {"mode": "html"}},
    "rename_without_to": {"rules": [{"tag": "a", "action": "rename"}]},
    "blank_tag": {"rules": [{"tag": " ", "action": "strip"}]},
    "sanitizer_no_mapping": {"sanitizers": {"lang_spans": True}},
    "warner_not_callable": {"warner": "print"},
    "no_mapping": [1],
}


@pytest.mark.parametrize("values", WRONG.values(), ids=WRONG)
def test_wrong_configs(values: Any) -> None:
    """Every mistake is found when the config is read, with its place."""
    with pytest.raises(ConfigError) as caught:
        OutputTagsConfig.of(values)
    assert caught.value.where is not None
    assert caught.value.where.path == "output_tags"


def test_config_of_itself() -> None:
    """A config is read as itself, nothing as the default."""
    config = OutputTagsConfig.of(LANG)
    assert OutputTagsConfig.of(config) is config  # type: ignore[arg-type]
    assert OutputTagsConfig.of(None) == OutputTagsConfig()


@given(st.text("<>/lang codeab=\"'`{}%\\\n-?\0", max_size=80))
def test_any_text(text: str) -> None:
    """Whatever the text, there is a text; placeholders never show."""
    result = transformed(text, rules=[RENAME, {"tag": "b", "action": "drop"}], **LANG | {"enabled": True})
    assert ("\0v" in result) <= ("\0v" in text)


@given(st.lists(st.sampled_from(["`<a>`", "```\n<a>\n```\n", "{{ <a> }}", "\\<a>", "<a>x</a>", "y"]), max_size=8))
def test_zones_survive(pieces: list[str]) -> None:
    """Code and Liquid come through to the letter, whatever is around them."""
    result = transformed(" ".join(pieces), rules=[{"tag": "a", "action": "strip"}])
    for zone in ("`<a>`", "{{ <a> }}"):
        assert result.count(zone) >= pieces.count(zone) or "```\n<a>\n```\n" in pieces


STRIP = TagRule("think", "strip")
DROP = TagRule("think", "drop")
RENAMING = TagRule("Lang", "rename", "span", FrozenDict(code="data-lang"))

RULES = {
    "strip": (STRIP, "a<think x=1>b</think>c", "abc"),
    "strip_stray": (STRIP, "a</think>b<think>c", "abc"),
    "strip_any_case": (STRIP, "<THINK>a</Think >", "a"),
    "strip_others_stay": (STRIP, "<thinking>a</thinking>", "<thinking>a</thinking>"),
    "strip_empty": (STRIP, "a<think/>b", "ab"),
    "drop": (DROP, "a<think>b</think>c", "ac"),
    "drop_nested": (DROP, "a<think>b<think>c</think>d</think>e", "ae"),
    "drop_not_closed": (DROP, "a<think>b", "a"),
    "drop_inner_not_closed": (DROP, "a<think>b<think>c</think>d", "a"),
    "drop_stray_closer": (DROP, "a</think>b", "ab"),
    "drop_empty": (DROP, "a<think/>b", "ab"),
    "drop_two": (DROP, "<think>a</think>b<think>c</think>", "b"),
    "rename": (RENAMING, '<lang code="ja-JP">x</lang>', '<span data-lang="ja-JP">x</span>'),
    "rename_keeps_attributes": (RENAMING, "<lang id=1 CODE='x'>y</lang>", "<span id=1 data-lang='x'>y</span>"),
    "rename_nested": (
        RENAMING,
        "<lang code=a>x<lang code=b>y</lang></lang>",
        "<span data-lang=a>x<span data-lang=b>y</span></span>",
    ),
    "rename_missing_closers": (RENAMING, "<lang>x<lang>y", "<span>x<span>y</span></span>"),
    "rename_stray_closer": (RENAMING, "a</lang>b", "ab"),
    "rename_empty": (RENAMING, "<lang code=a/>x", "<span data-lang=a/>x"),
    "nothing_to_do": (RENAMING, "plain", "plain"),
}


@pytest.mark.parametrize(("rule", "text", "expected"), RULES.values(), ids=RULES)
def test_rule(rule: TagRule, text: str, expected: str) -> None:
    """Each action does what it says."""
    assert apply_rule(text, rule) == expected


TEXTS = st.lists(
    st.sampled_from(["<think>", "</think>", "<think/>", "a", "<", ">", "<lang code=x>", "</lang>", " "])
).map("".join)


@given(TEXTS)
def test_dropping_leaves_less_than_stripping(text: str) -> None:
    """Dropping leaves at most what stripping leaves, and without tags of that name both leave everything."""
    stripped, dropped = apply_rule(text, STRIP), apply_rule(text, DROP)
    assert len(dropped) <= len(stripped) <= len(text)
    assert "think" in text or dropped == stripped == text


@given(TEXTS)
def test_rename_balances(text: str) -> None:
    """Renamed tags open as often as they close."""
    renamed = apply_rule(text, RENAMING)
    assert renamed.count("<span") == renamed.count("</span>")
