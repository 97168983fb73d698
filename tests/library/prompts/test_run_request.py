"""What the prompt service is asked: every shape of input becomes messages, and nothing that is said is passed over."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.library.prompts.run_request import PromptRunRequest, messages_of_input, tools_of
from innkeeper.prompt import Attachment, FormatError, Message, Tool
from innkeeper.prompt.errors import InnkeeperError

CALL = {"id": "c1", "type": "function", "function": {"name": "sum", "arguments": '{"a":1}'}}


@dataclass(frozen=True)
class Case:
    given: Any
    messages: tuple[Message, ...]


def user(text: str, *attachments: Attachment) -> tuple[Message, ...]:
    """One user message."""
    return (Message("user", text, attachments=attachments),)


def words(text: str) -> dict[str, Any]:
    """A part that is text."""
    return {"type": "text", "text": text}


PICTURE = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
PAGE = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}}

CASES = {
    "nothing": Case(None, user("")),
    "no_blocks": Case([], user("")),
    "text_as_it_is": Case("  hi \n", user("  hi \n")),
    "texts_and_blocks": Case(["a", {"type": "text", "text": " b "}], user("a\nb")),
    "trimmed_as_a_whole": Case(["  a "], user("a")),
    "blocks_of_responses": Case([{"type": "input_text", "text": "x"}], user("x")),
    "bare_content": Case([{"content": "x"}], user("x")),
    "other_object": Case({"q": 1, "a": "ü"}, user('{"a":"ü","q":1}')),
    "other_objects": Case([{"b": [1, None]}, 5, True], user('{"b":[1,null]}\n5\ntrue')),
    "number": Case(5, user("5")),
    "message": Case({"role": "user", "content": "hi"}, user("hi")),
    "roles_are_kept": Case(
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}, "and", {"text": "x"}],
        (Message("system", "Be brief."), Message("user", "hi"), Message("user", 'and\n{"text":"x"}')),
    ),
    "image": Case(
        ["look", {"type": "image_url", "image_url": {"url": "https://x/y.png"}}],
        user("look", Attachment("image", url="https://x/y.png")),
    ),
    "image_of_responses": Case(
        [{"type": "input_image", "image_url": "data:image/png;base64,aGk="}],
        user("", Attachment("image", data="aGk=", media_type="image/png")),
    ),
    "pictures_in_their_places": Case(
        ["Image 1:", PICTURE, {"type": "text", "text": "Image 2:"}, "and a page", PAGE],
        (Message.of({"role": "user", "content": [words("Image 1:"), PICTURE, words("Image 2:\nand a page"), PAGE]}),),
    ),
    "parts_of_a_message": Case(
        [{"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "text", "text": "b"}]}],
        (Message.of({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),),
    ),
    "a_call_and_its_result": Case(
        [
            {"type": "message", "role": "user", "content": "1+1?"},
            {"type": "function_call", "call_id": "c1", "name": "sum", "arguments": '{"a":1}'},
            {"type": "function_call_output", "call_id": "c1", "output": "2"},
        ],
        (
            Message("user", "1+1?"),
            Message.of({"role": "assistant", "content": "", "tool_calls": [CALL]}),
            Message.of({"role": "tool", "content": "2", "tool_call_id": "c1"}),
        ),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_input(case: Case) -> None:
    """The messages that are meant."""
    assert messages_of_input(case.given) == case.messages


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["role", "type", "text", "content", "name", "image_url"]) | st.text(), inner)
    ),
    max_leaves=12,
)


@given(ANY)
def test_any_input_is_messages_or_an_error(value: Any) -> None:
    """At least one message, or an error that says where."""
    messages, error = _read(value)
    assert error is None or (error.where is not None and str(error.where.path).startswith("input"))
    assert error or (messages and all(isinstance(message, Message) for message in messages))


def _read(value: Any) -> tuple[tuple[Message, ...], InnkeeperError | None]:
    try:
        return messages_of_input(value), None
    except InnkeeperError as error:
        return (), error


FLAT = {"type": "function", "name": "sum", "description": "Adds.", "parameters": {"type": "object"}, "strict": True}
NESTED = {"type": "function", "function": {name: part for name, part in FLAT.items() if name != "type"}}


@pytest.mark.parametrize("shape", [FLAT, NESTED, {**FLAT, "type": " Function "}], ids=["flat", "nested", "spaced"])
def test_tools(shape: dict[str, Any]) -> None:
    """Both shapes, with nothing lost."""
    assert tools_of([shape]) == (Tool("sum", "Adds.", {"type": "object"}, strict=True),)


@pytest.mark.parametrize(
    "tools",
    [
        {"name": "sum"},
        [5],
        [{}],
        [{"type": "function", "name": " "}],
        [{"type": "web_search"}],
        [{"type": "function", "function": {"name": "a", "parameters": [1]}}],
    ],
)
def test_what_is_no_tool(tools: Any) -> None:
    """Is refused with its place, never dropped."""
    with pytest.raises(FormatError) as failed:
        tools_of(tools)
    assert failed.value.where is not None
    assert str(failed.value.where.path).startswith("tools")


def test_zeros_count_as_given() -> None:
    """And what is left out is None."""
    asked = PromptRunRequest.of({"tool_name": "t", "input": "", "temperature": 0, "max_output_tokens": 0, "top_p": 0.0})
    assert (asked.temperature, asked.max_output_tokens, asked.top_p) == (0, 0, 0.0)
    bare = PromptRunRequest.of({"tool_name": "t", "input": ""})
    assert (bare.temperature, bare.max_output_tokens, bare.top_p, bare.model) == (None, None, None, "")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tool_name", ""),
        ("tool_name", "  "),
        ("tool_name", 5),
        ("model", 5),
        ("temperature", "0.2"),
        ("temperature", True),
        ("max_output_tokens", 1.5),
        ("max_output_tokens", -5),
        ("instructions", ["x"]),
        ("tools", "sum"),
        ("temperatur", 1),
    ],
)
def test_fields_that_are_wrong(field: str, value: Any) -> None:
    """Each is named."""
    with pytest.raises(FormatError) as failed:
        PromptRunRequest.of({"tool_name": "t", "input": "hi", field: value})
    assert failed.value.where is not None
    assert failed.value.where.path == field


@pytest.mark.parametrize("request_", [{"tool_name": "t"}, {"tool_name": "t", "input": None}], ids=["missing", "null"])
def test_input_is_required(request_: dict[str, Any]) -> None:
    """Without one a model would invent a conversation; an empty text is one."""
    with pytest.raises(FormatError, match="input is required") as caught:
        PromptRunRequest.of(request_)
    assert caught.value.where is not None
    assert caught.value.where.path == "input"
