"""Reading requests: the same conversation in every surface's words is the same request, and nothing goes unsaid."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.requests.chat import read_chat, read_completion
from innkeeper.inference.requests.messages import read_messages
from innkeeper.inference.requests.request import GenerationRequest, provider_request
from innkeeper.inference.requests.responses import read_responses, response_messages
from innkeeper.inference.response.events import CallDelta, Finished, ReasoningDelta, RefusalDelta, TextDelta
from innkeeper.inference.response.fold import response_of
from innkeeper.inference.routing.route import Route
from innkeeper.prompt import Message
from innkeeper.prompt.data import thaw
from innkeeper.prompt.errors import InnkeeperError, LimitError, UnsupportedError, UsageError, Where

PIXEL = "iVBORw0KGgo="
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}

CHAT = {
    "model": "inn",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is it?"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"city":"Oslo"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "Rain."},
        {"role": "user", "content": "And now?"},
    ],
    "tools": [{"type": "function", "function": {"name": "look", "description": "See", "parameters": SCHEMA}}],
    "temperature": 0,
    "max_completion_tokens": 50,
}

RESPONSES = {
    "model": "inn",
    "instructions": "Be brief.",
    "input": [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is it?"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
            ],
        },
        {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": '{"city":"Oslo"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "Rain."},
        {"role": "user", "content": "And now?"},
    ],
    "tools": [{"type": "function", "name": "look", "description": "See", "parameters": SCHEMA}],
    "temperature": 0,
    "max_output_tokens": 50,
}

MESSAGES = {
    "model": "inn",
    "system": "Be brief.",
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is it?"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "call_1", "name": "look", "input": {"city": "Oslo"}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "Rain."},
                {"type": "text", "text": "And now?"},
            ],
        },
    ],
    "tools": [{"name": "look", "description": "See", "input_schema": SCHEMA}],
    "temperature": 0,
    "max_tokens": 50,
}

READERS: dict[str, tuple[Callable[[Mapping[str, Any]], GenerationRequest], dict[str, Any]]] = {
    "chat": (read_chat, CHAT),
    "responses": (read_responses, RESPONSES),
    "messages": (read_messages, MESSAGES),
}


def body(request: GenerationRequest, adapter: str = "openai-chat", dialect: str = "openai") -> Any:
    """What a provider gets."""
    route = Route(name="inn", model="theirs", adapter=adapter, dialect=dialect)
    return provider_request(request, route, ADAPTERS[adapter]).body


@pytest.mark.parametrize("surface", READERS)
def test_one_conversation_whatever_its_words(surface: str) -> None:
    """The same conversation is the same body for a provider, whichever surface it came by; zero counts as given."""
    read, written = READERS[surface]
    made = body(read(written))
    assert made["temperature"] == 0
    call = made["messages"][2]["tool_calls"][0]["function"]
    call["arguments"] = call["arguments"].replace(" ", "")
    assert made == body(read_chat(CHAT))


@pytest.mark.parametrize("surface", READERS)
@pytest.mark.parametrize(
    ("adapter", "dialect"), [("openai-responses", "responses"), ("anthropic-messages", "anthropic")]
)
def test_every_surface_reaches_every_protocol(surface: str, adapter: str, dialect: str) -> None:
    """A conversation with an image, a call and its result goes to the other protocols with nothing of it left out."""
    read, written = READERS[surface]
    made = str(body(read(written), adapter, dialect))
    assert all(word in made for word in (PIXEL, "Be brief.", "What is it?", "look", "Oslo", "Rain.", "And now?"))


@dataclass
class Case:
    """A field, and what it becomes in the body that OpenAI gets."""

    id: str
    fields: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)


CASES = [
    Case("zero counts", {"temperature": 0, "top_p": 0.0, "seed": 0}, {"temperature": 0, "top_p": 0.0, "seed": 0}),
    Case("null does not", {"temperature": None, "stop": None}, {}),
    Case("the newer name wins", {"max_tokens": 1, "max_completion_tokens": 2}, {"max_completion_tokens": 2}),
    Case("a schema", {"response_format": {"type": "json_object"}}, {"response_format": {"type": "json_object"}}),
    Case("effort of another shape", {"reasoning": {"effort": "low"}}, {"reasoning_effort": "low"}),
    Case(
        "what only this protocol has",
        {"prompt_cache_key": "k", "my_own": {"a": 1}},
        {"prompt_cache_key": "k", "my_own": {"a": 1}},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_chat_fields(case: Case) -> None:
    """A field reaches a provider of the same protocol under its name; a value counts when it is there."""
    made = body(read_chat({"model": "inn", "messages": [{"role": "user", "content": "Hi"}], **case.fields}))
    assert {name: value for name, value in made.items() if name not in ("model", "messages")} == case.options


def test_what_a_provider_cannot_be_told_is_named() -> None:
    """A field and a tool of one protocol are named where the route speaks another one."""
    asked = read_chat(
        {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "my_own": 1, "tools": [{"type": "web_search"}]}
    )
    route = Route(name="r", model="claude", adapter="anthropic-messages", dialect="anthropic")
    sent = provider_request(asked, route, ADAPTERS["anthropic-messages"])
    said = [note.message for note in sent.notes]
    assert "the field 'my_own' is not sent" in said
    assert "a tool of type 'web_search' is not sent" in said
    assert "my_own" not in sent.body


def test_hosted_tools_reach_their_own_protocol() -> None:
    """A tool that the provider runs itself stands in its place among the functions at a route of the request's protocol."""
    tools = [{"type": "web_search"}, {"type": "function", "name": "look"}]
    made = body(read_responses({"model": "m", "input": "Hi", "tools": tools}), "openai-responses", "responses")
    assert [tool["type"] for tool in made["tools"]] == ["web_search", "function"]


