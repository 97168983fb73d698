"""Chat Completions: text as text, parts only for media, names that are legal, options by their names."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.dialects import DIALECTS, OpenAI
from innkeeper.dialects.providers.openai import Compatible, OpenRouter
from innkeeper.prompt import Attachment, Message, Tool
from tests.dialects.talks import PNG, call, kinds, message, said

OPENAI = DIALECTS["openai"]
HELLO = message("user", "Hello")
CALLING = message("assistant", "", tool_calls=[call()])
RESULT = message("tool", "1", tool_call_id="call_1")
SAID = {"role": "user", "content": "Hello"}
CALLED = {"role": "assistant", "content": "", "tool_calls": [call()]}
TOLD = {"role": "tool", "content": "1", "tool_call_id": "call_1"}


@dataclass(frozen=True)
class Case:
    id: str
    messages: list[Message]
    expected: list[dict[str, Any]]
    options: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


SYSTEM = message("system", "S")
LATE = message("system", "late")
CASES = [
    Case(
        "plain",
        [SYSTEM, HELLO, LATE],
        [{"role": "system", "content": "S"}, SAID, {"role": "system", "content": "late"}],
    ),
    Case("empty-text-is-sent", [message("user", "")], [{"role": "user", "content": ""}]),
    Case("name", [message("user", "Hello", name="Bob")], [{**SAID, "name": "Bob"}]),
    Case(
        "name-with-spaces",
        [message("user", "Hello", name="Bob <x> Y")],
        [{**SAID, "name": "Bob_x_Y"}],
        notes=("repair",),
    ),
    Case("name-too-long", [message("user", "Hello", name="B" * 99)], [{**SAID, "name": "B" * 64}], notes=("repair",)),
    Case("name-in-another-script", [message("user", "Hello", name="鮑勃")], [{**SAID, "name": "鮑勃"}]),
    Case("name-dropped", [message("user", "Hello", name="Bob")], [SAID], options={"names": "drop"}, notes=("loss",)),
    Case(
        "name-in-front",
        [message("user", "Hello", name="Bob")],
        [{"role": "user", "content": "Bob: Hello"}],
        options={"names": "prefix"},
        notes=("repair",),
    ),
    Case("tools", [HELLO, CALLING, RESULT], [SAID, CALLED, TOLD]),
    Case(
        "what-else-a-call-has-is-kept",
        [HELLO, message("assistant", "", tool_calls=[{**call(), "index": 0}]), RESULT],
        [SAID, {"role": "assistant", "content": "", "tool_calls": [{"index": 0, **call()}]}, TOLD],
    ),
    Case(
        "arguments-become-text",
        [HELLO, message("assistant", "", tool_calls=[call(arguments={"a": [1, "é"]})]), RESULT],
        [SAID, {"role": "assistant", "content": "", "tool_calls": [call(arguments='{"a":[1,"é"]}')]}, TOLD],
    ),
    Case(
        "a-call-without-an-id",
        [HELLO, message("assistant", "", tool_calls=[call(None)]), message("tool", "1")],
        [
            SAID,
            {"role": "assistant", "content": "", "tool_calls": [call("call_1_0")]},
            {**TOLD, "tool_call_id": "call_1_0"},
        ],
        notes=("repair", "repair"),
    ),
    Case("a-call-without-a-result", [HELLO, CALLING], [SAID, CALLED], notes=("warning",)),
    Case(
        "a-call-without-a-result-repaired",
        [HELLO, CALLING],
        [SAID, CALLED, {**TOLD, "content": ""}],
        options={"repair": True},
        notes=("repair",),
    ),
    Case("a-result-without-a-call", [RESULT], [TOLD], notes=("warning",)),
    Case(
        "a-result-without-a-call-repaired",
        [RESULT],
        [{"role": "user", "content": "1"}],
        options={"repair": True},
        notes=("repair",),
    ),
    Case(
        "results-as-before-there-were-tools",
        [
            HELLO,
            message("assistant", "", function_call={"name": "f", "arguments": "{}"}),
            message("function", "1", name="f"),
        ],
        [
            SAID,
            {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "content": "1", "name": "f"},
        ],
    ),
    Case("signature", [message("user", "Hello", signature="sig")], [{**SAID, "signature": "sig"}]),
    Case("refusal", [message("user", "Hello", refusal="no")], [{**SAID, "refusal": "no"}]),
    Case("other-metadata", [message("user", "Hello", mood="calm")], [SAID], notes=("loss",)),
    Case(
        "other-metadata-let-through",
        [message("user", "Hello", mood="calm")],
        [{**SAID, "mood": "calm"}],
        options={"message_keys": ["mood"]},
    ),
    Case(
        "cache-mark-let-through",
        [message("user", "Hello", cache_control=True)],
        [{"role": "user", "content": [{"type": "text", "text": "Hello", "cache_control": {"type": "ephemeral"}}]}],
        options={"message_keys": ["cache_control"]},
    ),
    Case("unknown-role", [message("narrator", "Hello")], [SAID], notes=("repair",)),
    Case("developer", [message("developer", "S")], [{"role": "system", "content": "S"}], notes=("repair",)),
    Case(
        "one-system-message",
        [SYSTEM, HELLO, LATE],
        [{"role": "system", "content": "S\n\nlate"}, SAID],
        options={"system": "hoist"},
        notes=("repair", "repair"),
    ),
    Case(
        "one-system-message-at-the-top",
        [SYSTEM, SYSTEM, HELLO, LATE],
        [{"role": "system", "content": "S|S"}, SAID, {"role": "user", "content": "late"}],
        options={"system": "leading", "separator": "|"},
        notes=("repair", "repair"),
    ),
    Case(
        "repaired-roles-alternate",
        [HELLO, message("user", "there"), message("assistant", "Hi"), message("assistant", ""), HELLO],
        [{"role": "user", "content": "Hello\n\nthere"}, {"role": "assistant", "content": "Hi"}, SAID],
        options={"repair": True},
        notes=("repair",),
    ),
    Case(
        "speakers-are-not-mixed",
        [message("user", "Hello", name="Bob"), message("user", "there", name="Eve")],
        [{**SAID, "name": "Bob"}, {"role": "user", "content": "there", "name": "Eve"}],
        options={"repair": True},
    ),
    Case(
        "an-answer-to-be-continued",
        [HELLO, message("assistant", "The")],
        [SAID, {"role": "assistant", "content": "The"}],
        notes=("loss",),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_messages(case: Case) -> None:
    """Messages become those that are expected, with notes of the kinds that are expected."""
    payload = OPENAI.messages(case.messages, case.options)
    assert payload.body == case.expected
    assert tuple(kinds(payload.notes)) == case.notes


@dataclass(frozen=True)
class Media:
    id: str
    attachment: Attachment
    part: dict[str, Any] | None
    dialect: str = "openai"


IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
MEDIA = [
    Media("image-data", Attachment("image", data=PNG, media_type="image/png"), IMAGE),
    Media("image-data-of-unsaid-type", Attachment("image", data=PNG), IMAGE),
    Media("image-data-url", Attachment("image", url=f"data:image/png;base64,{PNG}"), IMAGE),
    Media(
        "image-address",
        Attachment("image", url="https://host/x", detail="low"),
        {"type": "image_url", "image_url": {"url": "https://host/x", "detail": "low"}},
    ),
    Media(
        "audio",
        Attachment("audio", data="x", media_type="audio/x-wav"),
        {"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}},
    ),
    Media("audio-address", Attachment("audio", url="https://host/x.mp3"), None),
    Media(
        "file",
        Attachment("file", data="JVBERi0=", name="a.pdf"),
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}},
    ),
    Media(
        "file-held-by-the-provider",
        Attachment("file", extra=message("user", "", x={"file_id": "file_1"}).metadata["x"]),
        {"type": "file", "file": {"file_id": "file_1"}},
    ),
    Media("file-address", Attachment("file", url="https://host/x"), None),
    Media("video", Attachment("video", url="https://host/x"), None),
    Media(
        "video-by-openrouter",
        Attachment("video", url="https://host/x"),
        {"type": "video_url", "video_url": {"url": "https://host/x"}},
        "openrouter",
    ),
    Media(
        "file-address-by-openrouter",
        Attachment("file", url="https://host/x", name="a"),
        {"type": "file", "file": {"filename": "a", "file_data": "https://host/x"}},
        "openrouter",
    ),
]


@pytest.mark.parametrize("case", MEDIA, ids=lambda case: case.id)
def test_media(case: Media) -> None:
    """An attachment becomes a part after the text, or a loss that names its kind and message."""
    payload = DIALECTS[case.dialect].messages([HELLO, Message("user", "see", attachments=(case.attachment,))], {})
    text = {"type": "text", "text": "see"}
    assert payload.body[1]["content"] == ([text, case.part] if case.part else "see")
    if not case.part:
        assert said(payload.notes, case.attachment.kind).data["messages"] == (1,)


def test_media_without_text() -> None:
    """A message of nothing but an image has one part."""
    payload = OPENAI.messages([message("user", "", attachments=[{"kind": "image", "url": "https://x"}])], {})
    assert payload.body == [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x"}}]}]


def test_media_of_others_are_lost() -> None:
    """Only users have images: one in an answer or a tool result is reported."""
    image = {"kind": "image", "url": "https://x"}
    talk = [HELLO, CALLING, message("tool", "1", tool_call_id="call_1", attachments=[image]), message("system", "S")]
    payload = OPENAI.messages(talk, {})
    assert payload.body[2] == TOLD
    assert said(payload.notes, "image").message.endswith("tool messages have none (message 2)")


def test_request() -> None:
    """A whole body: options by the provider's names, tools, in one order."""
    options = {
        "seed": 1,
        "max_tokens": 9,
        "stop": list("abcde"),
        "temperature": 0.5,
        "tool_choice": "add",
        "response_format": {"type": "json_schema", "schema": {"type": "object"}, "strict": True},
        "stream": True,
        "top_k": 3,
        "n": None,
        "extra": {"logit_bias": {"1": 2}},
    }
    payload = OPENAI.request([HELLO], model="gpt", options=options, tools=[Tool("add", "Adds.", {}, strict=True)])
    schema = {"type": "object", "properties": {}}
    function = {"name": "add", "description": "Adds.", "parameters": schema, "strict": True}
    assert list(payload.body.items()) == [
        ("model", "gpt"),
        ("messages", [SAID]),
        ("tools", [{"type": "function", "function": function}]),
        ("temperature", 0.5),
        ("seed", 1),
        ("max_completion_tokens", 9),
        ("stop", list("abcd")),
        (
            "response_format",
            {"type": "json_schema", "json_schema": {"name": "response", "schema": {"type": "object"}, "strict": True}},
        ),
        ("tool_choice", {"type": "function", "function": {"name": "add"}}),
        ("stream", True),
        ("logit_bias", {"1": 2}),
    ]
    assert [note.message for note in payload.notes] == [
        "openai: 1 of 5 stop strings are not sent",
        "openai: option 'top_k' is not sent",
    ]


