"""Instruct mode: lines, examples, the reply's opening and stop strings between a template's sequences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.templates import InstructNames, InstructTemplate
from innkeeper.macros.engine.environment import MacroEnvironment
from innkeeper.taverns.silly.expansion import Expander
from innkeeper.taverns.silly.text.story import InstructMode, SequenceTurn
from tests.taverns.silly.builds import build, card

SEQUENCES = {
    "input_sequence": "<u>", "input_suffix": "</u>", "output_sequence": "<a>", "output_suffix": "</a>",
    "system_sequence": "<s>", "system_suffix": "</s>", "stop_sequence": "</a>", "wrap": False,
}  # fmt: skip


def mode(*, group: bool = False, **fields: Any) -> InstructMode:
    """Instruct mode of Mira and Sam; expanding a text puts it in angle quotes where it holds ``{{x}}``."""
    template = InstructTemplate.of({**SEQUENCES, **fields})
    return InstructMode(template, Expander(MacroEnvironment(dynamic={"x": "X"})), "Sam", "Mira", group)


@dataclass(frozen=True)
class Case:
    """A template's fields, what is written, and the line."""

    name: str
    line: str
    said: tuple[Any, ...] = ("user", "Sam", "a")
    fields: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


FIRST, LAST = SequenceTurn.FIRST, SequenceTurn.LAST
CASES = (
    Case("the user", "<u>a</u>"),
    Case("the character", "<a>a</a>", ("assistant", "Mira", "a")),
    Case("the system", "<s>a</s>", ("system", "", "a")),
    Case("the system as the user", "<u>a</u>", ("system", "", "a"), {"system_same_as_user": True}),
    Case("wrapped", "<u>\na</u>", fields={"wrap": True}),
    Case("wrapped without a suffix", "<u>\na\n", fields={"wrap": True, "input_suffix": ""}),
    Case("named", "<u>Sam: a</u>", fields={"names_behavior": "always"}),
    Case("the system is never named", "<s>a</s>", ("system", "Bo", "a"), {"names_behavior": "always"}),
    Case("a guest is named", "<a>Bo: a</a>", ("assistant", "Bo", "a"), options={"guest": True}),
    Case("a guest without names", "<a>a</a>", ("assistant", "Bo", "a"), {"names_behavior": "none"}, {"guest": True}),
    Case("the first", "<1>a</u>", ("user", "Sam", "a", FIRST), {"first_input_sequence": "<1>"}),
    Case("the last without its own", "<a>a</a>", ("assistant", "Mira", "a", LAST)),
    Case("open", "<u>a", options={"closed": False}),
    Case("a name in a sequence", "Sam>a</u>", fields={"input_sequence": "{{name}}>"}),
    Case("nobody's name in a sequence", "System>a</s>", ("system", "", "a"), {"system_sequence": "{{name}}>"}),
    Case("macros in a sequence", "X>a</u>", fields={"input_sequence": "{{x}}>"}),
    Case("macros switched off", "{{x}}>a</u>", fields={"input_sequence": "{{x}}>", "macro": False}),
    Case("macros in what is said", "<u>{{x}}</u>", ("user", "Sam", "{{x}}")),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_lines(case: Case) -> None:
    """A line stands between the sequences of its speaker and turn, with a name where the template wants one."""
    assert mode(**case.fields).line(*case.said, **case.options) == case.line


@given(
    st.sampled_from(["user", "assistant", "system"]),
    st.text(max_size=9),
    st.sampled_from(list(InstructNames)),
    st.booleans(),
)
def test_what_is_said_is_not_changed(role: str, text: str, names: InstructNames, wrap: bool) -> None:
    """Whatever the template does, the text of a line stands in it as it is."""
    assert text in mode(names_behavior=names.value, wrap=wrap).line(role, "Bo", text)


@pytest.mark.parametrize(
    ("names", "role", "group", "line"),
    [
        ("always", "assistant", False, "<a>Mira: a</a>"),
        ("force", "assistant", False, "<a>a</a>"),
        ("force", "assistant", True, "<a>Mira: a</a>"),
        ("force", "user", False, "<u>Mira: a</u>"),
        ("none", "user", True, "<u>a</u>"),
    ],
)
def test_examples(names: str, role: str, group: bool, line: str) -> None:
    """Lines of examples name the user unless names are off."""
    assert mode(group=group, names_behavior=names).example(role, "Mira", "a") == line


@dataclass(frozen=True)
class Reply:
    """How a reply is opened."""

    name: str
    opening: str
    role: str = "assistant"
    bias: str = ""
    quiet: bool = False
    fields: dict[str, Any] = field(default_factory=dict)


REPLIES = (
    Reply("the character", "<a>"),
    Reply("the user", "<u>", role="user"),
    Reply("its own sequence", "<last>", fields={"last_output_sequence": "<last>"}),
    Reply("nobody's", "<q>", quiet=True, fields={"last_system_sequence": "<q>"}),
    Reply("nobody's without its own", "<a>", quiet=True),
    Reply("named", "<a>Mira:", fields={"names_behavior": "always"}),
    Reply("with a bias", "<a>Oh", bias=" Oh"),
    Reply("named with a bias", "<a>Mira: Oh", bias=" Oh", fields={"names_behavior": "always"}),
    Reply(
        "named behind its own sequence",
        "<last> Mira:",
        fields={"output_sequence": "<a> ", "last_output_sequence": "<last>", "names_behavior": "always"},
    ),
    Reply("wrapped", "<a>\n", fields={"wrap": True}),
    Reply("wrapped and named", "<a>\nMira:", fields={"wrap": True, "names_behavior": "always"}),
    Reply("wrapped without a sequence", "", fields={"wrap": True, "output_sequence": ""}),
)


@pytest.mark.parametrize("case", REPLIES, ids=lambda case: case.name)
def test_replies(case: Reply) -> None:
    """A reply is opened by its last sequence, a name and what it is to begin with."""
    assert mode(**case.fields).reply(case.role, "Mira", case.bias, quiet=case.quiet) == case.opening


@pytest.mark.parametrize(
    ("fields", "stops"),
    [
        ({}, ["</a>", "<u>", "<a>", "<s>"]),
        ({"sequences_as_stop_strings": False}, ["</a>"]),
        ({"wrap": True}, ["\n</a>", "\n<u>", "\n<a>", "\n<s>"]),
        ({"input_sequence": "a\n \nb", "output_sequence": "", "system_sequence": "a"}, ["</a>", "a", "b"]),
        ({"input_sequence": "{{name}}:", "output_sequence": "{{NAME}}:"}, ["</a>", "Sam:", "Mira:", "<s>"]),
    ],
)
def test_stops(fields: dict[str, Any], stops: list[str]) -> None:
    """Each line of a sequence is a stop string of its own, once; blank ones are none."""
    assert mode(**fields).stops() == stops


def test_the_story_between_its_sequences() -> None:
    """The story string stands between its own sequences, and an empty one stays empty."""
    framed = mode(story_string_prefix="<{{name}}>", story_string_suffix="</{{x}}>")
    assert (framed.around_story("story"), framed.around_story("")) == ("<System>story</X>", "")


def test_the_story_is_by_origin() -> None:
    """A field that stands once in the story string is its own piece; the rest is the template's."""
    plan = build(
        dialect="text",
        model="none",
        character=card(description="A clockmaker."),
        settings={"text": {"context": {"story_string": "About: {{description}}\n"}}},
    )
    story = next(block for block in plan.blocks if block.slot == "story_string")
    assert [(piece.text, piece.origin.asset) for piece in story.pieces] == [
        ("About: ", "preset"),
        ("A clockmaker.", "character"),
        ("\n", "preset"),
    ]
