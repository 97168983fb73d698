"""Dispatch: which macro a span is by its first word, and that a macro that fails leaves nothing but a note."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.macros.smart.builtin_macros import BUILTINS
from innkeeper.macros.smart.dispatch import handler_of, longest_name, macro_name, text_of
from innkeeper.macros.smart.environment import SmartEnvironment
from innkeeper.macros.smart.options import MacroOptions
from innkeeper.macros.smart.pieces import Inner, inner_of


def environment(variables: dict[str, Any] | None = None, **macros: Any) -> SmartEnvironment:
    """An environment with these variables and macros of the caller's."""
    return SmartEnvironment.of(variables or {}, None, MacroOptions(macros=macros))


def inner(text: str) -> Inner:
    """What stands between two marks."""
    return inner_of([text])


def expanded(env: SmartEnvironment, word: str, text: str, follows: str = ":") -> str:
    """The text of the macro that begins with this word."""
    handler = handler_of(word, follows, env)
    assert handler is not None
    return handler(env, inner(text), lambda: None)


@dataclass(frozen=True)
class Case:
    """A first word, what follows it, and the macro it is (``None``: it stays text)."""

    word: str
    follows: str
    name: str | None


CASES = (
    Case("//", "?", "//"),
    Case("//comment", "", "//"),
    Case("python", ":", "python"),
    Case("PYTHON", ":", "python"),
    Case("python", " :", None),
    Case("setvar", "", "setvar"),
    Case("SetVarious", "?", "setvar"),
    Case("getvar", ":", "getvar"),
    Case("own", ":", "own"),
    Case("OWN", "", "own"),
    Case("own", "?", None),
    Case("unknown", ":", None),
    Case("", ":", None),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.word}{case.follows}")
def test_which_macro(case: Case) -> None:
    """A macro is known by its first word in any case of letters; comments and variables by how the word begins."""
    handler = handler_of(case.word, case.follows, environment(own=lambda *_: "x"))
    assert (handler is None) is (case.name is None)
    assert case.name is None or macro_name(case.word) == case.name


def test_every_builtin_has_a_handler() -> None:
    """Each built-in macro is found by its name, and none is longer than what is looked at."""
    env = environment()
    assert all(handler_of(name, ":", env) is not None for name in BUILTINS)
    assert longest_name(env) == max(map(len, BUILTINS))
    own: dict[str, Any] = {"x" * 99: str}
    assert longest_name(SmartEnvironment.of({}, None, MacroOptions(macros=own))) == 99


@dataclass(frozen=True)
class Variable:
    """A span that sets a variable, and the variables afterwards."""

    text: str
    table: dict[str, Any]


VARIABLES = (
    Variable("setvar::a::b", {"a": "b"}),
    Variable("setvar:a:b", {"a": "b"}),
    Variable("setvar::a::b::c", {"a": "b::c"}),
    Variable("setvar a:b", {"a": "b"}),
    Variable("setvar:: a ::b", {"a": "b"}),
    Variable("setvar::a", {"a": ""}),
)


@pytest.mark.parametrize("case", VARIABLES, ids=lambda case: case.text)
def test_setting(case: Variable) -> None:
    """A variable is set with one colon or two, leaves nothing, and is read back."""
    env = environment()
    assert expanded(env, "setvar", case.text) == ""
    assert env.table == case.table
    assert [expanded(env, "getvar", f"getvar::{name}") for name in case.table] == list(case.table.values())


@pytest.mark.parametrize(
    ("value", "text"), [("a", "a"), (None, ""), (1.0, "1.0"), ([1, "a"], "[1, 'a']"), (True, "True")]
)
def test_texts(value: Any, text: str) -> None:
    """A value becomes text as Python writes it, and nothing for ``None``; so does what a caller's macro gives."""
    assert text_of(value) == text
    assert expanded(environment(own=lambda *_: value), "own", "own") == text


def test_a_macro_of_the_callers() -> None:
    """It is told its name, what stands behind the first colon, and the environment; it may give a new table."""
    seen = []

    def own(name: str, argument: str, env: SmartEnvironment) -> Any:
        seen.append((name, argument, dict(env.table)))
        return {"text": 5, "variables": {"b": 2}}

    env = environment({"a": 1}, own=own)
    assert expanded(env, "Own", "Own: x:y ") == "5"
    assert seen == [("own", " x:y", {"a": 1})]
    assert env.table == {"b": 2}


def test_a_macro_that_fails_leaves_nothing() -> None:
    """A failure of a caller's macro is a report without its message, and the text goes on."""

    def failing(*_: Any) -> str:
        raise RuntimeError("a secret")

    env = environment(own=failing)
    assert expanded(env, "own", "own") == ""
    assert [note.message for note in env.notes] == ["the macro 'own' failed: RuntimeError"]
