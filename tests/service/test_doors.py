"""The model surfaces of a running service: official clients work as they are, and what goes wrong is told in their words."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from innkeeper.inference.fake import EchoServer, FakeReply, Fault
from tests.service.programs import LazyModule, Service

if TYPE_CHECKING:
    import anthropic
    import openai
else:  # they take a second each, and the tests of all modules are collected in every process
    anthropic, openai = LazyModule("anthropic"), LazyModule("openai")

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
WEATHER: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CALL = FakeReply(content=None, tool_calls=(("weather", {"city": "Oslo"}),))
GONE = "http://127.0.0.9:9"
"""Where nobody is."""
SOME = 400
"""Bytes of a stream in which something has been said, and more is to come."""


def reply(request: dict[str, Any]) -> Any:
    """What the provider answers, by the last word of the conversation."""
    message = request["messages"][-1]
    text = message["content"] if isinstance(message["content"], str) else message["content"][0]["text"]
    answers: dict[str, Any] = {
        "weather": CALL,
        "json": '{"name":"Ada","age":36}',
        "refuse": FakeReply(content=None, extra={"refusal": "I cannot help with that."}),
        "think": FakeReply(content="Done.", reasoning="Let me see."),
        "429": Fault.status(429, retry_after=7),
        "401": Fault.status(401),
        "long": Fault.status(400, "This model's maximum context length is 8 tokens."),
        "cut": Fault.cut(SOME),
        "stall": Fault.stall(SOME, "One two three four five."),
        "silence": Fault.stall(0),
    }
    return answers.get(text.split()[-1], f"You said: {text}")


@pytest.fixture(scope="module")
def provider() -> Iterator[EchoServer]:
    """A provider that never runs out of answers."""
    with EchoServer(*[reply] * 400) as echo:
        yield echo


@pytest.fixture(scope="module")
def late() -> Iterator[EchoServer]:
    """A provider whose requests nobody counts: some come when the caller has long had his answer."""
    with EchoServer(*[reply] * 20) as echo:
        yield echo


@pytest.fixture(scope="module")
def service(provider: EchoServer, late: EchoServer) -> Iterator[Service]:
    """``innkeeper serve`` with a route to each."""
    places = {"inn": provider.base_url, "late": late.base_url, "gone": GONE}
    routes = [word for name, url in places.items() for word in ("--route", f"{name}={url}:big")]
    with Service.command(*routes, "--no-grpc") as running:
        yield running
        assert running.healthy()


@pytest.fixture(scope="module")
def client(service: Service) -> Iterator[openai.OpenAI]:
    """The official client, as anyone sets it up."""
    with openai.OpenAI(base_url=f"{service.url}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def claude(service: Service) -> Iterator[anthropic.Anthropic]:
    """Anthropic's."""
    with anthropic.Anthropic(base_url=service.url, api_key="none", max_retries=0) as client:
        yield client


def user(text: str) -> Any:
    """A conversation of one message."""
    return [{"role": "user", "content": text}]


# ------------------------------------------------------------------------------------------------------- chat completions


def test_chat(client: openai.OpenAI, provider: EchoServer) -> None:
    """A chat, whole: the text, why it ended, what it took; the provider gets its own name of the model."""
    made = client.chat.completions.create(model="inn", messages=user("Hello there"), temperature=0)
    assert made.choices[0].message.content == "You said: Hello there"
    assert made.choices[0].finish_reason == "stop"
    assert made.usage
    assert (made.usage.prompt_tokens, made.usage.completion_tokens) == (2, 4)
    assert made.model == "inn"
    assert provider.requests[-1].body == {"model": "big", "messages": user("Hello there"), "temperature": 0}


