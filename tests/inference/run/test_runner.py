"""PromptRunner: from a chat to a request that the model can take, and from an answer to a result."""

import copy
import itertools
from dataclasses import replace
from typing import Any

import pytest

from innkeeper.dialects import DIALECTS
from innkeeper.dialects.providers.openai import OpenAI
from innkeeper.inference.client.blocking import Client
from innkeeper.inference.client.endpoint import Response
from innkeeper.inference.errors import DecodeError, HttpError, PreflightError
from innkeeper.inference.fake.provider import EchoServer, FakeClient
from innkeeper.inference.fake.script import FakeReply, Fault
from innkeeper.inference.run.config import RunnerConfig
from innkeeper.inference.run.request import PromptRequest
from innkeeper.inference.run.runner import PromptRunner
from innkeeper.prompt import (
    BudgetGroup,
    FrozenDict,
    InMemoryVariables,
    MaxTokensExceededError,
    NoConfig,
    NoteKind,
    Pipeline,
    Plan,
    State,
    Step,
    StrictModeError,
    TraceCollector,
    UnknownNameError,
    UsageError,
)
from innkeeper.prompt.run.state import Ports
from innkeeper.taverns import replay

CONFIG = RunnerConfig.build(
    "openai", "gpt-4o", llm_options_defaults={"temperature": 0.2, "extra": {"a": 1}}, tavern="vibe"
)
CARD = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {"name": "Sera", "description": "A keeper of bees.", "post_history_instructions": "Stay calm."},
}
CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Good evening."}]


def runner(*script: Any) -> PromptRunner:
    """A runner over a script."""
    return PromptRunner(FakeClient(*script))


def sources(request: PromptRequest) -> list[str | None]:
    """What the blocks of the prompt are."""
    return [block.source for block in request.plan.blocks]


def test_request() -> None:
    """Model, messages, defaults and options, deep-merged; what is decided by the runner cannot be asked for."""
    options = {"temperature": 0.5, "extra": {"b": 2}, "model": "other", "messages": []}
    made = runner().build_request(CONFIG, CHAT, message="Late?", llm_options=options)
    assert made.request == {
        "model": "gpt-4o",
        "messages": [*CHAT, {"role": "user", "content": "Late?"}],
        "temperature": 0.5,
        "extra": {"a": 1, "b": 2},
    }
    assert [note.message for note in made.notes if note.kind is NoteKind.IGNORED] == [
        "llm_options.model: the runner decides it",
        "llm_options.messages: the runner decides it",
    ]


def test_nothing_of_the_callers_changes() -> None:
    """Options, history and metadata that were passed in are as they were; what the request gives out is a copy."""
    arguments: dict[str, Any] = {
        "history": copy.deepcopy(CHAT),
        "llm_options": {"model": "x", "extra": {"b": [1]}},
        "meta": {"system_template": "Hello."},
        "request": {"macro_vars": {"a": 1}},
    }
    before = copy.deepcopy(arguments)

    def shout(messages: list[dict[str, Any]]) -> None:
        for message in messages:
            message["content"] = message["content"].upper()

    made = runner().build_request(CONFIG, message_transforms=[shout], **arguments)
    made.messages.clear()
    made.request["extra"]["b"].append(2)
    assert arguments == before
    assert made.request["extra"]["b"] == [1]
    assert [message["content"] for message in made.messages] == ["HELLO.", "HI", "GOOD EVENING."]
    assert made.plan.blocks[0].content == "Hello."


def test_cards_are_reachable() -> None:
    """A card, a persona and templates go through the runner into the tavern."""
    made = runner().build_request(CONFIG, CHAT, character=CARD, user={"name": "Alice"}, message="Late?")
    assert sources(made) == ["default_system", "history", "history", "post_history_instructions", "user_message"]
    assert "You are Sera." in made.messages[0]["content"]


def test_system_is_a_block_of_its_own() -> None:
    """A runner's system text is a system block before the history, in the system group, which trimming spares."""
    made = runner().build_request(CONFIG, CHAT, system=" Be brief. ", character=CARD, message="Late?")
    assert sources(made)[:3] == ["default_system", "request_system", "history"]
    block = made.plan.blocks[1]
    assert (block.role, block.group, block.content) == ("system", BudgetGroup.SYSTEM, " Be brief. ")
    assert replay(made.plan.replay()).fingerprint() == made.plan.fingerprint()


