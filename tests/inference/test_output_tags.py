"""Output tags: rules and sanitizers in order, code untouched, and time linear in the text."""

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.output_tags import (
    LangSpans,
    OutputTagsConfig,
    Tag,
    TagRule,
    apply_rule,
    attributes,
    language_code,
    sanitize_lang_spans,
    scan,
    transform_tags,
    write_attributes,
)
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
    "tags_of_any_script": (
        "<мысль>x</Мысль>a<思考>b</思考>",
        {"rules": [{"tag": "Мысль", "action": "drop"}, {"tag": "思考", "action": "strip"}]},
        "ab",
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


MARKUP_TEXTS = st.text("<>/ab=\"' \n&b", max_size=60)


@given(MARKUP_TEXTS)
def test_nothing_is_lost(text: str) -> None:
    """The pieces, joined, are the text."""
    assert "".join(piece if isinstance(piece, str) else piece.text for piece in scan(text, {"b"})) == text


FOUND = {
    "open": ("<b>", Tag("<b>", "b")),
    "close": ("</b>", Tag("</b>", "b", closing=True)),
    "spaces": ("<\n / b >", Tag("<\n / b >", "b", closing=True, rest=" ")),
    "capitals": ("<B x=1>", Tag("<B x=1>", "B", rest=" x=1")),
    "empty": ("<b/>", Tag("<b/>", "b", rest="/")),
}


@pytest.mark.parametrize(("text", "tag"), FOUND.values(), ids=FOUND)
def test_tags(text: str, tag: Tag) -> None:
    """A tag has a name, a side, and the rest."""
    assert list(scan(f"x{text}y", {"b"})) == ["x", tag, "y"]


@pytest.mark.parametrize("text", ["<bb>", "< >", "<b", "a < b", "<1b>", "<c>", "<-b>", "b>"])
def test_no_tags(text: str) -> None:
    """Other names, open ends and comparisons are text."""
    assert "".join(str(piece) for piece in scan(text, {"b"}) if not isinstance(piece, Tag)) == text


ATTRIBUTES = {
    "none": ("", []),
    "plain": (" a=1 b=2", [("a", "1"), ("b", "2")]),
    "quoted": (" a=\"x y\" b='z'", [("a", '"x y"'), ("b", "'z'")]),
    "spaces": (" a = 1", [("a", "1")]),
    "bare": (" checked a=1", [("checked", None), ("a", "1")]),
    "quote_not_closed": (' a="x', [("a", None), ("x", None)]),
    "empty_tag": (" a=1/", [("a", "1")]),
}


@pytest.mark.parametrize(("rest", "pairs"), ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_attributes(rest: str, pairs: list[tuple[str, str | None]]) -> None:
    """Names and values in order, values as they are written."""
    assert attributes(Tag(f"<b{rest}>", "b", rest=rest)) == pairs


def test_write_attributes() -> None:
    """Attributes are written with one space before each."""
    assert write_attributes([("a", '"1"'), ("b", None)]) == ' a="1" b'


@given(MARKUP_TEXTS)
def test_attributes_of_anything(rest: str) -> None:
    """Whatever stands in a tag, there are attributes, and writing them does not open or close one."""
    written = write_attributes(attributes(Tag("", "b", rest=rest.replace("<", "").replace(">", ""))))
    assert "<" not in written
    assert ">" not in written


CODES = {
    "ja-jp": "ja-JP",
    "ja_JP": "ja-JP",
    "ZH-hans-cn": "zh-Hans-CN",
    "yue": "yue",
    "es-419": "es-419",
    "sl-rozaj-biske": "sl-rozaj-biske",
    "x-inn": "x-inn",
    " en-US ": "en-US",
    "de-1996": "de-1996",
    "en-": None,
    "": None,
    "not a tag": None,
    "a": None,
    "x": None,
    "1234": None,
    "en--US": None,
    "toolongalanguage": None,
    "ja-toolongsubtag": None,
    "日本": None,
}


@pytest.mark.parametrize(("text", "code"), CODES.items(), ids=repr)
def test_language_code(text: str, code: str | None) -> None:
    """Valid tags get BCP 47's casing; anything else is none."""
    assert language_code(text) == code


def sanitized(text: str, **options: Any) -> str:
    """The text only."""
    return sanitize_lang_spans(text, LangSpans(**options))[0]


MARKUP_CASES = {
    "the_documented_case": (
        'Outside: < lang  code="ja-jp" >ありがとう',
        'Outside: <lang code="ja-JP">ありがとう</lang>',
        {},
    ),
    "invalid_is_stripped": ('A<lang code="not a tag">X</lang>B', "AXB", {}),
    "invalid_is_kept": ('A<lang code="?">X</lang>B', 'A<lang code="?">X</lang>B', {"on_invalid_code": "keep"}),
    "invalid_is_dropped": ('A<lang code="?">X</lang>B', "AB", {"on_invalid_code": "drop"}),
    "missing_code": ("A<lang>X</lang>B", "AXB", {}),
    "valid_in_dropped": (
        '<lang code="?">a<lang code="ja">b</lang>c</lang>d',
        "d",
        {"on_invalid_code": "drop"},
    ),
    "dropped_in_valid": (
        '<lang code="ja">a<lang code="?">b</lang>c</lang>d',
        '<lang code="ja">ac</lang>d',
        {"on_invalid_code": "drop"},
    ),
    "invalid_unchecked": ('<lang code="Klingon!">x</lang>', '<lang code="Klingon!">x</lang>', {"validate_code": False}),
    "missing_unchecked": ("<lang>x</lang>", "x", {"validate_code": False}),
    "other_attributes": ("<LANG id=1 code=ja_jp>x</LANG>", '<lang code="ja-JP" id=1>x</lang>', {}),
    "stray_closer": ("a</lang>b", "ab", {}),
    "nested_not_closed": (
        '<lang code="ja">a<lang code="ko">b',
        '<lang code="ja">a<lang code="ko">b</lang></lang>',
        {},
    ),
    "not_closed_left": ('<lang code="ja">a', '<lang code="ja">a', {"auto_close": False}),
    "empty": ('a<lang code="ja"/>b', 'a<lang code="ja"/>b', {}),
}


@pytest.mark.parametrize(("text", "expected", "options"), MARKUP_CASES.values(), ids=MARKUP_CASES)
def test_spans(text: str, expected: str, options: dict[str, Any]) -> None:
    """Each defect is mended as the options say; applied again, nothing changes."""
    assert sanitized(text, **options) == expected
    assert sanitized(expected, **options) == expected


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("a</lang>", {}, "without an opening one"),
        ("<lang>a</lang>", {}, "without a valid code"),
        ('<lang code="ja">a', {"auto_close": False}, "1 lang tags are not closed"),
    ],
)
def test_markup_warnings(text: str, options: dict[str, Any], words: str) -> None:
    """What was wrong is told."""
    assert words in sanitize_lang_spans(text, LangSpans(**options))[1][0]


@given(
    st.lists(
        st.sampled_from(
            ['<lang code="ja">', "<lang>", '<lang code="?">', "</lang>", "a", "<", ">", '<lang code="ko"/>']
        )
    ),
    st.sampled_from(["strip", "keep", "drop"]),
)
def test_spans_balance(pieces: list[str], on_invalid: Any) -> None:
    """Whatever comes, spans open as often as they close."""
    text = sanitized("".join(pieces), on_invalid_code=on_invalid)
    opened = text.count("<lang") - text.count("/>")
    assert opened == text.count("</lang>")
