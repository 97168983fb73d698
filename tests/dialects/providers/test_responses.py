"""Responses: instructions, items for messages, calls, results and thoughts."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.dialects import DIALECTS
from innkeeper.prompt import Attachment, Message, Tool
from tests.dialects.talks import PNG, call, kinds, message, said

RESPONSES = DIALECTS["responses"]
HELLO = message("user", "Hello")
SAID = {"role": "user", "content": "Hello"}
CALLED = {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": '{"a":1}'}
TOLD = {"type": "function_call_output", "call_id": "call_1", "output": "1"}
RESULT = message("tool", "1", tool_call_id="call_1")
AROUND = [{"type": "text", "text": "Well"}, {"type": "call"}, {"type": "text", "text": "There"}]
"""Texts before and after a call, in their order."""


@dataclass(frozen=True)
class Case:
    id: str
    messages: list[Message]
    expected: list[dict[str, Any]]
    instructions: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


SYSTEM = message("system", "S")
CASES = [
    Case("plain", [SYSTEM, HELLO], [SAID], "S"),
    Case("no-system", [HELLO], [SAID]),
    Case("system-only", [SYSTEM], [], "S"),
    Case("two-at-the-top", [SYSTEM, SYSTEM, HELLO], [SAID], "S\n\nS"),
    Case("late-system-stays", [SYSTEM, HELLO, SYSTEM], [SAID, {"role": "system", "content": "S"}], "S"),
    Case("late-system-hoisted", [HELLO, SYSTEM], [SAID], "S", {"system": "hoist"}, ("repair",)),
    Case("system-as-user", [SYSTEM], [{"role": "user", "content": "S"}], None, {"system": "inline_user"}, ("repair",)),
    Case("call-and-result", [HELLO, message("assistant", "", tool_calls=[call()]), RESULT], [SAID, CALLED, TOLD]),
    Case(
        "words-before-a-call",
        [HELLO, message("assistant", "Well", tool_calls=[call()]), RESULT],
        [SAID, {"role": "assistant", "content": "Well"}, CALLED, TOLD],
    ),
    Case(
        "words-around-a-call",
        [HELLO, message("assistant", "Well\nThere", tool_calls=[call()], parts=AROUND), RESULT],
        [
            SAID,
            {"role": "assistant", "content": "Well"},
            CALLED,
            {"role": "assistant", "content": "There"},
            TOLD,
        ],
    ),
    Case(
        "the-item-of-a-call",
        [HELLO, message("assistant", "", tool_calls=[{**call(), "item_id": "fc_1"}]), RESULT],
        [SAID, {"type": "function_call", "id": "fc_1", **{key: CALLED[key] for key in CALLED if key != "type"}}, TOLD],
    ),
    Case(
        "thoughts",
        [HELLO, message("assistant", "Hi", reasoning=[{"id": "rs_1", "encrypted_content": "x"}]), HELLO],
        [
            SAID,
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "x", "summary": []},
            {"role": "assistant", "content": "Hi"},
            SAID,
        ],
    ),
    Case(
        "thoughts-of-others",
        [HELLO, message("assistant", "Hi", reasoning="hm"), HELLO],
        [SAID, {"role": "assistant", "content": "Hi"}, SAID],
        notes=("loss",),
    ),
    Case("name", [message("user", "Hello", name="Bob")], [SAID], notes=("loss",)),
    Case("empty", [message("user", "")], [{"role": "user", "content": ""}]),
    Case(
        "repair", [HELLO, HELLO], [{"role": "user", "content": "Hello\n\nHello"}], None, {"repair": True}, ("repair",)
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_messages(case: Case) -> None:
    """Messages become the items that are expected, with notes of the kinds that are expected."""
    payload = RESPONSES.messages(case.messages, case.options)
    top = {} if case.instructions is None else {"instructions": case.instructions}
    assert payload.body == {**top, "input": case.expected}
    assert tuple(kinds(payload.notes)) == case.notes


IMAGE = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"}


@pytest.mark.parametrize(
    ("attachment", "part"),
    [
        (Attachment("image", data=PNG), IMAGE),
        (
            Attachment("image", url="https://x", detail="low"),
            {"type": "input_image", "image_url": "https://x", "detail": "low"},
        ),
        (Attachment("file", url="https://x"), {"type": "input_file", "file_url": "https://x"}),
        (
            Attachment("file", data="JVBERi0=", name="a.pdf"),
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
        ),
        (Attachment("file", extra=message(x={"file_id": "f"}).metadata["x"]), {"type": "input_file", "file_id": "f"}),
        (
            Attachment("image", extra=message(x={"file_id": "f"}).metadata["x"]),
            {"type": "input_image", "file_id": "f", "detail": "auto"},
        ),
        (Attachment("audio", data="x", media_type="audio/wav"), None),
        (Attachment("video", url="https://x"), None),
    ],
    ids=["image", "image-url", "file-url", "file", "file-id", "image-id", "audio", "video"],
)
def test_media(attachment: Attachment, part: dict[str, Any] | None) -> None:
    """An attachment becomes an input part after the text, or a loss that names its kind and message."""
    payload = RESPONSES.messages([Message("user", "see", attachments=(attachment,))], {})
    text = {"type": "input_text", "text": "see"}
    assert payload.body["input"][0]["content"] == ([text, part] if part else "see")
    if not part:
        assert said(payload.notes, attachment.kind).data["messages"] == (0,)


def test_media_of_results_and_answers() -> None:
    """A tool's image is part of its output; an answer has none."""
    talk = [
        HELLO,
        message("assistant", "", tool_calls=[call()], attachments=[{"kind": "image", "data": PNG}]),
        message("tool", "", tool_call_id="call_1", attachments=[{"kind": "image", "data": PNG}]),
    ]
    payload = RESPONSES.messages(talk, {})
    assert payload.body["input"][-1] == {**TOLD, "output": [IMAGE]}
    assert said(payload.notes, "image").data["messages"] == (1,)


def test_request() -> None:
    """A whole body: options by the provider's names, flat tools, in one order."""
    options = {
        "max_tokens": 9,
        "tool_choice": {"type": "tool", "name": "add"},
        "response_format": {"type": "json_object"},
        "verbosity": "low",
        "reasoning_effort": "low",
        "seed": 1,
        "store": False,
    }
    payload = RESPONSES.request(
        [SYSTEM, HELLO], model="gpt", options=options, tools=[Tool("add", "Adds.", strict=False)]
    )
    schema = {"type": "object", "properties": {}}
    assert list(payload.body.items()) == [
        ("model", "gpt"),
        ("instructions", "S"),
        ("input", [SAID]),
        ("tools", [{"type": "function", "name": "add", "description": "Adds.", "parameters": schema, "strict": False}]),
        ("max_output_tokens", 9),
        ("text", {"format": {"type": "json_object"}, "verbosity": "low"}),
        ("tool_choice", {"type": "function", "name": "add"}),
        ("reasoning", {"effort": "low"}),
        ("store", False),
    ]
    assert [note.message for note in payload.notes] == ["responses: option 'seed' is not sent"]
