"""The built-in macros, the caller's own, and what they leave when they fail."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from innkeeper.macros.smart import SMARTTAVERN, SmartEnvironment, expand
from innkeeper.macros.smart.dispatch import BUILTINS, handler_of, longest_name, macro_name, text_of
from innkeeper.macros.smart.environment import SmartEnvironment as EnvironmentSmartEnvironment
from innkeeper.macros.smart.options import MAX_FORMAT_CHARS, MacroOptions
from innkeeper.macros.smart.pieces import Inner, inner_of
from tests.macros.smart.smart_texts import environment as smart_texts_environment
from tests.macros.smart.smart_texts import expanded as smart_texts_expanded

NOW = datetime(2024, 5, 17, 13, 45, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{{newline}}|{{trim:x}}|{{enable}}|{{timediff:a::b}}", "\n||True|"),
        ("{{upper::a}} {{length:a b }} {{reverse: ab}}", ":A 3 ba "),
        (
            "{{add:1,2}} {{sub:x,1}} {{mul:2}} {{div:1,0}} {{div:3::2}} {{max:1,2}} {{min:1,2}}",
            "3.0 -1.0 0.0 0.0 1.5 2.0 1.0",
        ),
        (
            "{{time}} {{isodate}} {{weekday}} {{time_UTC+8}} {{time_utcx}}",
            "13:45:30 2024-05-17 星期五 21:45:30 13:45:30",
        ),
        ("{{datetimeformat: %H}}|{{datetimeformat:}}", " 13|2024-05-17 13:45:30"),
        ("{{setglobalvar:a::1}}{{incvar:a}}{{incglobalvar:a}}{{decglobalvar:a}}{{getglobalvar: a }}", "2.0"),
        ("{{addglobalvar:a, 5, 6}}{{getvar:a}}", "[UndefinedVar:a]5"),
        ("{{setglobalvar:a}}[{{getvar:a}}]", "[]"),
        ("{{setglobalvar: a : b::c}}[{{getvar:a : b}}]{{setglobalvar:d: x,y}}[{{getvar:d}}]", "[c][ x,y]"),
        ("{{incvar: a,1 }}{{getvar:a,1}}{{decvar::b::}}{{getvar::b::}}{{getvar:::b::}}", "1.0[UndefinedVar:b::]-1.0"),
        ("{{user : x}}|{{LastMessage}}", "Ann|[UndefinedVar:chat_last_message]"),
        ("{{// {{upper:a}} }}|{{setvarfoo:1}}{{getvarfoo}}|{{setvar:b}}[{{getvar:b}}]", "|1|[]"),
        ("{{python :1}}{{python}}{{:x}}", "{{python :1}}{{python}}{{:x}}"),
        ("{{random}}|{{pick:a}}|{{roll:1d1x}}", "|a|1"),
    ],
    ids=lambda value: value[:40],
)
def test_shows(text: str, shown: str) -> None:
    """Each macro gives what SmartTavern's gives."""
    assert smart_texts_expanded(text, {"user_name": "Ann"}, now=NOW) == shown


def test_keywords_without_a_history() -> None:
    """None is found; where the original is kept, the placeholder is searched, as its users know it."""
    assert smart_texts_expanded("{{keywords:chat}}") == "false"
    assert smart_texts_expanded("{{keywords:chat}}", compat=SMARTTAVERN) == "true"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{datetimeformat:" + "x" * (MAX_FORMAT_CHARS + 1) + "}}", "MAX_FORMAT_CHARS"),
        ("{{getvar:" + "x" * 5_000 + "}}", "MAX_PATH_CHARS"),
        ("{{getvar:huge}}", "limit"),
        ("{{incvar:l[-1]}}", "has no item -1"),
    ],
    ids=["long format", "long path", "huge number", "index before the list"],
)
def test_a_failure_leaves_nothing_and_a_note(text: str, told: str) -> None:
    """The text around it comes out."""
    env = smart_texts_environment({"huge": 10**5_000, "l": []})
    assert expand(f"a{text}b", env) == "ab"
    (note,) = env.notes
    assert told in note.message
    assert note.where is not None
    assert note.where.column == 2


def test_macros_of_the_caller() -> None:
    """They get name, what follows the colon and the environment; built-in ones win; case does not count."""
    macros: dict[str, Any] = {
        "Hi": lambda name, params, env: [name, params, env.read("x")],
        "upper": lambda *_: "mine",
        "nothing": lambda *_: None,
        "table": lambda *_: {"text": "T", "variables": {"x": 2}},
        "text": lambda *_: {"text": "T"},
    }
    text = "{{HI: a}}|{{upper:a}}|{{nothing}}|{{table}}{{getvar:x}}|{{text:}}"
    assert smart_texts_expanded(text, {"x": 1}, macros=macros) == "['hi', ' a', 1]|A||T2|T"


def test_a_macro_of_the_caller_that_raises() -> None:
    """It leaves nothing, and a note without what the error says."""
    secret = "inner"

    def broken(_name: str, _params: str, _env: SmartEnvironment) -> None:
        raise KeyError(secret)

    env = smart_texts_environment(macros={"broken": broken})
    assert expand("a{{broken}}b", env) == "ab"
    assert [note.message for note in env.notes] == ["the macro 'broken' failed: KeyError"]


def environment(variables: dict[str, Any] | None = None, **macros: Any) -> EnvironmentSmartEnvironment:
    """An environment with these variables and macros of the caller's."""
    return EnvironmentSmartEnvironment.of(variables or {}, None, MacroOptions(macros=macros))


def inner(text: str) -> Inner:
    """What stands between two marks."""
    return inner_of([text])


def expanded(env: EnvironmentSmartEnvironment, word: str, text: str, follows: str = ":") -> str:
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
    assert longest_name(EnvironmentSmartEnvironment.of({}, None, MacroOptions(macros=own))) == 99


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

    def own(name: str, argument: str, env: EnvironmentSmartEnvironment) -> Any:
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
