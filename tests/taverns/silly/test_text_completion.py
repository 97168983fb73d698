"""Text prompts: their blocks, what leaves them, their limits; the golden cases are in `test_vectors`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.budget.report import EvictionReason, TrimReport
from innkeeper.prompt import MaxTokensExceededError, NoteKind, Plan, StrictModeError
from innkeeper.taverns import silly
from innkeeper.taverns.silly.text.chat import stop_strings
from tests.taverns.silly.builds import build, card, turns

INSTRUCT = {
    "input_sequence": "<u>", "input_suffix": "</u>", "output_sequence": "<a>", "output_suffix": "</a>",
    "system_sequence": "<s>", "system_suffix": "</s>", "stop_sequence": "</a>",
}  # fmt: skip
STORY = "{{#if system}}{{system}}\n{{/if}}{{description}}\n"


def text_build(
    *texts: str, text: dict[str, Any] | None = None, settings: dict[str, Any] | None = None, **fields: Any
) -> Plan:
    """A text prompt of Mira and Sam with these turns."""
    given = {"context": {"story_string": STORY}, "sysprompt": {"content": "S."}, **(text or {})}
    return build(
        dialect="text",
        model="none",
        history=turns(*texts),
        settings={"text": given, **(settings or {})},
        **fields,
    )


def prompt(plan: Plan) -> str:
    """The text that is sent."""
    return str(plan.to_messages("text")["prompt"])


def test_steps_have_the_same_names() -> None:
    """Both pipelines have the nine steps of the contract, so that configuration fits either."""
    assert silly.TEXT_PIPELINE.names == silly.PIPELINE.names


def test_plain() -> None:
    """Names stand in front of lines, and the character's name opens the reply."""
    plan = text_build("Hi.", "Yes?", "Well.")
    assert prompt(plan) == "S.\nA clockmaker.\nSam: Hi.\nMira: Yes?\nSam: Well.\nMira:"
    assert plan.stop == ("\nSam:",)


def test_instruct() -> None:
    """Sequences stand around lines; the reply's stands on a line of its own."""
    plan = text_build("Hi.", "Yes?", "Well.", text={"instruct": INSTRUCT})
    assert prompt(plan).endswith("<u>\nHi.</u><a>\nYes?</a><u>\nWell.</u>\n<a>\n")
    assert plan.stop == ("\nSam:", "\n</a>", "\n<u>", "\n<a>", "\n<s>")


def test_blocks_are_the_prompt() -> None:
    """The enabled blocks, joined, are the prompt; each has a slot, a source and an origin."""
    plan = text_build("Hi.", "Yes?", injections=[{"id": "x", "content": "X", "position": "chat", "depth": 1}])
    assert "".join(block.content for block in plan.enabled_blocks) == prompt(plan)
    assert [block.slot for block in plan.blocks] == ["story_string", *["chat_history"] * 3, "reply"]
    assert [block.source for block in plan.blocks][1:4] == ["history", "injection", "history"]
    assert all(block.origin is not None for block in plan.blocks)


def test_request_has_the_same_prompt() -> None:
    """A provider's request holds the very text, stop strings and banned strings."""
    textgen = {"banned_tokens": '"shiver"\nnot quoted\n"{{char}}"', "temp": 0.5}
    plan = text_build("Hi.", text={"textgen": textgen})
    body = plan.to_request("text").body
    assert body["prompt"] == prompt(plan)
    assert body["stop"] == ["\nSam:"]
    assert body["banned_strings"] == ["shiver", "Mira"]
    assert (body["temperature"], body["max_tokens"]) == (0.5, 300)


def test_omitted_lines_are_reported() -> None:
    """Lines and examples without room are disabled blocks with a record each, and the report adds up."""
    said = [f"Line number {number} of this long talk." for number in range(60)]
    examples = card(description="D.", mes_example="<START>\n{{user}}: a\n{{char}}: b")
    plan = text_build(*said, text={"max_context": 500, "amount_gen": 100}, character=examples)
    report = plan.trim_report
    assert isinstance(report, TrimReport)
    absent = {block.id for block in plan.blocks if not block.enabled}
    assert absent
    assert {record.block_id for record in report.evictions} == absent
    assert {record.reason for record in report.evictions} == {EvictionReason.BUDGET_EXCEEDED}
    assert report.final_tokens <= report.budget_tokens == 400
    assert report.tokens_saved == sum(record.token_count for record in report.evictions)


