"""RisuAI's texts for models without roles."""

from __future__ import annotations

import pytest

from innkeeper.prompt import Message
from innkeeper.prompt.errors import UnknownNameError, UsageError
from innkeeper.taverns.risu import completion_text

TURNS = [("system", "S"), ("user", " U1 "), ("assistant", "A1"), ("user", "U2")]
CASES: list[tuple[str, list[tuple[str, str]], str]] = [
    (
        "llama2",
        TURNS,
        "<|begin_of_text|>[INST] <<SYS>>\nS\n<</SYS>>\n\n U1 [/INST] A1 <|begin_of_text|>[INST] U2 [/INST]",
    ),
    ("llama2", [("user", "a"), ("system", "s")], "<|begin_of_text|>[INST] a [/INST]<<SYS>>\ns\n<</SYS>>\n\n"),
    ("llama2", [("system", "s")], ""),
    ("chatml", [("user", " a ")], "<|im_start|>user\n a <|im_end|>\n<|im_start|>assistant\n"),
    ("gemma", [("user", " a ")], "<start_of_turn>user\na<end_of_turn>\n<start_of_turn>model\n"),
    ("gemma", TURNS[:2], "<start_of_turn>user\nSystem: S\n U1<end_of_turn>\n<start_of_turn>model\n"),
    ("mistral", [("assistant", "a"), ("assistant", "b")], " [INST]  [/INST] a\nb "),
    ("vicuna", [("tool", "x"), ("user", "a")], "questions.\n\nUSER: a\nASSISTANT:"),
    ("alpaca", [], "request.\n\n### Response:\n"),
    ("llama3", [], "<|start_header_id|>assistant<|end_header_id|>\n\n"),
    ("plain", [("system", "S"), ("user", "a")], "system: S\n\na\n\nAnn:"),
]


@pytest.mark.parametrize(("template", "turns", "expected"), CASES)
def test_texts(template: str, turns: list[tuple[str, str]], expected: str) -> None:
    """The end of each text; what it begins with is the whole of most."""
    text = completion_text([Message(*turn) for turn in turns], template, name="Ann")
    assert text.endswith(expected)
    assert text == expected or template in ("vicuna", "alpaca")


def test_names_and_going_on() -> None:
    """The plain text has the names of speakers."""
    messages = [Message("user", "a", name="Ben"), Message("assistant", "b")]
    assert completion_text(messages, "plain", name="Ann", goes_on=True) == "Ben: a\n\nb"


@pytest.mark.parametrize("turns", [[("assistant", "a")], [("user", "a"), ("user", "b")]])
def test_roles_that_a_template_refuses(turns: list[tuple[str, str]]) -> None:
    """That of Llama 2 takes the user and the assistant by turns."""
    with pytest.raises(UsageError, match="take turns"):
        completion_text([Message(*turn) for turn in turns], "llama2")


def test_a_template_that_is_none() -> None:
    """The error lists them."""
    with pytest.raises(UnknownNameError, match="llama4"):
        completion_text([], "llama4")