def test_chat_streamed(client: openai.OpenAI) -> None:
    """A chat, streamed: the same text in pieces, and usage in a last chunk where that is asked for."""
    stream = client.chat.completions.create(
        model="inn", messages=user("Hello there"), stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "You said: Hello there"
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices == []
    assert chunks[-1].usage
    assert chunks[-1].usage.total_tokens == 6
    plain = list(client.chat.completions.create(model="inn", messages=user("Hi"), stream=True))
    assert all(chunk.usage is None for chunk in plain)


def test_chat_helper(client: openai.OpenAI) -> None:
    """The package's own stream helper gets the whole completion."""
    with client.chat.completions.stream(model="inn", messages=user("Hello there")) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.content == "You said: Hello there"


def test_chat_tools(client: openai.OpenAI) -> None:
    """A tool is called, its result goes back under its id, and the answer follows; streamed, too."""
    tools: Any = [{"type": "function", "function": {"name": "weather", "parameters": WEATHER}}]
    made = client.chat.completions.create(model="inn", messages=user("the weather"), tools=tools)
    calls: Any = made.choices[0].message.tool_calls
    assert made.choices[0].finish_reason == "tool_calls"
    assert json.loads(calls[0].function.arguments) == {"city": "Oslo"}
    said: Any = [
        *user("the weather"),
        made.choices[0].message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": calls[0].id, "content": "rain"},
    ]
    assert client.chat.completions.create(model="inn", messages=said).choices[0].message.content == "You said: rain"
    with client.chat.completions.stream(model="inn", messages=user("the weather"), tools=tools) as stream:
        final: Any = stream.get_final_completion().choices[0].message.tool_calls
    assert (final[0].id, final[0].function.arguments) == (calls[0].id, calls[0].function.arguments)


def person() -> Any:
    """A type that a structured answer is read into."""
    from pydantic import create_model

    return create_model("Person", name=(str, ...), age=(int, ...))


def test_chat_structured(client: openai.OpenAI, provider: EchoServer) -> None:
    """A schema reaches the provider, and its JSON the caller's own type."""
    kind = person()
    made = client.chat.completions.parse(model="inn", messages=user("as json"), response_format=kind)
    assert made.choices[0].message.parsed == kind(name="Ada", age=36)
    asked = provider.requests[-1].body["response_format"]
    assert (asked["type"], asked["json_schema"]["name"], asked["json_schema"]["strict"]) == (
        "json_schema",
        "Person",
        True,
    )


def test_chat_image(client: openai.OpenAI, provider: EchoServer) -> None:
    """An image reaches the provider as it is."""
    url = f"data:image/png;base64,{PNG}"
    parts: Any = [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": url, "detail": "low"}}]
    client.chat.completions.create(model="inn", messages=[{"role": "user", "content": parts}])
    assert provider.requests[-1].body["messages"][0]["content"] == parts


def test_chat_refusal_and_thoughts(client: openai.OpenAI) -> None:
    """A refusal's words and thoughts stand where clients look for them."""
    refused = client.chat.completions.create(model="inn", messages=user("refuse")).choices[0].message
    assert (refused.content, refused.refusal) == (None, "I cannot help with that.")
    thought: Any = client.chat.completions.create(model="inn", messages=user("think")).choices[0].message
    assert (thought.content, thought.reasoning_content) == ("Done.", "Let me see.")


def test_completions(client: openai.OpenAI, provider: EchoServer) -> None:
    """A text completion of a model of chats: its prompt is a user's message."""
    made = client.completions.create(model="inn", prompt="Once upon", max_tokens=5)
    assert made.choices[0].text == "You said: Once upon"
    assert provider.requests[-1].body["messages"] == user("Once upon")
    pieces = client.completions.create(model="inn", prompt="Once upon", stream=True)
    assert "".join(piece.choices[0].text for piece in pieces) == "You said: Once upon"


def test_embeddings(client: openai.OpenAI, provider: EchoServer) -> None:
    """Embeddings are the provider's own; a model without them is a 501 that says so."""
    made = client.embeddings.create(model="inn", input=["a", "b"], encoding_format="float")
    assert [len(one.embedding) for one in made.data] == [8, 8]
    assert provider.requests[-1].body["model"] == "big"
    with pytest.raises(openai.APIStatusError, match="makes no embeddings") as caught:
        client.embeddings.create(model="local", input="a", encoding_format="float")
    assert caught.value.status_code == 501


def test_models(client: openai.OpenAI, claude: anthropic.Anthropic) -> None:
    """Both clients can list the models; one that there is not is a 404."""
    assert [model.id for model in client.models.list()] == ["local", "inn", "late", "gone"]
    assert [model.id for model in claude.models.list()] == ["local", "inn", "late", "gone"]
    assert client.models.retrieve("inn").id == "inn"
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("other")
    assert caught.value.code == "model_not_found"


# -------------------------------------------------------------------------------------------------------------- Responses


def test_responses(client: openai.OpenAI) -> None:
    """A response of a text with instructions: its text, usage and what was asked."""
    made = client.responses.create(model="inn", input="Hello", instructions="Be brief.", max_output_tokens=9)
    assert made.output_text == "You said: Hello"
    assert (made.status, made.instructions, made.max_output_tokens) == ("completed", "Be brief.", 9)
    assert made.usage
    assert made.usage.total_tokens > 0


def test_responses_streamed(client: openai.OpenAI) -> None:
    """The stream helper, which insists on the order of events, gets text and tool calls."""
    with client.responses.stream(model="inn", input="Hello") as stream:
        kinds = [event.type for event in stream]
        assert stream.get_final_response().output_text == "You said: Hello"
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    tools: Any = [{"type": "function", "name": "weather", "parameters": WEATHER}]
    with client.responses.stream(model="inn", input="the weather", tools=tools) as stream:
        stream.until_done()
        call: Any = stream.get_final_response().output[0]
    assert (call.type, call.name, json.loads(call.arguments)) == ("function_call", "weather", {"city": "Oslo"})


def test_responses_structured(client: openai.OpenAI) -> None:
    """A schema in the words of Responses."""
    kind = person()
    made = client.responses.parse(model="inn", input="as json", text_format=kind)
    assert made.output_parsed == kind(name="Ada", age=36)


def test_responses_go_on(client: openai.OpenAI, provider: EchoServer) -> None:
    """A response that goes on from another has its conversation before it, without its instructions."""
    first = client.responses.create(model="inn", input="My name is Ada", instructions="Be brief.")
    second = client.responses.create(model="inn", input="What is it?", previous_response_id=first.id)
    assert provider.requests[-1].body["messages"] == [
        *user("My name is Ada"),
        {"role": "assistant", "content": "You said: My name is Ada"},
        *user("What is it?"),
    ]
    assert second.previous_response_id == first.id
    stored = client.responses.retrieve(second.id)
    assert (stored.output_text, stored.id) == (second.output_text, second.id)
    items: Any = list(client.responses.input_items.list(second.id))
    assert [item.content[0].text for item in items] == ["What is it?"]
    client.responses.delete(second.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(second.id)


def test_input_items_have_the_fields_of_the_wire(client: openai.OpenAI) -> None:
    """Parts that leave out what OpenAI always gives have it in the list: its client reads each item without a warning."""
    picture: Any = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    asked: Any = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, picture]},
    ]
    made = client.responses.create(model="inn", input=asked)
    items = list(client.responses.input_items.list(made.id))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = [item.to_dict() for item in items]
    assert [part["type"] for item in shown for part in item["content"]] == [
        *("input_text", "output_text", "input_text", "input_image")
    ]


