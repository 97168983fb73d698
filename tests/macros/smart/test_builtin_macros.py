"""The built-in macros, the caller's own, and what they leave when they fail."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from innkeeper.macros.smart import SMARTTAVERN, SmartEnvironment, expand
from innkeeper.macros.smart.limits import MAX_FORMAT_CHARS
from tests.macros.smart.smart_texts import environment, expanded

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
    assert expanded(text, {"user_name": "Ann"}, now=NOW) == shown


def test_keywords_without_a_history() -> None:
    """None is found; where the original is kept, the placeholder is searched, as its users know it."""
    assert expanded("{{keywords:chat}}") == "false"
    assert expanded("{{keywords:chat}}", compat=SMARTTAVERN) == "true"


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
    env = environment({"huge": 10**5_000, "l": []})
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
    assert expanded(text, {"x": 1}, macros=macros) == "['hi', ' a', 1]|A||T2|T"


def test_a_macro_of_the_caller_that_raises() -> None:
    """It leaves nothing, and a note without what the error says."""
    secret = "inner"

    def broken(_name: str, _params: str, _env: SmartEnvironment) -> None:
        raise KeyError(secret)

    env = environment(macros={"broken": broken})
    assert expand("a{{broken}}b", env) == "ab"
    assert [note.message for note in env.notes] == ["the macro 'broken' failed: KeyError"]
