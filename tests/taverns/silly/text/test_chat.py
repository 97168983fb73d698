"""The lines of a text prompt, how its reply is opened, and what stops it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.prompt import Plan
from innkeeper.taverns.silly.text.chat import TextAssembly
from tests.taverns.silly.builds import build, turns


def text_plan(*texts: str, text: dict[str, Any] | None = None, **fields: Any) -> Plan:
    """A text prompt of Mira and Sam with these turns and nothing in front of them."""
    settings = {"text": {"context": {"story_string": ""}, "sysprompt": {"enabled": False}, **(text or {})}}
    return build(
        dialect="text",
        model="none",
        history=turns(*texts),
        settings={**settings, **fields.pop("settings", {})},
        **fields,
    )


@dataclass(frozen=True)
class Case:
    """A chat with a generation, and its prompt."""

    name: str
    texts: tuple[str, ...]
    prompt: str
    fields: dict[str, Any] = field(default_factory=dict)


INSTRUCT = {
    "instruct": {"input_sequence": "<u>", "output_sequence": "<a>", "first_input_sequence": "<1>", "wrap": False}
}
CASES = (
    Case("turns", ("a", "b", "c"), "Sam: a\nMira: b\nSam: c\nMira:"),
    Case("impersonation", ("a", "b"), "Sam: a\nMira: b\nSam:", {"generation": "impersonate"}),
    Case("a reply to go on with is named twice", ("a", "b"), "Sam: a\nMira:Mira: b", {"generation": "continue"}),
    Case("a message to go on with", ("a", "b", "c"), "Sam: a\nMira: b\nSam: c", {"generation": "continue"}),
    Case(
        "a text at a depth",
        ("a", "b"),
        "Sam: a\nX\nMira: b\nMira:",
        {"injections": [{"id": "x", "content": "X", "position": "chat", "depth": 1}]},
    ),
    Case("sequences", ("a", "b", "c"), "<1>a<a>b<u>c<a>", {"text": INSTRUCT}),
    Case(
        "the character's name in the sequences of a text",
        ("a",),
        "<u>a<s Mira>X<a>",
        {
            "text": {
                "instruct": {**INSTRUCT["instruct"], "first_input_sequence": "", "system_sequence": "<s {{name}}>"}
            },
            "injections": [{"id": "x", "content": "X", "position": "chat", "depth": 0}],
        },
    ),
    Case(
        "a quiet prompt without a sequence to answer it",
        ("a",),
        "Sam: a\nQ\n\n",
        {
            "text": {"instruct": {"names_behavior": "always", "input_sequence": "", "output_sequence": ""}},
            "generation": "quiet",
            "settings": {"generation": {"quiet_prompt": "Q"}},
        },
    ),
    Case(
        "no field of the card behind the history",
        ("a",),
        "Sam: a\nMira:\nMira:",
        {"text": {"sysprompt": {"post_history": "{{char}}:{{description}}"}}},
    ),
    Case(
        "no carriage returns from the system prompt",
        ("a",),
        "Mira\nSam: a\nP\nMira:",
        {
            "text": {
                "context": {"story_string": "{{system}}"},
                "sysprompt": {"content": "\r\n{\r{char}}", "post_history": "\rP"},
            }
        },
    ),
    Case(
        "a blank beginning of the reply",
        ("a",),
        "<u>Sam: a<a>Mira: ",
        {
            "text": {"instruct": {**INSTRUCT["instruct"], "names_behavior": "always", "wrap": False}},
            "settings": {"power_user": {"user_prompt_bias": " "}},
        },
    ),
    Case("behind the history", ("a",), "Sam: a\nP\nMira:", {"text": {"sysprompt": {"post_history": "P"}}}),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_prompts(case: Case) -> None:
    """Lines stand under their names or between their sequences, and the reply is opened for who is next."""
    assert text_plan(*case.texts, **case.fields).to_messages("text")["prompt"] == case.prompt


@dataclass(frozen=True)
class After:
    """A reply's opening, the line it follows, and what follows the line."""

    assembly: TextAssembly
    line: str
    after: str


AFTER = (
    After(TextAssembly(opening="Mira:", breaks=True), "a", "\nMira:"),
    After(TextAssembly(opening="Mira:", breaks=True), "a\n", "Mira:"),
    After(TextAssembly(opening="Mira:"), "a", "Mira:"),
    After(TextAssembly(quiet="Q", opening="Mira:", breaks=True), "a\n", "Q\nMira:"),
    After(TextAssembly(quiet="Q\n", opening="Mira:", breaks=True), "a", "Q\nMira:"),
    After(TextAssembly(), "a", ""),
)


@pytest.mark.parametrize("case", AFTER, ids=lambda case: repr(case.line + case.after))
def test_what_follows_a_line(case: After) -> None:
    """The opening is on a line of its own where it wants one, and never behind an empty line."""
    assert case.assembly.after(case.line) == case.after


@dataclass(frozen=True)
class Stops:
    """Settings of a build, and its stop strings."""

    name: str
    fields: dict[str, Any]
    stops: tuple[str, ...]


NAMED = {"names_as_stop_strings": True, "story_string": ""}
STOPS = (
    Stops("names", {"text": {"context": NAMED}}, ("\nSam:",)),
    Stops("no names", {"text": {"context": {**NAMED, "names_as_stop_strings": False}}}, ()),
    Stops("impersonation", {"text": {"context": NAMED}, "generation": "impersonate"}, ("\nMira:", "\nSam:")),
    Stops(
        "one line", {"text": {"context": NAMED}, "settings": {"power_user": {"single_line": True}}}, ("\n", "\nSam:")
    ),
    Stops(
        "separators",
        {"text": {"context": {**NAMED, "use_stop_strings": True, "chat_start": "***", "example_separator": "***"}}},
        ("\nSam:", "\n***"),
    ),
    Stops(
        "sequences",
        {
            "text": {
                "context": NAMED,
                "instruct": {"stop_sequence": "</s>", "wrap": False, "sequences_as_stop_strings": False},
            }
        },
        ("\nSam:", "</s>"),
    ),
)


@pytest.mark.parametrize("case", STOPS, ids=lambda case: case.name)
def test_stop_strings(case: Stops) -> None:
    """Line end, names, sequences and separators, in that order, each once."""
    assert text_plan("a", **case.fields).stop == case.stops


@pytest.mark.parametrize(
    ("textgen", "banned"),
    [
        ({"banned_tokens": '"a"\n "{{char}}" \nb\n"a"\n"'}, ("a", "Mira")),
        ({"banned_tokens": '"a"', "global_banned_tokens": '"b"'}, ("a", "b")),
        ({"banned_tokens": '"a"', "send_banned_tokens": False}, ()),
    ],
    ids=["quotes", "both lists", "switched off"],
)
def test_banned_strings(textgen: dict[str, Any], banned: tuple[str, ...]) -> None:
    """Lines in quotes are banned strings, their macros resolved, each once."""
    assert tuple(text_plan("a", text={"textgen": textgen}).options.get("banned_strings") or ()) == banned