def test_responses_not_stored(client: openai.OpenAI) -> None:
    """What is not to be stored is not; to go on from it is a 404 that names the field."""
    made = client.responses.create(model="inn", input="Hello", store=False)
    with pytest.raises(openai.NotFoundError) as caught:
        client.responses.create(model="inn", input="And?", previous_response_id=made.id)
    assert (caught.value.code, caught.value.param) == ("previous_response_not_found", "previous_response_id")


def test_responses_streamed_are_stored(client: openai.OpenAI) -> None:
    """A streamed response can be gone back to."""
    with client.responses.stream(model="inn", input="Hello") as stream:
        stream.until_done()
        final = stream.get_final_response()
    assert client.responses.retrieve(final.id).output_text == "You said: Hello"


def test_responses_outlast_the_service(provider: EchoServer, tmp_path: Path) -> None:
    """With states in the database a conversation goes on after the service was started again."""
    words = ["--route", f"inn={provider.base_url}:big", "--no-grpc", "--states", "database"]
    before: str | None = None
    for _ in range(2):
        with Service.command(*words, "--database", str(tmp_path / "library.db")) as running:
            client = openai.OpenAI(base_url=f"{running.url}/v1", api_key="none", max_retries=0)
            asked: Any = {} if before is None else {"previous_response_id": before}
            before = client.responses.create(model="inn", input="Hello", **asked).id
    assert [message["role"] for message in provider.requests[-1].body["messages"]] == ["user", "assistant", "user"]


