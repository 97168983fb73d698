"""Substitution: plain texts stay, and texts with no other macros than names become what the engine makes of them."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.macros.engine.environment import MacroEnvironment
from innkeeper.macros.engine.errors import MAX_EXPANSIONS
from innkeeper.macros.engine.ranges import MacroRange
from innkeeper.macros.engine.spending import Spent
from innkeeper.macros.silly import is_plain, substitute
from innkeeper.macros.silly.modern import PACK
from innkeeper.macros.silly.substitution import with_names, within_limits

PARTS = (
    "{{user}}",
    "{{char}}",
    "{{User}}",
    "{{user }}",
    "{{user::x}}",
    "{",
    "}",
    "}}",
    "{{",
    "\\{",
    "<user>",
    "<",
    " a ",
    "\n",
)


@given(
    st.lists(st.sampled_from(PARTS), max_size=8).map("".join),
    st.sampled_from(["Ann", "", "{{char}}", "a\\{b", "{{trim}}"]),
)
def test_names_are_filled_as_by_the_engine(text: str, user: str) -> None:
    """Text, ranges and what is spent are those of the engine, which a trace asks for."""
    quick, slow = (MacroEnvironment(user=user, char="Bob") for _ in range(2))
    ranges: tuple[list[MacroRange], list[MacroRange]] = ([], [])
    made = substitute(text, quick, ranges=ranges[0])
    assert made == substitute(text, slow, ranges=ranges[1], trace=lambda *_args: None)
    assert ranges[0] == ranges[1]
    assert quick.spent == slow.spent


@pytest.mark.parametrize("text", ["{{user}}s {{if}}", "a } {{char}}", "\\{{user}}", "{{ user }}"])
def test_other_texts_are_for_the_engine(text: str) -> None:
    """Nothing is filled in beside other macros, braces or escapes."""
    assert with_names(text, "Ann", "Bob") is None


def test_limits_are_for_the_engine() -> None:
    """Where the share of a build is used up, the engine decides what stays as it is written."""
    env = MacroEnvironment(user="Ann", spent=Spent(expansions=MAX_EXPANSIONS))
    named = with_names("{{user}}", "Ann", "")
    assert named is not None
    assert not within_limits(named, env.spent)
    assert substitute("{{user}}", env) == "{{user}}"


@given(
    st.lists(
        st.sampled_from(("<b>", "<USER", "user>", "<bot>", "<Char>", "\\", "\\n", "{", "}", " a ")), max_size=8
    ).map("".join),
    st.sampled_from(["new", "legacy"]),
)
def test_plain_texts_stay(text: str, pack: Literal["new", "legacy"]) -> None:
    """A text without macros is what both engines make of it, tags of HTML and backslashes included."""
    made = substitute(text, MacroEnvironment(user="Ann", char="Bob"), pack=pack, trace=lambda *_args: None)
    assert made == text or not is_plain(text)
    engine = PACK.after(PACK.before(text))
    assert engine == text or not is_plain(text)