def test_requests_win_over_routes_and_routes_over_nothing() -> None:
    """Options of a route hold where the request has none, under whichever name."""
    route = Route(name="r", model="m", dialect="openai", options=read_chat({**CHAT, "seed": 7}).options)
    made = provider_request(
        read_chat({"model": "r", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 0}),
        route,
        ADAPTERS["openai-chat"],
    ).body
    assert (made["temperature"], made["seed"], made["max_completion_tokens"]) == (0, 7, 0)


def test_a_prompt_goes_to_a_text_model_as_it_is() -> None:
    """A text completion's prompt is not put into a format, whatever the route writes messages in."""
    from innkeeper.prompt.data import freeze

    asked = read_completion({"model": "m", "prompt": "Once upon", "max_tokens": 5, "echo": True})
    route = Route(
        name="m", model="m", adapter="text-completion", dialect="text", options=freeze({"instruct": "chatml"})
    )
    made = provider_request(asked, route, ADAPTERS["text-completion"]).body
    assert made == {"model": "m", "prompt": "Once upon", "max_tokens": 5, "echo": True}


def test_an_answer_becomes_messages() -> None:
    """What was answered is one message of the assistant: thoughts with their seal, words, calls."""
    answer = response_of(
        [
            ReasoningDelta(text="Hm.", signature="sealed"),
            TextDelta(text="Let me look."),
            CallDelta(index=0, call_id="call_1", name="look", arguments='{"city":"Oslo"}'),
            Finished(reason="tool_calls"),
        ],
        response_id="resp_1",
        model="inn",
        created=0,
    )
    (message,) = response_messages(answer)
    assert (message.role, message.content) == ("assistant", "Let me look.")
    assert thaw(message.tool_calls[0]["function"]) == {"name": "look", "arguments": '{"city":"Oslo"}'}
    thought = message.metadata["reasoning"][0]
    assert (thought["text"], thought["signature"], thought["encrypted_content"]) == ("Hm.", "sealed", "sealed")


def test_a_refusal_becomes_a_message() -> None:
    """A refusal goes on as one, word for word."""
    answer = response_of([RefusalDelta(text="No."), Finished(reason="refusal")], response_id="r", model="m", created=0)
    assert response_messages(answer) == (Message("assistant", "", metadata={"refusal": "No."}),)  # type: ignore[arg-type]