def test_responses_cancelled(client: openai.OpenAI, provider: EchoServer) -> None:
    """A response under way is cancelled from elsewhere: its stream ends, and its provider is left."""
    before = len(provider.left)
    stream = client.responses.create(model="inn", input="stall", stream=True)
    first: Any = next(stream)
    cancelled = client.responses.cancel(first.response.id)
    assert cancelled.status == "cancelled"
    assert "response.completed" not in [event.type for event in stream]
    wait_for(lambda: len(provider.left) > before)
    with pytest.raises(openai.NotFoundError):
        client.responses.cancel("resp_nothing")


# --------------------------------------------------------------------------------------------------- Anthropic's messages


def test_messages(claude: anthropic.Anthropic) -> None:
    """A message: its text, why it ended, what it took."""
    made = claude.messages.create(model="inn", max_tokens=20, system="Be brief.", messages=user("Hello"))
    assert made.content[0].type == "text"
    assert made.content[0].text == "You said: Hello"
    assert (made.stop_reason, made.usage.output_tokens) == ("end_turn", 3)
    assert made._request_id


def test_messages_streamed(claude: anthropic.Anthropic) -> None:
    """The stream helper gets the text in pieces and the whole message, with thoughts."""
    with claude.messages.stream(model="inn", max_tokens=20, messages=user("think")) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == "Done."
    assert [block.type for block in final.content] == ["thinking", "text"]
    assert final.usage.output_tokens == 1


def test_messages_tools(claude: anthropic.Anthropic) -> None:
    """A tool is used, and its result goes back."""
    tools: Any = [{"name": "weather", "input_schema": WEATHER}]
    with claude.messages.stream(model="inn", max_tokens=20, messages=user("the weather"), tools=tools) as stream:
        made = stream.get_final_message()
    use: Any = made.content[0]
    assert (made.stop_reason, use.name, use.input) == ("tool_use", "weather", {"city": "Oslo"})
    result: Any = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "rain"}]}
    said: Any = [*user("the weather"), {"role": "assistant", "content": made.content}, result]
    after: Any = claude.messages.create(model="inn", max_tokens=20, messages=said, tools=tools)
    assert after.content[0].text == "You said: rain"


def test_messages_counted(claude: anthropic.Anthropic) -> None:
    """Tokens of messages are counted here, without a provider."""
    few = claude.messages.count_tokens(model="inn", messages=user("Hello"))
    many = claude.messages.count_tokens(model="inn", messages=user("Hello " * 50))
    assert 0 < few.input_tokens < many.input_tokens < 100