def test_story_that_does_not_fit() -> None:
    """A story string longer than the window is an error; told to warn, the build keeps it and leaves out the rest."""
    long = card(description="word " * 300)
    with pytest.raises(MaxTokensExceededError):
        text_build("Hi.", text={"max_context": 200, "amount_gen": 100}, character=long)
    plan = text_build(
        "Hi.",
        text={"max_context": 200, "amount_gen": 100},
        character=long,
        step_options={"trimming": {"on_overflow": "warn"}},
    )
    assert [note.kind for note in plan.warnings] == [NoteKind.LIMIT]
    assert "Sam" not in prompt(plan)


@pytest.mark.parametrize(
    ("template", "line", "text"),
    [
        ("{{char}} is\n{{#if description}}{{description}}", 2, "Mira is\nA quiet keeper."),
        ("A {{description", 1, "A {{description"),
    ],
    ids=["open block", "open tag"],
)
def test_faulty_story_string(template: str, line: int, text: str) -> None:
    """It is a warning with the template, line and column, and its fields are filled; in a strict build an error."""
    request = {"text": {"context": {"story_string": template}}, "character": card(description="A quiet keeper.")}
    plan = text_build("Hi.", **request)
    (warning,) = plan.warnings
    assert warning.where is not None
    assert (warning.where.asset, warning.where.path, warning.where.line) == ("context template", "story_string", line)
    assert text in prompt(plan)
    with pytest.raises(StrictModeError) as caught:
        text_build("Hi.", **request, strict=True)
    assert caught.value.where == warning.where


def test_card_is_no_template() -> None:
    """Tags in a card's text are not Handlebars: they are printed, or left to the macros."""
    plan = text_build("Hi.", character=card(description="{{#each x}}y {{> z}}"))
    assert "{{> z}}" in prompt(plan)


def test_message_of_an_impersonation_is_noted() -> None:
    """A message that the type does not send is named in the notes."""
    plan = text_build("Hi.", message="unsent", generation="impersonate")
    assert "unsent" not in prompt(plan)
    assert any(note.data.get("input") == "message" for note in plan.notes)


@pytest.mark.parametrize(
    ("fields", "stops"),
    [
        ({}, ("\nSam:",)),
        ({"generation": "impersonate"}, ("\nMira:", "\nSam:")),
        ({"generation": "continue"}, ("\nSam:", "\nMira:")),
        ({"settings": {"power_user": {"single_line": True}}}, ("\n", "\nSam:")),
        ({"settings": {"power_user": {"custom_stopping_strings": '["{{char}}!", 1, ""]'}}}, ("\nSam:", "Mira!")),
        ({"text": {"context": {"names_as_stop_strings": False}}}, ()),
        (
            {"text": {"context": {"use_stop_strings": True, "chat_start": "#", "example_separator": "-"}}},
            ("\nSam:", "\n#", "\n-"),
        ),
        (
            {"text": {"instruct": {**INSTRUCT, "wrap": False, "stop_sequence": "x\n\ny"}}},
            ("\nSam:", "x", "y", "<u>", "<a>", "<s>"),
        ),
    ],
    ids=["names", "impersonate", "continue", "single line", "custom", "no names", "separators", "no wrap"],
)  # fmt: skip
def test_stop_strings(fields: dict[str, Any], stops: tuple[str, ...]) -> None:
    """Stop strings come in the documented order, each once."""
    assert text_build("Hi.", **fields).stop == stops


def test_stop_strings_are_public() -> None:
    """The function is there for others to call with a scene."""
    assert callable(stop_strings)


_LINES = st.lists(st.text(max_size=40), max_size=8)


@given(
    _LINES,
    st.sampled_from(["normal", "continue", "impersonate", "quiet", "swipe", "regenerate"]),
    st.booleans(),
    st.integers(150, 600),
)
def test_any_chat_fits_or_is_refused(texts: list[str], generation: str, instruct: bool, window: int) -> None:
    """Whatever the chat says: the blocks are the prompt, and it fits the window less the reply, or the build is refused."""
    text = {"max_context": window, "amount_gen": 100, **({"instruct": INSTRUCT} if instruct else {})}
    try:
        plan = text_build(*texts, text=text, generation=generation)
    except MaxTokensExceededError:
        return
    assert "".join(block.content for block in plan.enabled_blocks) == prompt(plan)
    assert plan.trim_report.final_tokens <= window - 100


def test_same_request_same_bytes() -> None:
    """Two builds of one request have one fingerprint."""
    assert text_build("a", "b").fingerprint() == text_build("a", "b").fingerprint()