BAD: list[tuple[Callable[[Mapping[str, Any]], GenerationRequest], dict[str, Any], type[InnkeeperError], str]] = [
    (read_chat, {"messages": [{"role": "user", "content": "Hi"}]}, UsageError, "model"),
    (read_chat, {"model": "m"}, UsageError, "messages"),
    (read_chat, {"model": "m", "messages": ["Hi"]}, UsageError, "messages[0]"),
    (read_chat, {"model": "m", "messages": [{"role": "user", "content": 7}]}, UsageError, "messages[0]"),
    (read_chat, {**CHAT, "temperature": "hot"}, UsageError, "temperature"),
    (read_chat, {**CHAT, "n": 9}, LimitError, "n"),
    (read_chat, {**CHAT, "n": 1_000_000_000}, LimitError, "n"),
    (read_chat, {**CHAT, "n": 1e9}, UsageError, "n"),
    (read_chat, {**CHAT, "n": 0}, UsageError, "n"),
    (read_chat, {**CHAT, "n": -1}, UsageError, "n"),
    (read_chat, {**CHAT, "n": True}, UsageError, "n"),
    (read_chat, {**CHAT, "n": "2"}, UsageError, "n"),
    (read_completion, {"model": "m", "prompt": "x", "n": 9}, LimitError, "n"),
    (read_chat, {**CHAT, "tools": [{"type": "function"}]}, UsageError, "tools[0]"),
    (read_chat, {**CHAT, "stream_options": {"include_usage": 1}}, UsageError, "stream_options.include_usage"),
    (read_responses, {"model": "m"}, UsageError, "input"),
    (read_responses, {"model": "m", "input": "Hi", "background": True}, UnsupportedError, "background"),
    (read_responses, {"model": "m", "input": [{"type": "item_reference", "id": "x"}]}, UnsupportedError, "input[0]"),
    (read_messages, {"model": "m", "messages": []}, UsageError, "messages"),
    (read_messages, {"model": "m", "messages": [{"role": "user"}]}, UsageError, "messages[0].content"),
    (read_messages, {**MESSAGES, "system": [{"type": "image"}]}, UsageError, "system"),
    (read_completion, {"model": "m", "prompt": [1, 2]}, UnsupportedError, "prompt"),
    (read_completion, {"model": "m", "prompt": "x", "best_of": 3}, UnsupportedError, "best_of"),
]


@pytest.mark.parametrize(
    "fields",
    [
        {"stop": [{}]},
        {"stop": 7},
        {"response_format": "json"},
        {"tools": [{"function": {"name": "bell", "parameters": []}}]},
        {"tools": [{"function": {"name": "bell", "description": 7}}]},
        {"messages": [{"role": "user", "content": [{"type": [None], "text": "Hi"}]}]},
    ],
    ids=str,
)
def test_a_value_of_another_type_is_refused(fields: dict[str, Any]) -> None:
    """What has the wrong type is no default: it is neither dropped nor sent, nor does it end the call otherwise."""
    with pytest.raises(UsageError):
        read_chat({"model": "m", "messages": [{"role": "user", "content": "Hi"}], **fields})


def test_whole_numbers_may_be_written_with_a_point() -> None:
    """``64.0`` is a whole number of JSON."""
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 64.0, "n": 2.0}
    assert (read_chat(body).options["max_tokens"], read_chat(body).choices) == (64, 2)


@pytest.mark.parametrize(("read", "given", "kind", "path"), BAD, ids=lambda it: it if isinstance(it, str) else "")
def test_a_mistake_names_its_field(
    read: Callable[[Mapping[str, Any]], GenerationRequest], given: dict[str, Any], kind: type[InnkeeperError], path: str
) -> None:
    """What cannot be read is an error that names the field."""
    with pytest.raises(kind) as caught:
        read(given)
    assert caught.value.where is not None
    assert caught.value.where.path == path


def test_items_that_no_message_can_be_are_named() -> None:
    """An item of an unknown kind is a note at a provider of another protocol, and the rest is sent."""
    asked = read_responses({"model": "m", "input": [{"type": "computer_call"}, {"role": "user", "content": "Hi"}]})
    route = Route(name="r", model="m", dialect="openai")
    made = provider_request(asked, route, ADAPTERS["openai-chat"])
    assert [note.message for note in made.notes] == ["openai: a block of type 'computer_call' is not sent (message 0)"]
    assert made.body["messages"] == [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize("value", [-5, 7.5, True])
@pytest.mark.parametrize(
    ("read", "body", "name"),
    [
        (read_chat, {"messages": [{"role": "user", "content": "Hi"}]}, "max_tokens"),
        (read_chat, {"messages": [{"role": "user", "content": "Hi"}]}, "max_completion_tokens"),
        (read_responses, {"input": "Hi"}, "max_output_tokens"),
        (read_messages, {"messages": [{"role": "user", "content": "Hi"}]}, "max_tokens"),
    ],
)
def test_a_length_that_no_answer_has_is_refused(read: Any, body: dict[str, Any], name: str, value: Any) -> None:
    """It reaches no provider, who would be paid for an error."""
    with pytest.raises(UsageError) as refused:
        read({"model": "m", **body, name: value})
    assert refused.value.where == Where(path=name)


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_input_is_refused(text: str) -> None:
    """Nobody is asked nothing."""
    with pytest.raises(UsageError) as refused:
        read_responses({"model": "m", "input": text})
    assert refused.value.where == Where(path="input")
