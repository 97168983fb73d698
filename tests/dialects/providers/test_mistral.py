"""Mistral: the provider's rules of order, nine-character ids, and an answer to be continued."""

import re
from typing import Any

import pytest
from hypothesis import given

from innkeeper.dialects import DIALECTS
from innkeeper.prompt import Attachment, FrozenDict, Message, Tool
from tests.dialects.talks import PNG, TALKS, call, kinds, message, said

MISTRAL = DIALECTS["mistral"]
HELLO = message("user", "Hello")
VALIDATORS = ("V5", "V11", "V13", "V15")
"""The provider's own validators, by the version of the tokenizer whose models they guard. V3 refuses words beside tool calls."""


@given(talk=TALKS)
def test_the_provider_accepts_it(talk: tuple[Message, ...]) -> None:
    """Whatever text and tool messages come in, the provider's published validators accept what goes out."""
    validator = pytest.importorskip("mistral_common.protocol.instruct.validator", reason="needs mistral-common")
    request = pytest.importorskip("mistral_common.protocol.instruct.request", reason="needs mistral-common")
    # The validators belong to a tokenizer, which knows fewer kinds of media and thoughts than the service does.
    bare = [
        Message(each.role, each.content, metadata=FrozenDict({**each.metadata, "reasoning": None})) for each in talk
    ]
    messages = MISTRAL.messages((HELLO, *bare), {}).body
    for version in VALIDATORS:
        judge = getattr(validator, f"MistralRequestValidator{version}")(mode=validator.ValidationMode.serving)
        judge.validate_request(request.ChatCompletionRequest(model="m", messages=messages))


def test_an_injection_after_a_tool_result() -> None:
    """System text after a result becomes a user's, which an answer comes before; both are reported."""
    talk = [
        HELLO,
        message("assistant", "", tool_calls=[call("abcdefgh1")]),
        message("tool", "1", tool_call_id="abcdefgh1"),
        message("system", "late"),
    ]
    payload = MISTRAL.messages(talk, {})
    assert [each["role"] for each in payload.body] == ["user", "assistant", "tool", "assistant", "user"]
    assert payload.body[1]["tool_calls"] == [call("abcdefgh1")]
    assert kinds(payload.notes) == ["repair", "repair"]


@pytest.mark.parametrize(
    ("repair", "roles"),
    [
        (True, ["user", "assistant", "tool", "tool", "assistant", "user"]),
        (False, ["user", "assistant", "tool", "tool", "user"]),
    ],
)
def test_a_user_after_a_tool_result(repair: bool, roles: list[str]) -> None:
    """The service refuses a user right after a result (error 3230): a repair puts an answer in between, and says so."""
    talk = [
        HELLO,
        message("assistant", "", tool_calls=[call("abcdefgh1"), call("abcdefgh2")]),
        message("tool", "1", tool_call_id="abcdefgh1"),
        message("tool", "2", tool_call_id="abcdefgh2"),
        message("user", "And now?"),
    ]
    payload = MISTRAL.messages(talk, {"repair": repair})
    assert [each["role"] for each in payload.body] == roles
    assert kinds(payload.notes) == ["repair"] * repair


def test_ids() -> None:
    """An id of another shape is replaced by one of nine letters and digits, the same for the call and its result."""
    talk = [HELLO, message("assistant", "", tool_calls=[call()]), message("tool", "1", tool_call_id="call_1")]
    payload = MISTRAL.messages(talk, {})
    (called,) = payload.body[1]["tool_calls"]
    assert re.fullmatch("[a-zA-Z0-9]{9}", called["id"])
    assert payload.body[2]["tool_call_id"] == called["id"]
    assert said(payload.notes, "nine letters").data["messages"] == (1, 2)


def test_an_answer_to_be_continued() -> None:
    """A last answer is a prefix."""
    body = MISTRAL.messages([HELLO, message("assistant", "The")], {}).body
    assert body[1] == {"role": "assistant", "content": "The", "prefix": True}


def test_system_after_a_user_stays() -> None:
    """Where the provider allows system text, it keeps its role."""
    assert [each["role"] for each in MISTRAL.messages([HELLO, message("system", "S")], {}).body] == ["user", "system"]


def test_without_repair() -> None:
    """With ``repair=False`` the order is the caller's."""
    talk = [message("assistant", "Hi"), message("system", "S")]
    assert [each["role"] for each in MISTRAL.messages(talk, {"repair": False}).body] == ["assistant", "system"]


def test_thoughts() -> None:
    """Thoughts are chunks before the text."""
    body = MISTRAL.messages([HELLO, message("assistant", "Hi", reasoning="hm"), HELLO], {}).body
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    assert body[1] == {"role": "assistant", "content": [thinking, {"type": "text", "text": "Hi"}]}


def test_media() -> None:
    """Images, audio data and documents have parts; video has none."""
    media = (
        Attachment("image", data=PNG),
        Attachment("audio", data="x", media_type="audio/mpeg"),
        Attachment("file", url="https://x", name="a.pdf"),
        Attachment("video", url="https://x"),
    )
    payload = MISTRAL.messages([Message("user", "see", attachments=media)], {})
    assert [part["type"] for part in payload.body[0]["content"]] == ["text", "image_url", "input_audio", "document_url"]
    assert payload.body[0]["content"][3] == {
        "type": "document_url",
        "document_url": "https://x",
        "document_name": "a.pdf",
    }
    assert said(payload.notes, "video").kind == "loss"


def test_request() -> None:
    """Options by the provider's names."""
    options: dict[str, Any] = {"seed": 1, "tool_choice": "required", "max_tokens": 9, "stop": "x", "top_k": 1}
    payload = MISTRAL.request([HELLO], model="m", options=options, tools=[Tool("add")])
    rest = {key: payload.body[key] for key in payload.body if key not in ("model", "messages", "tools")}
    assert rest == {"max_tokens": 9, "stop": ["x"], "random_seed": 1, "tool_choice": "any"}
    one = MISTRAL.request([HELLO], model="m", options={"tool_choice": "add"}, tools=[Tool("add")]).body
    assert one["tool_choice"] == {"type": "function", "function": {"name": "add"}}
