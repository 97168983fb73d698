"""Text completion: plain text with a stop list, what cannot be text is reported, request bodies of completion servers."""

from typing import Any

import pytest

from innkeeper.dialects import DIALECTS, DialectOptionError, convert
from innkeeper.prompt import Tool
from tests.dialects.talks import call, kinds, message, said

TEXT = DIALECTS["text"]
TALK = [message("system", "S"), message("user", "Hi"), message("assistant", ""), message("user", " ")]


def test_plain() -> None:
    """Texts that are not empty, one a line; white space is text."""
    assert convert(TALK, "text") == {"prompt": "S\nHi\n ", "stop_sequences": []}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"stop": "x"}, ["x"]),
        ({"stop": ["x", "x", "", None, 7]}, ["x", "7"]),
        ({"stop_sequences": ("x",)}, ["x"]),
        ({"stop_sequences": ["y"], "stop": ["x"]}, ["x"]),
        ({"stop": 7}, []),
        ({"instruct": "chatml", "stop": ["x"]}, ["x", "<|im_end|>"]),
    ],
)
def test_stops(options: dict[str, Any], expected: list[str]) -> None:
    """Stop strings in any spelling, doubles once, those of the instruct format after the caller's."""
    assert convert(TALK, "text", **options)["stop_sequences"] == expected


def test_system_text_at_the_top() -> None:
    """System modes hold for text too."""
    talk = [message("user", "Hi"), message("system", "S")]
    assert convert(talk, "text", system="hoist")["prompt"] == "S\nHi"


def test_repair_joins_neighbours() -> None:
    """With ``repair`` neighbouring messages of one role are one, so that a format marks them once."""
    talk = [message("user", "Hi"), message("user", "there")]
    assert convert(talk, "text", instruct="vicuna", repair=True)["prompt"] == "USER: Hi\n\nthere\nASSISTANT:"


def test_losses() -> None:
    """Names, calls, media and tools have no place in plain text."""
    talk = [
        message("user", "Hi", name="Bob", attachments=[{"kind": "image", "url": "https://x"}]),
        message("assistant", "", tool_calls=[call()]),
        message("tool", "1", tool_call_id="call_1"),
    ]
    payload = TEXT.request(talk, model=None, options={}, tools=[Tool("add")])
    assert payload.body == {"prompt": "Hi\n1"}
    assert kinds(payload.notes) == ["loss"] * 4
    assert [len(said(payload.notes, word).data) for word in ("name", "image", "tool calls", "tools are")] == [
        2,
        2,
        2,
        1,
    ]


def test_request() -> None:
    """The body of a completion request: prompt, stop strings of both sources, samplers by their names."""
    options = {"stop": ["x"], "max_tokens": 9, "min_p": 0.1, "instruct": "chatml", "response_format": "json"}
    payload = TEXT.request([message("user", "Hi")], model="m", options=options)
    assert list(payload.body.items()) == [
        ("model", "m"),
        ("prompt", "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"),
        ("stop", ["x", "<|im_end|>"]),
        ("max_tokens", 9),
        ("min_p", 0.1),
    ]
    assert [note.message for note in payload.notes] == ["text: option 'response_format' is not sent"]


def test_a_bad_reply() -> None:
    """Somebody who cannot speak next is a typed error that names who can."""
    with pytest.raises(DialectOptionError) as caught:
        convert(TALK, "text", reply="system")
    assert "assistant, user, none" in str(caught.value.hint)
