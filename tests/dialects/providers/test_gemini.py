"""Gemini: contents and parts, calls and results as objects, signatures where the thought was."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given

from innkeeper.dialects import DIALECTS
from innkeeper.dialects.providers.gemini import MAX_STOPS
from innkeeper.prompt import Attachment, Message, Tool
from tests.dialects.talks import PNG, TALKS, call, kinds, message, said

GEMINI = DIALECTS["gemini"]
HELLO = message("user", "Hello")
SAID = {"role": "user", "parts": [{"text": "Hello"}]}
CALLED = {"functionCall": {"id": "call_1", "name": "add", "args": {"a": 1}}}
RESULT = message("tool", "1", tool_call_id="call_1")


def told(response: dict[str, Any]) -> dict[str, Any]:
    """A functionResponse part."""
    return {"functionResponse": {"id": "call_1", "name": "add", "response": response}}


def model(*parts: dict[str, Any]) -> dict[str, Any]:
    """A model's content."""
    return {"role": "model", "parts": list(parts)}


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    """A user's content."""
    return {"role": "user", "parts": list(parts)}


@dataclass(frozen=True)
class Case:
    id: str
    messages: list[Message]
    expected: list[dict[str, Any]]
    system: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


SYSTEM = message("system", "S")
CALLING = message("assistant", "", tool_calls=[call()])
CASES = [
    Case("plain", [SYSTEM, HELLO, message("assistant", "Hi")], [SAID, model({"text": "Hi"})], ("S",)),
    Case("late-system-hoisted", [SYSTEM, HELLO, SYSTEM], [SAID], ("S", "S"), notes=("repair",)),
    Case("nobody", [], [user({"text": "Begin."})], notes=("repair",)),
    Case("same-role", [HELLO, HELLO], [user({"text": "Hello"}, {"text": "Hello"})], notes=("repair",)),
    Case("same-role-without-repair", [HELLO, HELLO], [SAID, SAID], options={"repair": False}),
    Case("blank", [HELLO, message("assistant", " ")], [SAID], notes=("repair",)),
    Case("call-and-result", [HELLO, CALLING, RESULT], [SAID, model(CALLED), user(told({"result": "1"}))]),
    Case(
        "a-result-that-is-an-object",
        [HELLO, CALLING, message("tool", '{"temp": 32}', tool_call_id="call_1")],
        [SAID, model(CALLED), user(told({"temp": 32}))],
    ),
    Case(
        "a-failed-result",
        [HELLO, CALLING, message("tool", '{"temp": 32}', tool_call_id="call_1", is_error=True)],
        [SAID, model(CALLED), user(told({"error": '{"temp": 32}'}))],
    ),
    Case(
        "calls-first",
        [CALLING, RESULT],
        [user({"text": "Begin."}), model(CALLED), user(told({"result": "1"}))],
        notes=("repair",),
    ),
    Case(
        "signature-of-the-message",
        [HELLO, message("assistant", "Well", tool_calls=[call(), call("call_2")], signature="sig"), RESULT],
        [
            SAID,
            model(
                {"text": "Well"},
                {**CALLED, "thoughtSignature": "sig"},
                {"functionCall": {**CALLED["functionCall"], "id": "call_2"}},
            ),
            user(
                told({"result": "1"}), {"functionResponse": {"id": "call_2", "name": "add", "response": {"error": ""}}}
            ),
        ],
        notes=("repair",),
    ),
    Case(
        "signature-of-the-call",
        [HELLO, message("assistant", "", tool_calls=[{**call(), "signature": "sig"}], signature="other"), RESULT],
        [SAID, model({**CALLED, "thoughtSignature": "sig"}), user(told({"result": "1"}))],
    ),
    Case(
        "signature-as-the-compatible-endpoint-has-it",
        [
            HELLO,
            message(
                "assistant", "", tool_calls=[{**call(), "extra_content": {"google": {"thought_signature": "sig"}}}]
            ),
            RESULT,
        ],
        [SAID, model({**CALLED, "thoughtSignature": "sig"}), user(told({"result": "1"}))],
    ),
    Case(
        "signature-of-words",
        [HELLO, message("assistant", "Hi", signature="sig")],
        [SAID, model({"text": "Hi", "thoughtSignature": "sig"})],
    ),
    Case(
        "thoughts",
        [HELLO, message("assistant", "Hi", reasoning=[{"text": "hm", "signature": "sig"}])],
        [SAID, model({"text": "hm", "thought": True, "thoughtSignature": "sig"}, {"text": "Hi"})],
    ),
    Case(
        "sealed-thoughts",
        [HELLO, message("assistant", "Hi", reasoning=[{"data": "x"}])],
        [SAID, model({"text": "Hi"})],
        notes=("loss",),
    ),
    Case(
        "result-by-name",
        [HELLO, CALLING, message("function", "1", name="add")],
        [SAID, model(CALLED), user(told({"result": "1"}))],
        notes=("repair",),
    ),
    Case(
        "result-of-no-call-without-repair",
        [message("tool", "1", tool_call_id="call_1")],
        [user({"functionResponse": {"id": "call_1", "name": "unknown", "response": {"result": "1"}}})],
        options={"repair": False},
        notes=("warning", "repair"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_messages(case: Case) -> None:
    """Messages become the contents that are expected, with notes of the kinds that are expected."""
    payload = GEMINI.messages(case.messages, case.options)
    top = {"system_instruction": {"parts": [{"text": text} for text in case.system]}} if case.system else {}
    assert payload.body == {**top, "contents": case.expected}
    assert tuple(kinds(payload.notes)) == case.notes


@pytest.mark.parametrize(
    ("attachment", "part"),
    [
        (Attachment("image", data=PNG), {"inlineData": {"mimeType": "image/png", "data": PNG}}),
        (Attachment("audio", data="SUQz"), {"inlineData": {"mimeType": "audio/mpeg", "data": "SUQz"}}),
        (Attachment("video", url="https://x"), {"fileData": {"fileUri": "https://x"}}),
        (
            Attachment("document", url="https://x", media_type="application/pdf"),
            {"fileData": {"mimeType": "application/pdf", "fileUri": "https://x"}},
        ),
        (Attachment("hologram", url="https://x"), None),
    ],
    ids=["image", "audio", "video", "pdf", "unknown"],
)
def test_media(attachment: Attachment, part: dict[str, Any] | None) -> None:
    """An attachment of any role becomes a part after the text, or a loss that names its kind and message."""
    for role in ("user", "assistant"):
        payload = GEMINI.messages([Message(role, "see", attachments=(attachment,))], {})
        assert payload.body["contents"][0]["parts"] == [{"text": "see"}, *([part] if part else [])]
        if not part:
            assert said(payload.notes, attachment.kind).data["messages"] == (0,)


def test_request() -> None:
    """A whole body: options in the generation config; model and streaming belong to the address."""
    options = {
        "temperature": 0.5,
        "top_k": 3,
        "max_tokens": 9,
        "stop": [str(number) for number in range(MAX_STOPS + 1)],
        "response_format": {"type": "json_schema", "schema": {"type": "object"}},
        "reasoning_effort": "low",
        "tool_choice": "add",
        "stream": True,
        "parallel_tool_calls": False,
        "safety_settings": [],
    }
    payload = GEMINI.request([HELLO], model="gemini", options=options, tools=[Tool("add", "Adds.", strict=True)])
    declared = {"name": "add", "description": "Adds.", "parametersJsonSchema": {"type": "object", "properties": {}}}
    assert list(payload.body.items()) == [
        ("contents", [SAID]),
        ("tools", [{"functionDeclarations": [declared]}]),
        (
            "generationConfig",
            {
                "temperature": 0.5,
                "topK": 3,
                "maxOutputTokens": 9,
                "stopSequences": [str(number) for number in range(MAX_STOPS)],
                "responseMimeType": "application/json",
                "responseJsonSchema": {"type": "object"},
                "thinkingConfig": {"thinkingLevel": "low"},
            },
        ),
        ("toolConfig", {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["add"]}}),
        ("safetySettings", []),
    ]
    assert len(payload.notes) == 3


@pytest.mark.parametrize(
    ("options", "path", "value"),
    [
        ({"reasoning_effort": "none"}, ("generationConfig", "thinkingConfig"), {"thinkingBudget": 0}),
        ({"response_format": "json"}, ("generationConfig", "responseMimeType"), "application/json"),
        ({"response_format": "text"}, ("generationConfig", "responseMimeType"), "text/plain"),
        ({"tool_choice": "auto"}, ("toolConfig", "functionCallingConfig"), {"mode": "AUTO"}),
        ({"tool_choice": "none"}, ("toolConfig", "functionCallingConfig"), {"mode": "NONE"}),
        ({"tool_choice": "required"}, ("toolConfig", "functionCallingConfig"), {"mode": "ANY"}),
    ],
)
def test_options(options: dict[str, Any], path: tuple[str, str], value: Any) -> None:
    """Single options land where the provider looks for them."""
    body = GEMINI.request([HELLO], model=None, options=options, tools=[Tool("add")]).body
    assert body[path[0]][path[1]] == value


def test_google_is_gemini() -> None:
    """The other name gives the same body, under its own name in the notes."""
    google = DIALECTS["google"].messages([HELLO, HELLO], {})
    assert google.body == GEMINI.messages([HELLO, HELLO], {}).body
    assert google.notes[0].message.startswith("google: ")


@given(talk=TALKS)
def test_what_the_provider_insists_on(talk: tuple[Message, ...]) -> None:
    """Roles alternate, parts are there, arguments and responses are objects, calls follow a user and are answered at once."""
    contents = GEMINI.messages(talk, {}).body["contents"]
    assert contents
    for before, each in zip([None, *contents], contents, strict=False):
        assert each["parts"]
        assert before is None or before["role"] != each["role"]
        calls = [part["functionCall"] for part in each["parts"] if "functionCall" in part]
        results = [part["functionResponse"] for part in each["parts"] if "functionResponse" in part]
        assert all(type(found["args"]) is dict for found in calls)
        assert all(type(found["response"]) is dict for found in results)
        assert not calls or before is not None
        asked = [part["functionCall"] for part in before["parts"] if "functionCall" in part] if before else []
        assert sorted(found["id"] for found in asked) == sorted(found["id"] for found in results)