@pytest.mark.parametrize("tavern", ["vibe", "silly", "smart"])
def test_every_tavern_takes_the_system_text(tavern: str) -> None:
    """The text stands once before the chat, whatever the tavern; no step is added for it, so the plan can be replayed."""
    config = RunnerConfig.build("openai", "m", tavern=tavern)
    preset = {"prompts": [{"identifier": "chatHistory"}]} if tavern == "smart" else None
    made = runner().build_request(config, CHAT, system="Be brief.", message="Late?", request={"preset": preset})
    found = [index for index, message in enumerate(made.messages) if "Be brief." in message["content"]]
    said = [message["content"] for message in made.messages].index("Hi")
    assert len(found) == 1
    assert found[0] < said
    assert made.messages[found[0]]["role"] == "system"
    assert made.plan.unreplayable == ()


def test_a_pipeline_that_does_not_read_the_system_text() -> None:
    """Steps of the caller's own that leave the text out do not do so in silence."""

    def small(state: State, _config: Any) -> None:
        state.result.plan = Plan(blocks=())

    config = RunnerConfig.build("openai", "m", pipeline=Pipeline(Step("small", small, NoConfig)))
    notes = [note.message for note in runner().build_request(config, CHAT, system="Be brief.").notes]
    assert "system has no effect: no step of the pipeline reads it" in notes


def test_the_plan_is_rendered_once() -> None:
    """The body is what one call of the dialect gives; transforms are a part of it, and noted."""

    class Counting(OpenAI):
        calls = 0

        def request(self, messages: Any, **rest: Any) -> Any:
            Counting.calls += len(messages) > 0
            return super().request(messages, **rest)

    def shout(messages: list[dict[str, Any]]) -> None:
        messages[-1]["content"] = messages[-1]["content"].upper()

    ports = Ports(dialects=DIALECTS.with_(Counting("counting")))
    made = runner().build_request(CONFIG, CHAT, dialect="counting", ports=ports, message_transforms=[shout])
    assert Counting.calls == 1
    assert made.messages[-1]["content"] == "GOOD EVENING."
    assert "counting: the message transform 'shout' was applied" in [note.message for note in made.notes]
    assert made.request["messages"] == made.messages


def test_dialect_options() -> None:
    """What the dialect is told shapes the messages and is not sent; as an option of the request it is refused."""
    orphan = [{"role": "user", "content": "Look."}, {"role": "tool", "content": "{}", "tool_call_id": "c1"}]
    left = runner().build_request(CONFIG, orphan)
    mended = runner().build_request(CONFIG, orphan, dialect_options={"repair": True})
    assert left.messages[-1]["role"] == "tool"
    assert "tool" not in [message["role"] for message in mended.messages]
    assert "repair" not in mended.request
    with pytest.raises(UsageError, match="repair") as caught:
        runner().build_request(CONFIG, orphan, llm_options={"repair": True})
    assert "dialect_options" in str(caught.value.hint)


@pytest.mark.parametrize("system", [None, "", "  \n"])
def test_blank_system_is_none(system: str | None) -> None:
    """A blank system text adds nothing."""
    assert sources(runner().build_request(CONFIG, CHAT, system=system)) == ["history", "history"]


def test_system_must_be_text() -> None:
    """Anything else is a mistake."""
    with pytest.raises(UsageError, match="system must be text"):
        runner().build_request(CONFIG, CHAT, system=3)  # type: ignore[arg-type]


def test_system_counts_against_the_window() -> None:
    """The guard of the budget sees the system text: what does not fit is refused before it is sent."""
    small = RunnerConfig.build("openai", "gpt-4o", capabilities_overrides={"context_window_tokens": 30}, tavern="vibe")
    assert runner().build_request(small, CHAT).messages
    with pytest.raises(MaxTokensExceededError):
        runner().build_request(small, CHAT, system="word " * 60)


def test_base_request() -> None:
    """Further inputs come in a request; arguments win over it, and tavern, model and context are the config's."""
    base = {"message": "from the base", "tavern": "silly", "model": "x", "now": "2026-01-01T00:00:00Z", "seed": 7}
    made = runner().build_request(CONFIG, CHAT, request=base)
    assert made.messages[-1]["content"] == "from the base"
    assert made.plan.request is not None
    assert (made.plan.request.seed, made.plan.request.model, made.plan.request.tavern) == (7, "gpt-4o", "vibe")
    assert runner().build_request(CONFIG, CHAT, message="mine", request=base).messages[-1]["content"] == "mine"


def test_a_runners_plan_can_be_replayed() -> None:
    """Step options of the config are part of the recorded request, so that a replay gives the same plan."""
    context = {"language_policy": {"enabled": True, "target_lang": "ja-JP"}}
    config = RunnerConfig.build(
        "openai", "m", context, step_options={"language_policy": {"style_hint": "warm"}}, tavern="vibe"
    )
    plan = runner().build_request(config, CHAT, message="Late?").plan
    assert "Style: warm" in plan.blocks[2].content
    assert replay(plan.replay()).fingerprint() == plan.fingerprint()