# ------------------------------------------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    ("word", "kind", "status", "code"),
    [
        ("429", "RateLimitError", 429, "rate_limit_exceeded"),
        ("401", "InternalServerError", 502, "provider_authentication"),
        ("long", "BadRequestError", 400, "context_length_exceeded"),
    ],
)
def test_provider_errors(client: openai.OpenAI, word: str, kind: str, status: int, code: str) -> None:
    """What a provider refuses is the client's own error, whole and streamed alike; when to come back is passed on."""
    for stream in (False, True):
        with pytest.raises(getattr(openai, kind)) as caught:
            client.chat.completions.create(model="inn", messages=user(word), stream=stream)
        assert (caught.value.status_code, caught.value.code) == (status, code)
        assert caught.value.response.headers.get("retry-after") == ("7" if status == 429 else None)
        assert caught.value.request_id


def test_errors_of_anthropic(claude: anthropic.Anthropic) -> None:
    """The same in Anthropic's words."""
    with pytest.raises(anthropic.RateLimitError) as caught:
        claude.messages.create(model="inn", max_tokens=5, messages=user("429"))
    assert caught.value.body == {
        "type": "error",
        "error": {"type": "rate_limit_error", "message": caught.value.body["error"]["message"]},
    }
    with pytest.raises(anthropic.NotFoundError):
        claude.messages.create(model="other", max_tokens=5, messages=user("Hello"))


def test_cut_streams(client: openai.OpenAI, claude: anthropic.Anthropic) -> None:
    """A stream that breaks ends in an error, in every surface."""
    with pytest.raises(openai.APIError, match="broke"):
        list(client.chat.completions.create(model="inn", messages=user("cut"), stream=True))
    events = list(client.responses.create(model="inn", input="cut", stream=True))
    assert events[-1].type == "response.failed"
    assert events[-1].response.error
    with (
        pytest.raises(anthropic.APIStatusError),
        claude.messages.stream(model="inn", max_tokens=5, messages=user("cut")) as stream,
    ):
        stream.until_done()


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        (b"{", 400, None),
        (b"[]", 400, None),
        (b'{"model":"inn"}', 400, "messages"),
        (b'{"model":"inn","messages":[{"role":"user","content":"x"}],"n":0}', 400, "n"),
        (b'{"model":"inn","messages":[{"role":"user","content":"x"}],"n":true}', 400, "n"),
        (b'{"model":"inn","messages":[{"role":"user","content":"x"}],"n":9}', 413, "n"),
        (b'{"model":"none","messages":[{"role":"user","content":"x"}]}', 404, "model"),
    ],
    ids=["no JSON", "no object", "no messages", "no answer", "an answer", "many answers", "no such model"],
)
def test_bad_requests(service: Service, body: bytes, status: int, param: str | None) -> None:
    """A mistake of the caller's is a 4xx that names the field."""
    reply = httpx.post(f"{service.url}/v1/chat/completions", content=body)
    error = reply.json()["error"]
    assert (reply.status_code, error["type"]) == (status, "invalid_request_error")
    assert param in (None, error["param"])


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/v1/nothing", 404), ("PUT", "/v1/models", 405)])
def test_no_such_door(service: Service, method: str, path: str, status: int) -> None:
    """A path or method that there is not is told in the surface's words."""
    reply = httpx.request(method, service.url + path)
    assert (reply.status_code, reply.json()["error"]["type"]) == (status, "invalid_request_error")


def test_unknown_fields_are_named(service: Service, provider: EchoServer) -> None:
    """A field that nobody knows goes to a provider of the same protocol, and is named where the protocols differ."""
    service.post("/v1/chat/completions", {"model": "inn", "messages": user("Hi"), "my_own": 1})
    assert provider.requests[-1].body["my_own"] == 1
    reply = service.post("/v1/messages", {"model": "inn", "max_tokens": 5, "messages": user("Hi"), "my_own": 1})
    assert "the field 'my_own' is not sent" in json.loads(reply.headers["x-innkeeper-notes"])
    assert "my_own" not in provider.requests[-1].body


def test_the_body_that_is_sent(service: Service, provider: EchoServer) -> None:
    """Who asks gets the translated body, whose hash stands in every answer."""
    body = {"model": "inn", "max_tokens": 5, "messages": user("Hi")}
    reply = service.post("/v1/messages", body, headers={"x-innkeeper-explain": "1"})
    told = reply.json()["innkeeper"]
    assert told["body"] == provider.requests[-1].body
    assert told["body_sha256"] == reply.headers["x-innkeeper-body-sha256"]


