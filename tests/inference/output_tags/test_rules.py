"""Tag rules: strip, drop and rename, with nesting, stray and missing closers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.output_tags.transform import TagRule, apply_rule
from innkeeper.prompt import FrozenDict

STRIP = TagRule("think", "strip")
DROP = TagRule("think", "drop")
RENAME = TagRule("Lang", "rename", "span", FrozenDict(code="data-lang"))

CASES = {
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
    "rename": (RENAME, '<lang code="ja-JP">x</lang>', '<span data-lang="ja-JP">x</span>'),
    "rename_keeps_attributes": (RENAME, "<lang id=1 CODE='x'>y</lang>", "<span id=1 data-lang='x'>y</span>"),
    "rename_nested": (
        RENAME,
        "<lang code=a>x<lang code=b>y</lang></lang>",
        "<span data-lang=a>x<span data-lang=b>y</span></span>",
    ),
    "rename_missing_closers": (RENAME, "<lang>x<lang>y", "<span>x<span>y</span></span>"),
    "rename_stray_closer": (RENAME, "a</lang>b", "ab"),
    "rename_empty": (RENAME, "<lang code=a/>x", "<span data-lang=a/>x"),
    "nothing_to_do": (RENAME, "plain", "plain"),
}


@pytest.mark.parametrize(("rule", "text", "expected"), CASES.values(), ids=CASES)
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
    renamed = apply_rule(text, RENAME)
    assert renamed.count("<span") == renamed.count("</span>")