def test_compatible_servers_take_more() -> None:
    """A server that speaks the protocol takes samplers, all stop strings, thoughts, and goes on with an answer."""
    talk = [HELLO, message("assistant", "The", reasoning="hm")]
    options = {"max_tokens": 9, "min_p": 0.1, "repetition_penalty": 1.1, "stop": list("abcdef")}
    payload = DIALECTS["openai-compatible"].request(talk, model=None, options=options)
    assert payload.body == {
        "messages": [SAID, {"role": "assistant", "content": "The", "reasoning_content": "hm"}],
        "min_p": 0.1,
        "repetition_penalty": 1.1,
        "max_tokens": 9,
        "stop": list("abcdef"),
    }
    assert payload.notes == ()


def test_openrouter_takes_marks_and_effort() -> None:
    """Cache marks and reasoning effort survive the way to OpenRouter."""
    talk = [message("user", "Hello", cache_control="1h")]
    body = DIALECTS["openrouter"].request(talk, model="m", options={"reasoning_effort": "high"}).body
    mark = {"type": "ephemeral", "ttl": "1h"}
    assert body["messages"][0]["content"] == [{"type": "text", "text": "Hello", "cache_control": mark}]
    assert body["reasoning"] == {"effort": "high"}


def test_a_name_of_ones_own() -> None:
    """A dialect may be registered under another name, which its notes use."""
    mine = OpenAI("mine")
    assert mine.messages([message("user", "x", mood="calm")], {}).notes[0].message.startswith("mine: ")
    assert (Compatible("a").name, OpenRouter("b").name) == ("a", "b")