# ---------------------------------------------------------------------------------------------------------- going away


def wait_for(happened: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait until it has happened."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("word", ["stall", "silence"])
def test_a_client_that_goes_away(service: Service, provider: EchoServer, word: str, stream: bool) -> None:
    """The provider, who would never end, is left when the client goes: before the first byte, in the middle, streamed or not."""
    before, seen = len(provider.left), len(provider.requests)
    body = {"model": "inn", "messages": user(word), "stream": stream}

    def ask(client: httpx.Client) -> None:
        with suppress(httpx.TimeoutException):
            client.post(f"{service.url}/v1/chat/completions", json=body, timeout=httpx.Timeout(5, read=0.4))

    client = httpx.Client()
    thread = threading.Thread(target=ask, args=(client,))
    thread.start()
    wait_for(lambda: len(provider.requests) > seen)
    thread.join()
    wait_for(lambda: len(provider.left) > before)
    client.close()


def test_curl(service: Service) -> None:
    """The line that people copy works."""
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("curl is not installed")
    words = [curl, "-sSN", "--noproxy", "*", f"{service.url}/v1/chat/completions", "-d", "@-"]
    body = json.dumps({"model": "inn", "messages": user("Hello"), "stream": True})
    done = subprocess.run(words, input=body, capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("data: [DONE]")


def test_keys(provider: EchoServer) -> None:
    """With a key of its own the service refuses others, in each surface's words, and never passes it on."""
    environment = {"INNKEEPER_SERVICE_KEY": "open-sesame"}
    with Service.command("--route", f"inn={provider.base_url}:big", "--no-grpc", environment=environment) as running:
        for key, works in (("open-sesame", True), ("wrong", False)):
            client = openai.OpenAI(base_url=f"{running.url}/v1", api_key=key, max_retries=0)
            claude = anthropic.Anthropic(base_url=running.url, api_key=key, max_retries=0)
            if works:
                assert client.chat.completions.create(model="inn", messages=user("Hi")).choices
                assert claude.messages.create(model="inn", max_tokens=5, messages=user("Hi")).content
                assert "authorization" not in provider.requests[-1].headers
                assert "x-api-key" not in provider.requests[-1].headers
                continue
            with pytest.raises(openai.AuthenticationError):
                client.chat.completions.create(model="inn", messages=user("Hi"))
            with pytest.raises(anthropic.AuthenticationError):
                claude.messages.create(model="inn", max_tokens=5, messages=user("Hi"))


# --------------------------------------------------------------------------------------------------------- several answers


def test_several_answers(client: openai.OpenAI, provider: EchoServer) -> None:
    """Each is asked for by itself, with its own seed; what they took is told together."""
    before = len(provider.requests)
    made = client.chat.completions.create(model="inn", messages=user("Hello there"), n=3, seed=7)
    assert [choice.index for choice in made.choices] == [0, 1, 2]
    assert {choice.message.content for choice in made.choices} == {"You said: Hello there"}
    assert made.usage
    assert (made.usage.prompt_tokens, made.usage.completion_tokens) == (6, 12)
    assert sorted(request.body["seed"] for request in provider.requests[before:]) == [7, 8, 9]
    assert all("n" not in request.body for request in provider.requests[before:])


def test_several_answers_streamed(client: openai.OpenAI) -> None:
    """The pieces have the number of their answer; the package puts them together."""
    with client.chat.completions.stream(
        model="inn", messages=user("Hello there"), n=2, stream_options={"include_usage": True}
    ) as stream:
        final = stream.get_final_completion()
    assert [choice.message.content for choice in final.choices] == ["You said: Hello there"] * 2
    assert [choice.finish_reason for choice in final.choices] == ["stop"] * 2
    assert final.usage
    assert final.usage.total_tokens == 12


def test_several_completions(client: openai.OpenAI) -> None:
    """Text completions, too, with as many made as are given."""
    made = client.completions.create(model="inn", prompt="Hello", n=2, best_of=2)
    assert [(choice.index, choice.text) for choice in made.choices] == [(0, "You said: Hello"), (1, "You said: Hello")]


@pytest.mark.parametrize("stream", [False, True])
def test_one_of_several_fails(client: openai.OpenAI, stream: bool) -> None:
    """What goes wrong before all have begun is a status; the others may be under way to the provider."""
    with pytest.raises(openai.RateLimitError):
        client.chat.completions.create(model="late", messages=user("429"), n=2, stream=stream)


def test_going_away_stops_all_answers(service: Service, provider: EchoServer) -> None:
    """A client that leaves in the middle of a stream of several answers ends all of them."""
    left = len(provider.left)
    body = {"model": "inn", "messages": user("stall"), "n": 3, "stream": True}
    with httpx.stream("POST", f"{service.url}/v1/chat/completions", json=body, timeout=60) as reply:
        next(reply.iter_bytes())
    wait_for(lambda: len(provider.left) >= left + 3)


# ------------------------------------------------------------------------------------------------------------- raw bodies

RAW_BODY = b'{ "messages":[{"role":"user","content":"Hell\\u00f3 \xc3\xa9"}],\n"own": 1e0, "model" : "big" }\n'
RAW = {"x-innkeeper-mode": "raw", "x-innkeeper-route": "inn"}


def test_raw(service: Service, provider: EchoServer) -> None:
    """The provider gets the caller's bytes, whose hash is told; the answer is as always."""
    reply = httpx.post(f"{service.url}/v1/chat/completions", content=RAW_BODY, headers=RAW)
    assert reply.json()["choices"][0]["message"]["content"] == "You said: Helló é"
    assert reply.json()["model"] == "inn"
    assert provider.requests[-1].raw == RAW_BODY
    assert reply.headers["x-innkeeper-body-sha256"] == hashlib.sha256(RAW_BODY).hexdigest()


def test_raw_streamed(service: Service, provider: EchoServer) -> None:
    """Nothing is added to ask for the usage, which is not told where the body does not ask for it."""
    content = b'{"model":"big","stream":true,"messages":[{"role":"user","content":"Hi"}]}'
    reply = httpx.post(f"{service.url}/v1/chat/completions", content=content, headers=RAW)
    events = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")]
    assert "".join(event["choices"][0]["delta"].get("content") or "" for event in events) == "You said: Hi"
    assert reply.text.endswith("data: [DONE]\n\n")
    assert provider.requests[-1].raw == content


def test_raw_and_large(service: Service, provider: EchoServer) -> None:
    """Two megabytes, as much of one text as the gate reads, arrive as they were sent."""
    content = b'{"model":"big","messages":[{"role":"user","content":"%b json"}]}' % (b"x" * 2_000_000)
    reply = httpx.post(f"{service.url}/v1/chat/completions", content=content, headers=RAW, timeout=60)
    assert reply.status_code == 200
    assert provider.requests[-1].raw == content


@pytest.mark.parametrize(
    ("path", "content", "headers", "status", "code"),
    [
        ("chat/completions", b'{"model":"big"}', {"x-innkeeper-mode": "other"}, 400, "invalid_value"),
        ("chat/completions", b'{"model":"big"}', {"x-innkeeper-mode": "raw"}, 404, "model_not_found"),
        ("chat/completions", b'{"model":"huge"}', RAW, 400, "invalid_value"),
        ("chat/completions", b'{"model":"small","model":"big"}', RAW, 400, "invalid_json"),
        ("chat/completions", b'{"model":"big","a":NaN}', RAW, 400, "invalid_json"),
        ("chat/completions", b'{"model":"big","a":"\xff"}', RAW, 400, "invalid_json"),
        ("chat/completions", b'{"model":"big"}', {**RAW, "content-encoding": "gzip"}, 415, "encoding"),
        ("responses", b'{"model":"big"}', RAW, 400, "unsupported"),
        ("messages", b'{"model":"big"}', RAW, 400, None),
        ("completions", b'{"model":"big"}', RAW, 400, "unsupported"),
        ("embeddings", b'{"model":"big","input":"x"}', RAW, 400, "unsupported"),
    ],
)
def test_raw_refused(
    service: Service, provider: EchoServer, path: str, content: bytes, headers: Any, status: int, code: Any
) -> None:
    """What the route's provider would not understand, or others understand differently, is sent to nobody."""
    before = len(provider.requests)
    reply = httpx.post(f"{service.url}/v1/{path}", content=content, headers=headers)
    assert (reply.status_code, reply.json()["error"].get("code")) == (status, code)
    assert len(provider.requests) == before


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("chat/completions", {"messages": user("Hi")}, lambda events: events[-1]["innkeeper"]),
        ("responses", {"input": "Hi"}, lambda events: events[-1]["response"]["innkeeper"]),
        ("messages", {"messages": user("Hi"), "max_tokens": 9}, lambda events: events[-1]["innkeeper"]),
    ],
)
def test_a_stream_explained(
    service: Service, provider: EchoServer, path: str, body: dict[str, Any], told: Callable[[list[Any]], Any]
) -> None:
    """The last event has the translated body, and its hash is that of the header and of what was sent."""
    reply = httpx.post(
        f"{service.url}/v1/{path}",
        json={"model": "inn", "stream": True, **body},
        headers={"x-innkeeper-explain": "1"},
    )
    found = told([json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")])
    assert found["body"] == provider.requests[-1].body
    assert found["body_sha256"] == hashlib.sha256(provider.requests[-1].raw).hexdigest()
    assert found["body_sha256"] == reply.headers["x-innkeeper-body-sha256"]


# ---------------------------------------------------------------------------------------------------------------- addresses


@pytest.mark.parametrize("stream", [False, True])
def test_an_address_is_the_operators(service: Service, stream: bool) -> None:
    """A provider that cannot be reached is called by its route."""
    body = {"model": "gone", "messages": user("Hi"), "stream": stream, "max_tokens": 3}
    for path in ("chat/completions", "messages"):
        reply = httpx.post(f"{service.url}/v1/{path}", json=body)
        assert reply.status_code == 502
        assert "'gone'" in reply.text
        assert not any(part in reply.text for part in ("127.0.0", "http:", ":9"))


def test_a_stream_that_breaks_names_no_address(service: Service, provider: EchoServer) -> None:
    """Neither does the last event of a stream."""
    body = {"model": "inn", "messages": user("cut"), "stream": True}
    reply = httpx.post(f"{service.url}/v1/chat/completions", json=body)
    assert reply.status_code == 200
    assert "error" in reply.text
    assert "127.0.0.1" not in reply.text


def test_an_item_that_was_answered_can_be_referred_to(client: openai.OpenAI, provider: EchoServer) -> None:
    """What a stored response said, and what it was asked, may stand in the next input by reference; unknown ids are 404."""
    first = client.responses.create(model="inn", input="My name is Ada")
    asked = client.responses.input_items.list(first.id).data[0]
    references: Any = [{"type": "item_reference", "id": item.id} for item in (asked, first.output[0])]
    client.responses.create(model="inn", input=[*references, {"role": "user", "content": "What is it?"}])
    assert provider.requests[-1].body["messages"] == [
        *user("My name is Ada"),
        {"role": "assistant", "content": "You said: My name is Ada"},
        *user("What is it?"),
    ]
    with pytest.raises(openai.NotFoundError) as caught:
        client.responses.create(model="inn", input=[{"type": "item_reference", "id": "msg_nobody"}])
    assert (caught.value.code, caught.value.param) == ("item_not_found", "input[0]")