def test_strict() -> None:
    """With ``strict`` a warning is an error, and an unknown transform as well."""
    context = {"language_policy": {"enabled": True, "target_lang": "not a language"}}
    config = RunnerConfig.build("openai", "m", context, tavern="vibe")
    assert runner().build_request(config, CHAT).plan.warnings
    with pytest.raises(StrictModeError, match="language policy"):
        runner().build_request(config, CHAT, strict=True)
    assert runner().build_request(CONFIG, CHAT, message_transforms=["nobody"]).messages == CHAT
    with pytest.raises(UnknownNameError, match="nobody"):
        runner().build_request(CONFIG, CHAT, message_transforms=["nobody"], strict=True)


def test_policy_without_a_step_is_noted() -> None:
    """A language policy that the tavern cannot follow is named."""
    pipeline = CONFIG.pipeline.without("language_policy")
    config = RunnerConfig.build("openai", "m", {"language_policy": {"enabled": True}}, pipeline=pipeline)
    notes = [note.message for note in runner().build_request(config, CHAT).notes]
    assert any("context.language_policy" in note for note in notes)


def test_dialects_of_other_shapes() -> None:
    """A dialect that gives no list of messages is refused by its name, an unknown one as such."""
    with pytest.raises(UsageError, match="'anthropic' does not give a list of messages"):
        runner().build_request(CONFIG, CHAT, dialect="anthropic")
    with pytest.raises(UnknownNameError):
        runner().build_request(CONFIG, CHAT, dialect="nobody")


def test_tool_messages_go_through() -> None:
    """Calls and results in the history reach the wire in the provider's shape."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    chat = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "{}", "tool_call_id": "c1"},
    ]
    transforms = ["assistant_tool_calls_content_null_if_blank"]
    messages = runner().build_request(CONFIG, chat, message_transforms=transforms).messages
    assert messages[1] == {"role": "assistant", "content": None, "tool_calls": [call]}
    assert messages[2] == {"role": "tool", "content": "{}", "tool_call_id": "c1"}


def test_parallel_calls_stay_visible() -> None:
    """A switch that the model does not know is not sent, and still seen in the options."""
    config = RunnerConfig.build("somebody", "m", tavern="vibe")
    made = runner().build_request(config, CHAT, llm_options={"tools": [{"type": "function"}]})
    assert "parallel_tool_calls" not in made.request
    assert made.options["parallel_tool_calls"] is False


@pytest.mark.parametrize("name", ["stream", "stream_options"])
def test_streaming_is_no_option(name: str) -> None:
    """How an answer comes is said by the method."""
    with pytest.raises(UsageError, match=name):
        runner().build_request(CONFIG, CHAT, llm_options={name: True})


def test_preflight_runs_before_anything() -> None:
    """What the model cannot take is refused before the prompt is built, and nothing is written."""
    config = RunnerConfig.build("openrouter", "openai/gpt-x", tavern="vibe")
    store = InMemoryVariables()
    options = {"response_format": {"type": "json_schema"}}
    meta = {"system_template": "{% setvar x = 1 %}"}
    with pytest.raises(PreflightError):
        runner().build_request(config, CHAT, llm_options=options, variables_store=store, meta=meta)
    assert store.names() == ()


def test_variables_are_committed_unless_told_otherwise() -> None:
    """A build writes its variables to the store; with ``commit=False`` only when it is asked to, and then only its own."""
    meta = {"system_template": "{% incvar visits %}{{ visits }}"}
    store = InMemoryVariables({"local": {"visits": 1, "other": "a"}})
    runner().build_request(CONFIG, CHAT, meta=meta, variables_store=store)
    assert store.get("visits") == 2
    made = runner().build_request(CONFIG, CHAT, meta=meta, variables_store=store, commit=False)
    assert store.get("visits") == 2
    store.set("other", "b")
    made.commit(store)
    assert store.to_dict()["local"] == {"visits": 3, "other": "b"}


def test_a_failure_after_the_build_writes_nothing() -> None:
    """When the dialect cannot be used, the variables stay as they were."""
    store = InMemoryVariables()
    meta = {"system_template": "{% setvar x = 1 %}x"}
    with pytest.raises(UsageError):
        runner().build_request(CONFIG, CHAT, meta=meta, variables_store=store, dialect="anthropic")
    assert store.names() == ()


def test_ports() -> None:
    """Objects that are not data reach the build."""
    trace = TraceCollector()
    runner().build_request(CONFIG, CHAT, ports=Ports(instrumenter=trace))
    assert "plan_assembly" in [step.name for step in trace.to_trace().steps]


def test_perform() -> None:
    """One request goes out; the result holds the message, the reason, the figures and the time it took."""
    ticks = itertools.count(step=0.25)
    client = FakeClient(FakeReply(content="Late indeed.", reasoning="clock"))
    made = PromptRunner(client, timer=lambda: next(ticks)).build_request(CONFIG, CHAT)
    result = PromptRunner(client, timer=lambda: next(ticks)).perform(made)
    assert result.assistant_message == {"role": "assistant", "content": "Late indeed.", "reasoning": "clock"}
    assert (result.content, result.finish_reason, result.elapsed_ms) == ("Late indeed.", "stop", 250.0)
    assert result.usage is not None
    assert result.usage["completion_tokens"] == 2
    assert client.requests == [made.request]
    assert "Late" not in repr(result)


def test_stop_strings_and_tools_of_the_tavern() -> None:
    """What the plan adds is sent by the provider's names, or noted; what the caller decides is sent as it is."""

    def add(state: State, _config: Any) -> None:
        state.result.stop = ("User:",)
        state.result.options |= {"max_tokens": 64, "top_k": 40}

    pipeline = CONFIG.pipeline.append(Step("sampling", add, NoConfig))
    config = RunnerConfig.build("openai", "m", pipeline=pipeline)
    tools = [{"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {}}}]
    made = runner().build_request(config, CHAT, request={"tools": tools})
    assert (made.request["stop"], made.request["max_completion_tokens"]) == (["User:"], 64)
    assert made.request["tools"] == [{"type": "function", "function": tools[0]}]
    assert any("'top_k' is not sent" in note.message for note in made.notes)
    options = {"stop": ["x"], "max_tokens": 3, "top_k": 2}
    assert runner().build_request(config, CHAT, llm_options=options).request.items() >= options.items()


def test_a_payload_that_streams_is_not_performed() -> None:
    """A request that was made into a stream by hand goes through the methods for streams."""
    made = runner().build_request(CONFIG, CHAT)
    streamed = replace(made, payload=FrozenDict({**made.payload, "stream": True}))
    with pytest.raises(UsageError, match="whole answers"):
        runner().perform(streamed)


def test_deleted_variables_are_committed() -> None:
    """A variable that a build removes is removed from the store."""
    store = InMemoryVariables({"local": {"a": 1, "b": 2}})
    runner().build_request(CONFIG, CHAT, meta={"system_template": "{% deletevar a %}x"}, variables_store=store)
    assert store.to_dict()["local"] == {"b": 2}


def test_response_transforms() -> None:
    """Repairs are applied to the message and not to the body."""
    whole = {"choices": [{"message": {"role": "assistant", "content": None, "function_call": {"name": "look"}}}]}
    made = runner().build_request(CONFIG, CHAT, response_transforms=["Assistant-Function-Call-To-Tool-Calls"])
    result = runner(whole).perform(made)
    assert result.assistant_message["tool_calls"][0]["id"] == "call_1"
    assert "function_call" in result.body["choices"][0]["message"]


def test_lone_surrogates() -> None:
    """Halves of characters are replaced in every text of the message, as in a stream; the body stays as it came."""
    call = {"id": "1", "function": {"name": "look", "arguments": '{"a": "\udfff"}'}}
    said = {"role": "assistant", "content": "a\ud800b", "reasoning": ["\udfff"], "tool_calls": [call]}
    result = runner({"choices": [{"message": said}]}).perform(runner().build_request(CONFIG, CHAT))
    message = result.assistant_message
    assert (message["content"], message["reasoning"]) == ("a\ufffdb", ["\ufffd"])
    assert message["tool_calls"][0]["function"]["arguments"] == '{"a": "\ufffd"}'
    assert result.body["choices"][0]["message"]["content"] == "a\ud800b"


@pytest.mark.parametrize("body", [{"choices": []}, {}, {"choices": [{}]}, {"choices": [{"message": None}]}], ids=str)
def test_an_answer_without_a_message(body: Any) -> None:
    """It is an error and no empty answer, as is a body that is no object."""
    made = runner().build_request(CONFIG, CHAT)
    with pytest.raises(DecodeError, match="no message"):
        PromptRunner(FakeClient()).read(made, Response(200, {}, body), 1.0)
    with pytest.raises(DecodeError, match="not a JSON object"):
        PromptRunner(FakeClient()).read(made, Response(200, {}, [1]), 1.0)


def test_errors_pass_through() -> None:
    """The client's errors are the runner's, after a single request."""
    client = FakeClient(Fault.status(500), "never")
    made = PromptRunner(client).build_request(CONFIG, CHAT)
    with pytest.raises(HttpError):
        PromptRunner(client).perform(made)
    assert len(client.requests) == 1


@pytest.mark.parametrize("server", [False, True], ids=["fake", "server"])
def test_streams(server: bool) -> None:
    """By callback or by iterator, the same pieces and the same result."""
    with (
        EchoServer("It is late.", "It is late.") as echo,
        Client(echo.base_url) if server else FakeClient("It is late.", "It is late.") as client,
    ):
        ask = PromptRunner(client)
        made = ask.build_request(CONFIG, CHAT)
        heard: list[str] = []
        called = ask.perform_stream(made, heard.append)
        with ask.stream(made) as pieces:
            assert list(pieces) == heard == ["It ", "is ", "late."]
    assert (
        pieces.result.assistant_message == called.assistant_message == {"role": "assistant", "content": "It is late."}
    )
    assert pieces.result.usage == called.usage
    assert called.usage is not None
    assert pieces.partial == "It is late."


def test_stream_left_early() -> None:
    """A stream that was left has no result, but what came."""
    ask = runner("It is late.")
    with ask.stream(ask.build_request(CONFIG, CHAT)) as pieces:
        next(pieces)
    with pytest.raises(UsageError, match="has not ended"):
        _ = pieces.result
    assert pieces.partial == "It "


@pytest.mark.parametrize(
    "options",
    [{"tools": [{"type": "function"}]}, {"response_format": {"type": "json_object"}}],
    ids=["tools", "format"],
)
def test_streams_with_tools_are_refused(options: dict[str, Any]) -> None:
    """Tools and formats never stream."""
    ask = runner()
    made = ask.build_request(CONFIG, CHAT, llm_options=options)
    for stream in (ask.perform_stream, ask.stream):
        with pytest.raises(PreflightError, match="a stream cannot be combined"):
            stream(made)


def test_clients_of_other_kinds() -> None:
    """Anything with ``chat_completions`` serves; without ``chat`` it cannot stream; without either it is a mistake."""

    class Plain:
        def chat_completions(self, **request: Any) -> Response:
            return Response(200, {}, {"choices": [{"message": {"content": request["model"]}}]})

    ask = PromptRunner(Plain())
    made = ask.build_request(CONFIG, CHAT)
    assert ask.perform(made).content == "gpt-4o"
    with pytest.raises(PreflightError, match="cannot stream"):
        ask.perform_stream(made)
    with pytest.raises(UsageError, match="chat_completions"):
        PromptRunner(object())


def test_the_key_is_in_no_request() -> None:
    """Neither the request, nor its plan, nor what they give out, knows the client's key."""
    key = "sk-test-0123456789"
    ask = PromptRunner(FakeClient("x", api_key=key))
    made = ask.build_request(CONFIG, CHAT, character=CARD)
    result = ask.perform(made)
    assert isinstance(made.plan, Plan)
    shown = [repr(ask), repr(made), repr(result), str(made.plan.to_dict()), str(made.request), repr(made.plan.replay())]
    assert key not in "\n".join(shown)


@pytest.mark.parametrize(("name", "hint"), [("charcter", "character"), ("lorebok", "lorebooks"), ("zzz", "inputs:")])
def test_an_input_that_there_is_not(name: str, hint: str) -> None:
    """The error names the nearest one, or where it belongs, and no function of ours."""
    build: Any = runner().build_request
    with pytest.raises(UsageError, match=f"unknown input '{name}'") as caught:
        build(CONFIG, CHAT, **{name: 1})
    assert hint in str(caught.value.hint)
    assert "_build" not in caught.value.render()


def test_inputs_are_those_of_a_build() -> None:
    """Whatever a tavern's build takes by keyword, a runner takes; a misspelt name is refused with the nearest."""
    runner = PromptRunner(FakeClient("x"))
    config = RunnerConfig.build("openai", "gpt-4o")
    book = {"entries": [{"keys": ["reef"], "content": "The reef is sharp."}]}
    request = runner.build_request(
        config, message="Is the reef safe?", lorebooks=[book], now="2026-01-15T12:00:00Z", seed=3
    )
    assert "The reef is sharp." in str(request.messages)
    assert request.plan.request is not None
    assert (request.plan.request.seed, request.plan.tavern) == (3, "silly")
    with pytest.raises(UsageError, match="unknown input 'lorebook_s'") as caught:
        runner.build_request(config, message="Hm", lorebook_s=[book])
    assert "lorebooks" in str(caught.value.hint)
