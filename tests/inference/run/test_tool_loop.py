"""The tool loop: calls run until there is an answer, within its limits, and every rule of its modes holds."""

import asyncio
import json
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from innkeeper.inference.client.blocking import Client
from innkeeper.inference.client.endpoint import Response
from innkeeper.inference.errors import HttpError, StreamCutError, ToolUseError
from innkeeper.inference.fake.provider import AsyncFakeClient, EchoServer, FakeClient
from innkeeper.inference.fake.script import FakeReply, Fault
from innkeeper.inference.run.config import RunnerConfig
from innkeeper.inference.run.runner import PromptRunner
from innkeeper.inference.run.tool_loop import AsyncToolLoopRunner, ToolLoopRunner
from innkeeper.inference.run.tool_run import EVENTS, ToolLoopResult
from innkeeper.prompt import InMemoryVariables, Message, UsageError

TOOLS = [
    {"name": "look", "description": "Look.", "parameters": {"type": "object", "required": []}},
    {"name": "go_on", "description": "Go."},
    {"name": "secret", "exposed_to_model": False},
]


def executor(name: str, args: dict[str, Any]) -> Any:
    """Looks work, going does not."""
    if name == "look":
        return {"seen": "a door", **args}
    raise ValueError("the door is locked")


def calls(*named: Any, content: str | None = None, **more: Any) -> FakeReply:
    """An answer that calls tools: names, or (name, arguments)."""
    pairs = [one if isinstance(one, (tuple, dict)) else (one, "{}") for one in named]
    return FakeReply(content=content, tool_calls=tuple(pairs), **more)


def loop(
    *script: Any, tool_calling: Mapping[str, Any] | None = None, provider: str = "somebody", **options: Any
) -> tuple[ToolLoopRunner, FakeClient]:
    """A loop over a script; relaxed unless said otherwise."""
    context = {"tool_calling": dict(tool_calling or {}), **options.pop("context", {})}
    config = RunnerConfig.build(provider, "m", context, **{"tavern": "vibe", **options.pop("config", {})})
    client = FakeClient(*script)
    options.setdefault("registry", TOOLS)
    return ToolLoopRunner.build(client, config, options.pop("executor", executor), **options), client


def results(result: ToolLoopResult) -> list[dict[str, Any]]:
    """The envelopes of all tool messages."""
    return [json.loads(message.content) for message in result.history if message.role == "tool"]


def codes(result: ToolLoopResult) -> list[list[str]]:
    """The error codes of all results."""
    return [[error["code"] for error in envelope["errors"]] for envelope in results(result)]


def test_a_whole_run() -> None:
    """Ask, call, ask again: the chat holds everything in the order that providers want."""
    runner, client = loop(calls(("look", {"far": True}), content="Let me see."), "There is a door.")
    result = runner.run("What is there?", [{"role": "assistant", "content": "Welcome."}])
    assert result.assistant_text == "There is a door."
    assert [message.role for message in result.history] == ["assistant", "user", "assistant", "tool", "assistant"]
    called, answer = result.history[2], result.history[3]
    assert (called.content, called.tool_calls[0]["id"]) == ("Let me see.", "call_1")
    assert answer.tool_call_id == "call_1"
    assert results(result)[0]["data"] == {"seen": "a door", "far": True}
    first, second = client.requests
    assert [tool["function"]["name"] for tool in first["tools"]] == ["look", "go_on"]
    assert first["tool_choice"] == "auto"
    assert [message["role"] for message in second["messages"]] == ["assistant", "user", "assistant", "tool"]
    assert second["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"far": true}'


def test_over_the_wire() -> None:
    """The same against a server."""
    config = RunnerConfig.build("openai", "m", tavern="vibe")
    with EchoServer(calls("look"), "A door.") as server, Client(server.base_url) as client:
        result = ToolLoopRunner.build(PromptRunner(client), config, executor, registry=TOOLS).run("Look.")
    assert result.assistant_text == "A door."


def test_answer_without_tools() -> None:
    """In relaxed mode an answer needs no call."""
    result = loop("Just so.")[0].run("Hm?")
    assert (result.assistant_text, len(result.history), len(result.trace)) == ("Just so.", 2, 1)


@pytest.mark.parametrize("text", [None, "", "  "])
def test_no_user_text(text: str | None) -> None:
    """Blank text adds no message: the history speaks for itself."""
    result = loop("Go on.")[0].run(text, [{"role": "user", "content": "Hm?"}])
    assert [message.role for message in result.history] == ["user", "assistant"]


IDS = {
    "the_documented_case": (["", "a", "a"], ["tc_1", "a", "a__2"]),
    "all_missing": ([None, None], ["tc_1", "tc_2"]),
}


@pytest.mark.parametrize(("given", "ids"), IDS.values(), ids=IDS)
def test_ids(given: list[Any], ids: list[str]) -> None:
    """Calls and results share ids that are there and unique."""
    raw = [{"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}} for one in given]
    result = loop(calls(*raw), "Done.")[0].run("Look.")
    assert [call["id"] for call in result.history[1].tool_calls] == ids
    assert [message.tool_call_id for message in result.history if message.role == "tool"] == ids


ARGUMENTS = {
    "fenced": ('```json\n{"a": 1}\n```', {"seen": "a door", "a": 1}, []),
    "encoded_twice": ('"{\\"a\\": 1}"', {"seen": "a door", "a": 1}, []),
    "blank": ("  ", {"seen": "a door"}, []),
    "object": ({"a": 1}, {"seen": "a door", "a": 1}, []),
    "prose": ("now", {}, ["ARGUMENTS_JSON_PARSE_ERROR"]),
    "list": ("[1]", {}, ["ARGUMENTS_JSON_PARSE_ERROR"]),
    "large": ('{"a": "%s"}' % ("x" * 100), {"bytes": 109, "limit": 50}, ["ARGUMENTS_TOO_LARGE"]),
}


@pytest.mark.parametrize(("raw", "data", "errors"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments(raw: Any, data: dict[str, Any], errors: list[str]) -> None:
    """Arguments are read with patience; what cannot be read goes back to the model as an error."""
    one = {"id": "1", "function": {"name": "look", "arguments": raw}}
    result = loop(calls(one), "Done.", tool_calling={"max_tool_args_bytes": 50})[0].run("Look.")
    assert (results(result)[0]["data"], codes(result)) == (data, [errors])


def test_names() -> None:
    """Aliases and dots lead to tools; hidden, denied and unknown ones are refused, and the loop goes on."""
    runner, client = loop(
        calls("peek", " look ", "go.on", "secret", "nobody"),
        "Done.",
        tool_aliases={"peek": "look"},
        tool_calling={"tool_denylist": ["go_on"]},
    )
    result = runner.run("Look.")
    assert codes(result) == [[], [], *[["TOOL_NOT_ALLOWED"]] * 3]
    assert [tool["function"]["name"] for tool in client.requests[0]["tools"]] == ["look"]


def test_allow_list() -> None:
    """What is not allowed is neither shown nor called."""
    runner, client = loop(calls("go_on"), "Done.", tool_calling={"tool_allowlist": ["look"]})
    assert codes(runner.run("Go.")) == [["TOOL_NOT_ALLOWED"]]
    assert len(client.requests[0]["tools"]) == 1


OUTPUTS = {
    "large": ("x" * 3000, "TOOL_OUTPUT_TOO_LARGE"),
    "no_json": ({"a": object()}, "TOOL_OUTPUT_SERIALIZATION_ERROR"),
}


@pytest.mark.parametrize(("output", "code"), OUTPUTS.values(), ids=OUTPUTS)
def test_outputs(output: Any, code: str) -> None:
    """Outputs that cannot be sent are replaced by the reason, and count as failures."""
    runner, _ = loop(calls("look"), "Done.", executor=lambda **_: output, tool_calling={"max_tool_output_bytes": 2000})
    result = runner.run("Look.")
    assert codes(result) == [[code]]
    assert result.trace[0].tool_results[0]["ok"] is False


@pytest.mark.parametrize(
    ("tool_calling", "provider", "run"),
    [
        ({}, "somebody", 3),
        ({"max_tool_calls_per_turn": 2}, "somebody", 2),
        ({"request_overrides": {"parallel_tool_calls": False}}, "somebody", 1),
        ({}, "openai", 1),
    ],
)
def test_calls_per_turn(tool_calling: dict[str, Any], provider: str, run: int) -> None:
    """Calls past the cap are ignored, counted, and not in the history: every call there has its result."""
    runner, client = loop(calls("look", "look", "look"), "Done.", tool_calling=tool_calling, provider=provider)
    result = runner.run("Look.")
    assert len(results(result)) == len(result.history[1].tool_calls) == run
    assert result.trace[0].response_summary["ignored_tool_calls_count"] == 3 - run
    assert client.requests[0].get("parallel_tool_calls") is (False if provider == "openai" else None)


def test_turn_limit() -> None:
    """A model that never stops calling is stopped, with the chat so far."""
    runner, client = loop(*[calls("look")] * 5)
    with pytest.raises(ToolUseError) as caught:
        runner.run("Look.", max_turns=3)
    assert (caught.value.code, len(client.requests), len(caught.value.trace)) == ("TURN_LIMIT", 3, 3)
    assert len(caught.value.history) == 7
    with pytest.raises(UsageError, match="at least 1"):
        runner.run("Look.", max_turns=0)


ENFORCED = {
    "no_calls": ("tolerated", ["Just so."], "NO_TOOL_CALLS"),
    "no_success": ("tolerated", [calls("go_on"), "It is locked."], "TOOL_ERROR"),
    "a_success_is_enough": ("tolerated", [calls("go_on"), calls("look"), "A door."], None),
    "success_first": ("tolerated", [calls("look"), calls("go_on"), "A door."], None),
    "fatal": ("fatal", [calls("look"), calls("go_on"), "A door."], "TOOL_ERROR"),
    "fatal_but_mended": ("fatal", [calls("look", "go_on"), calls("look"), "A door."], "TOOL_ERROR"),
    "fatal_all_well": ("fatal", [calls("look"), "A door."], None),
}


@pytest.mark.parametrize(("policy", "script", "code"), ENFORCED.values(), ids=ENFORCED)
def test_enforced(policy: str, script: list[Any], code: str | None) -> None:
    """In enforced mode tools must be called, and succeed as the policy demands."""
    runner, _ = loop(*script, tool_calling={"tool_use_mode": "enforced", "tool_failure_policy": policy})
    if code is None:
        assert runner.run("Look.").assistant_text == "A door."
        return
    with pytest.raises(ToolUseError) as caught:
        runner.run("Look.")
    assert caught.value.code == code
    assert caught.value.history
    assert caught.value.trace


def test_a_failed_tool_that_worked_the_second_time() -> None:
    """Under the fatal policy only a tool's last result counts."""
    outcomes = iter([ValueError("not yet"), "open"])

    def flaky(name: str, args: dict[str, Any]) -> Any:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    values = {"tool_use_mode": "enforced", "tool_failure_policy": "fatal"}
    runner, _ = loop(calls("look"), calls("look"), "Open.", executor=flaky, tool_calling=values)
    assert runner.run("Look.").assistant_text == "Open."


def test_disabled() -> None:
    """Disabled tools are not offered, calls that come anyway are ignored, and no executor is needed."""
    runner, client = loop(
        calls("look", content="Hm."), tool_calling={"tool_use_mode": "disabled"}, provider="openai", executor=None
    )
    result = runner.run("Look.")
    assert (result.assistant_text, results(result)) == ("Hm.", [])
    assert not client.requests[0].keys() & {"tools", "tool_choice", "parallel_tool_calls"}


def test_an_executor_is_needed() -> None:
    """Tools without an executor are a mistake; without tools none is needed."""
    with pytest.raises(UsageError, match="tool_executor"):
        loop(executor=None)
    assert loop("Just so.", executor=None, registry=[], provider="openai")[0].run("Hm?").assistant_text == "Just so."


def test_unknown_inputs() -> None:
    """A misspelt input is found when the loop is built."""
    with pytest.raises(UsageError, match="unknown input 'charcter'") as caught:
        loop(charcter={"name": "Sera"})
    assert caught.value.hint == "did you mean 'character'?"


EMPTY = {
    "default": ({}, False, "Your last answer was empty"),
    "own_text": ({"fix_empty_final_user_text": "Say it."}, False, "Say it."),
    "with_tools": ({"fix_empty_final_disable_tools": False}, True, "Your last answer was empty"),
}


@pytest.mark.parametrize(("tool_calling", "tools", "text"), EMPTY.values(), ids=EMPTY)
def test_empty_final(tool_calling: dict[str, Any], tools: bool, text: str) -> None:
    """A blank answer after tools is asked for once more; the asking stays out of the chat."""
    runner, client = loop(calls("look"), FakeReply(content=" \n"), "A door.", tool_calling=tool_calling)
    result = runner.run("Look.")
    assert result.assistant_text == "A door."
    assert client.requests[2]["messages"][-1]["content"].startswith(text)
    assert ("tools" in client.requests[2]) is tools
    assert [message.role for message in result.history] == ["user", "assistant", "tool", "assistant"]


@pytest.mark.parametrize(
    ("script", "tool_calling", "requests"),
    [
        ([calls("look"), "", "", "never"], {}, 3),
        ([calls("look"), "", "never"], {"fix_empty_final": False}, 2),
        (["", "never"], {}, 1),
    ],
    ids=["only_once", "switched_off", "only_after_tools"],
)
def test_empty_final_that_stays(script: list[Any], tool_calling: dict[str, Any], requests: int) -> None:
    """Some blank answers are final."""
    runner, client = loop(*script, tool_calling=tool_calling)
    assert runner.run("Look.").assistant_text == ""
    assert len(client.requests) == requests


def test_fallback_without_tools() -> None:
    """In relaxed mode an error of the provider's is met by asking without tools, for the rest of the run."""
    runner, client = loop(Fault.status(500), "No tools, then.", tool_calling={"fallback_retry_count": 1})
    assert runner.run("Look.").assistant_text == "No tools, then."
    assert ["tools" in request for request in client.requests] == [True, False]


FATAL = {
    "no_retries": ({}, [Fault.status(500), "never"], 1),
    "enforced": ({"tool_use_mode": "enforced", "fallback_retry_count": 2}, [Fault.status(500), "never"], 1),
    "again_without_tools": ({"fallback_retry_count": 2}, [Fault.status(500), Fault.status(500), "never"], 2),
}


@pytest.mark.parametrize(("tool_calling", "script", "requests"), FATAL.values(), ids=FATAL)
def test_errors_of_the_provider(tool_calling: dict[str, Any], script: list[Any], requests: int) -> None:
    """Without a fallback left the error is the run's."""
    runner, client = loop(*script, tool_calling=tool_calling)
    with pytest.raises(HttpError):
        runner.run("Look.")
    assert len(client.requests) == requests


@pytest.mark.parametrize("fault", [Fault.status(429, retry_after=7), {"choices": []}], ids=["429", "empty"])
@pytest.mark.parametrize("provider", ["somebody", "openai"], ids=["relaxed", "enforced"])
def test_a_run_that_fails_after_tools_goes_on(provider: str, fault: Any) -> None:
    """Its error has the history and the trace; from there the run goes on, again and again, and no tool runs twice."""
    ran: list[str] = []

    def use(name: str, args: dict[str, Any]) -> Any:
        ran.append(name)
        return {"seen": "a door", **args}

    script = [calls("look", content="Let me see."), fault, fault, "A door."]
    runner, client = loop(*script, executor=use, provider=provider)
    with pytest.raises(ToolUseError) as caught:
        runner.run("Look.")
    error = caught.value
    assert (error.code, len(error.trace), error.details.get("retry_after", 7)) == ("REQUEST_FAILED", 2, 7)
    assert [message.role for message in error.history] == ["user", "assistant", "tool"]
    with pytest.raises(ToolUseError) as again:
        runner.run(None, error.history)
    assert runner.run(None, again.value.history).assistant_text == "A door."
    assert (ran, len(client.requests)) == (["look"], 4)


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"far": 1}', '{"far": 1}'),
        ('```json\n{"far": 1}\n```', '{"far": 1}'),
        ('"{}"', "{}"),
        ("far: yes", "{}"),
        ("", "{}"),
    ],
)
def test_arguments_that_go_back_are_json(arguments: str, sent: str) -> None:
    """Providers refuse others; what the tool is told stays as it was written."""
    runner, client = loop(calls({"id": "c", "function": {"name": "look", "arguments": arguments}}), "A door.")
    runner.run("Look.")
    (call,) = client.requests[1]["messages"][-2]["tool_calls"]
    assert call["function"]["arguments"] == sent


def test_events() -> None:
    """The events of a run, in order, each of a known type with its turn; sizes and codes, no texts."""
    heard: list[Mapping[str, Any]] = []
    runner, _ = loop(Fault.status(503), tool_calling={"fallback_retry_count": 1, "fix_empty_final": True})
    runner.run("Hello.", on_event=heard.append)
    assert [event["type"] for event in heard] == [
        "llm_request_start",
        "llm_request_error",
        "llm_request_retry",
        "llm_request_start",
        "llm_request_end",
        "final",
    ]
    heard.clear()
    loop(calls("look", "nobody"), "", "A door.")[0].run("Look.", on_event=heard.append)
    assert [(event["type"], event["turn"]) for event in heard] == [
        ("llm_request_start", 1),
        ("llm_request_end", 1),
        ("tool_call_start", 1),
        ("tool_call_end", 1),
        ("tool_call_start", 1),
        ("tool_call_end", 1),
        ("llm_request_start", 2),
        ("llm_request_end", 2),
        ("fix_empty_final", 2),
        ("llm_request_start", 3),
        ("llm_request_end", 3),
        ("final", 3),
    ]
    assert {event["type"] for event in heard} <= set(EVENTS)
    ended = heard[5]
    assert (ended["name"], ended["ok"], ended["error_codes"]) == ("nobody", False, ["TOOL_NOT_ALLOWED"])
    assert "door" not in str(heard)


def test_handlers_may_fail() -> None:
    """What a handler raises does not touch the run."""

    def fail(event: Mapping[str, Any]) -> None:
        raise RuntimeError(event["type"])

    assert loop(calls("look"), "A door.")[0].run("Look.", on_event=fail).assistant_text == "A door."


def test_trace() -> None:
    """One entry a request: what was offered, what came back, which tools ran; as JSON."""
    runner, _ = loop(calls(("look", {"a": 1}), content="Hm, " * 100), "A door.")
    first, second = runner.run("Look.").trace
    facts = first.to_dict()
    assert (facts["request"]["tools_count"], facts["request"]["messages_count"]) == (2, 1)
    assert facts["response_summary"]["has_tool_calls"] is True
    assert len(facts["response_summary"]["stripped_content_sample"]) == 200
    assert facts["tool_calls"] == [{"id": "call_1", "name": "look", "arguments_bytes": 8}]
    assert facts["tool_results"] == [{"id": "call_1", "name": "look", "ok": True, "error_codes": []}]
    assert second.response_summary["usage"]["completion_tokens"] == 2
    json.dumps(facts)


@pytest.mark.parametrize("kind", ["event", "function"])
def test_cancel(kind: str) -> None:
    """A run stops before the next request or tool when it is told to."""
    told = threading.Event()

    def execute(name: str, args: dict[str, Any]) -> str:
        told.set()
        return "seen"

    runner, client = loop(calls("look", "look"), "never", executor=execute)
    with pytest.raises(ToolUseError) as caught:
        runner.run("Look.", cancel=told if kind == "event" else told.is_set)
    assert (len(client.requests), caught.value.code) == (1, "CANCELLED")
    assert [message.role for message in caught.value.history] == ["user", "assistant", "tool"]


def test_tool_timeout() -> None:
    """A tool that hangs is reported to the model, and the run goes on."""
    hang = threading.Event()
    runner, _ = loop(
        calls("look"),
        "It takes too long.",
        executor=lambda **_: hang.wait(30),
        tool_calling={"tool_timeout": 0.05},
    )
    result = runner.run("Look.")
    hang.set()
    assert codes(result) == [["TOOL_TIMEOUT"]]


def test_transforms() -> None:
    """Tools, calls and results go through the transforms that the config names."""
    values = {
        "tool_transforms": ["openai_tools_strip_function_descriptions"],
        "tool_result_transforms": ["tool_result_compact_envelope"],
        "message_transforms": ["assistant_tool_calls_content_null_if_blank"],
        "response_transforms": ["assistant_content_tool_call_tags_to_tool_calls"],
    }
    runner, client = loop("<tool_call>look</tool_call>", "A door.", tool_calling=values)
    result = runner.run("Look.")
    assert results(result) == [{"ok": True, "tool_name": "look", "data": {"seen": "a door"}}]
    assert "description" not in client.requests[0]["tools"][0]["function"]
    assert client.requests[1]["messages"][1]["content"] is None
    assert client.requests[1]["messages"][1]["tool_calls"][0]["id"] == "tag_call_1"


def test_request_overrides_and_options() -> None:
    """Fields of the config and of the caller are sent; those that the loop decides are not overridden."""
    values = {"tool_choice": "required", "request_overrides": {"route": "fallback", "model": "x", "tools": []}}
    runner, client = loop(calls("look"), "Done.", tool_calling=values, llm_options={"temperature": 0})
    runner.run("Look.")
    sent = client.requests[0]
    assert (sent["route"], sent["model"], sent["tool_choice"], sent["temperature"]) == ("fallback", "m", "required", 0)
    assert len(sent["tools"]) == 2


def test_output_tags_on_the_final_answer() -> None:
    """Control tags are dealt with in the answer and in the chat's last message."""
    context = {"output_tags": {"enabled": True, "rules": [{"tag": "think", "action": "drop"}]}}
    result = loop("<think>hm</think>A door.", context=context)[0].run("Look.")
    assert result.assistant_text == result.history[-1].content == "A door."


def test_signatures_and_thoughts_are_kept() -> None:
    """What a provider wants back beside its calls is in the history."""
    extra = {"reasoning_details": [{"type": "text", "text": "hm"}], "signature": "s"}
    called = {"id": "1", "function": {"name": "look", "arguments": "{}"}, "extra_content": {"google": {"s": "x"}}}
    result = loop(calls(called, extra=extra), "Done.")[0].run("Look.")
    metadata = result.history[1].metadata
    assert (metadata["signature"], metadata["reasoning_details"][0]["text"]) == ("s", "hm")
    assert metadata["tool_calls"][0]["extra_content"] == {"google": {"s": "x"}}


def test_system_and_character() -> None:
    """System text and the tavern's inputs go into each request, and into the prompt's own places."""
    runner, client = loop(
        calls("look"),
        "Done.",
        system="Be brief.",
        character={"name": "Sera", "description": "Keeps bees."},
        context={"language_policy": {"enabled": True, "target_lang": "ja-JP"}},
    )
    runner.run("Look.")
    for request in client.requests:
        roles = [message["role"] for message in request["messages"]]
        assert roles[:3] == ["system", "system", "system"]
        assert roles[3:] in (["user"], ["user", "assistant", "tool"])
    assert client.requests[0]["messages"] == client.requests[1]["messages"][:4]


def test_variables_are_written_once() -> None:
    """However many requests a run takes, a template's changes count once, and tools may write as well."""
    store = InMemoryVariables({"local": {"visits": 0}})

    def execute(name: str, args: dict[str, Any]) -> str:
        store.set("lamp", "lit")
        return "ok"

    meta = {"system_template": "{% incvar visits %}Visit {{ var.visits }}."}
    runner, client = loop(calls("look"), calls("look"), "Done.", executor=execute, variables_store=store, meta=meta)
    runner.run("Look.")
    assert store.to_dict()["local"] == {"visits": 1, "lamp": "lit"}
    assert {request["messages"][0]["content"] for request in client.requests} == {"Visit 1."}


def test_a_failed_run_writes_nothing() -> None:
    """Variables of a run that raises stay as they were."""
    store = InMemoryVariables()
    meta = {"system_template": "{% setvar a = 1 %}x"}
    runner, _ = loop(Fault.status(500), variables_store=store, meta=meta)
    with pytest.raises(HttpError):
        runner.run("Look.")
    assert store.names() == ()


def test_one_loop_serves_many() -> None:
    """A loop keeps nothing of a run, and the caller's history stays as it was."""
    runner, _ = loop(calls("look"), "One.", calls("look"), "Two.")
    history = [Message("user", "Hi.")]
    assert [runner.run("Look.", history).assistant_text for _ in range(2)] == ["One.", "Two."]
    assert history == [Message("user", "Hi.")]


LOOK = FakeReply(content=None, tool_calls=(("look", "{}"),))


def run(client: Any, heard: list[Mapping[str, Any]], **config: Any) -> ToolLoopResult:
    """A run with a streamed end."""
    context = {"output_tags": {"enabled": True, "rules": [{"tag": "b", "action": "strip"}]}}
    settings = RunnerConfig.build("somebody", "m", context, **{"tavern": "vibe", **config})
    loop = ToolLoopRunner.build(client, settings, lambda **_: "seen", registry=[{"name": "look"}], system="Be brief.")
    return loop.run("Look.", on_event=heard.append, final_stream=True)


def test_stream() -> None:
    """The streamed text takes the place of the answer; the request has no tools and says so; tags are dealt with."""
    heard: list[Mapping[str, Any]] = []
    client = FakeClient(LOOK, "First.", "It <b>is</b> a door.")
    result = run(client, heard)
    assert result.assistant_text == result.history[-1].content == "It is a door."
    assert [event["delta"] for event in heard if event["type"] == "final_stream_delta"] == [
        "It ",
        "<b>is</b> ",
        "a ",
        "door.",
    ]
    assert [event["type"] for event in heard if "delta" not in event][-3:] == [
        "final_stream_start",
        "final_stream_end",
        "final",
    ]
    assert "finish_reason" in result.trace[-1].final_stream
    last = client.requests[-1]
    assert last["stream"] is True
    assert not last.keys() & {"tools", "tool_choice", "parallel_tool_calls"}
    assert last["messages"][0]["content"].startswith("Be brief.\n\nTools are off")


FAILURES = {
    "error": ([Fault.status(500)], "http"),
    "cut": ([Fault.cut(300)], "stream_cut"),
    "turned_down": ([Fault.status(429)], "http"),
}


@pytest.mark.parametrize(("script", "error"), FAILURES.values(), ids=FAILURES)
def test_failures(script: list[Any], error: str) -> None:
    """When the stream fails the first answer is the answer, and the trace says why."""
    heard: list[Mapping[str, Any]] = []
    result = run(FakeClient(LOOK, "First.", *script), heard)
    assert (result.assistant_text, result.trace[-1].final_stream) == ("First.", {"error": error})
    assert [event["error"] for event in heard if event["type"] == "final_stream_error"] == [error]


def test_a_blank_stream_is_no_answer() -> None:
    """The first answer stays when the stream says nothing."""
    assert run(FakeClient(LOOK, "First.", " "), []).assistant_text == "First."


class Plain:
    """A client that cannot stream."""

    def __init__(self, *script: Any) -> None:
        self._client = FakeClient(*script)

    def chat_completions(self, **request: Any) -> Response:
        return self._client.chat_completions(**request)


SKIPPED = {
    "no_tools": (FakeClient("First."), {}, "no tools were used"),
    "no_streaming": (
        FakeClient(LOOK, "First."),
        {"capabilities_overrides": {"supports_streaming": False}},
        "the model cannot stream",
    ),
    "no_method": (Plain(LOOK, "First."), {}, "the client cannot stream"),
}


@pytest.mark.parametrize(("client", "config", "reason"), SKIPPED.values(), ids=SKIPPED)
def test_skipped(client: Any, config: dict[str, Any], reason: str) -> None:
    """Where there is no need or no way, no second request is made, and the reason is told."""
    heard: list[Mapping[str, Any]] = []
    result = run(client, heard, **config)
    assert (result.assistant_text, result.trace[-1].final_stream) == ("First.", {"skipped": reason})
    assert [event["reason"] for event in heard if event["type"] == "final_stream_skipped"] == [reason]


TAVERNS = {
    "vibe": {},
    "silly": {"character": {"name": "Sera", "description": "Keeps bees."}},
    "smart": {"character": {"name": "Sera", "description": "Keeps bees."}},
}


@pytest.mark.parametrize(("tavern", "inputs"), TAVERNS.items(), ids=TAVERNS)
def test_every_tavern_carries_tools(tavern: str, inputs: dict[str, Any]) -> None:
    """Calls and their results reach the model in the second request, whatever the tavern makes of the rest."""
    runner, client = loop(calls(("look", {"far": True})), "A door.", config={"tavern": tavern}, **inputs)
    result = runner.run("What is there?", [{"role": "assistant", "content": "Welcome."}])
    assert result.assistant_text == "A door."
    called, answer = client.requests[1]["messages"][-2:]
    assert called["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"far": true}'}
    assert (answer["role"], answer["tool_call_id"]) == ("tool", called["tool_calls"][0]["id"])
    assert json.loads(answer["content"])["data"] == {"seen": "a door", "far": True}
    assert "tool_calls" not in str(client.requests[0]["messages"])
    assert [tool["function"]["name"] for tool in client.requests[0]["tools"]] == ["look", "go_on"]


@pytest.mark.parametrize(("tavern", "inputs"), TAVERNS.items(), ids=TAVERNS)
def test_every_tavern_carries_results_without_tools(tavern: str, inputs: dict[str, Any]) -> None:
    """When tools are off again, for a blank answer or a streamed end, the results are still in the prompt."""
    script = (calls("look"), FakeReply(content=" "), "First.", "It is a door.")
    runner, client = loop(*script, config={"tavern": tavern}, **inputs)
    assert runner.run("Look.", final_stream=True).assistant_text == "It is a door."
    for request in client.requests[2:]:
        assert not request.keys() & {"tools", "tool_choice", "parallel_tool_calls"}
        assert "tool" in [message["role"] for message in request["messages"]]


UNCARRIED = {
    "preset": {"function_calling": False},
    "post_processing": {"function_calling": True, "custom_prompt_post_processing": "single"},
}


@pytest.mark.parametrize("preset", UNCARRIED.values(), ids=UNCARRIED)
def test_a_tavern_that_does_not_carry_tools(preset: dict[str, Any]) -> None:
    """Where the results would not reach the model, the run ends at once, and says why."""
    runner, client = loop(*[calls("look")] * 5, config={"tavern": "silly"}, request={"preset": preset})
    with pytest.raises(ToolUseError, match="does not send the results") as caught:
        runner.run("Look.")
    assert (caught.value.code, len(client.requests)) == ("RESULTS_NOT_SENT", 1)
    assert [message.role for message in caught.value.history] == ["user", "assistant", "tool"]


@pytest.mark.parametrize(("tavern", "inputs"), TAVERNS.items(), ids=TAVERNS)
@pytest.mark.parametrize("model", ["m", "deepseek/deepseek-reasoner"])
def test_thoughts_go_back(model: str, tavern: str, inputs: dict[str, Any]) -> None:
    """What a model thought before it called is sent back beside its calls, as it came, whatever the tavern."""
    thoughts = {"reasoning_content": "A door?", "reasoning_details": [{"type": "reasoning.text", "text": "A door?"}]}
    client = FakeClient(calls("look", extra=thoughts), "A door.")
    config = RunnerConfig.build("somebody", model, tavern=tavern)
    ToolLoopRunner.build(client, config, executor, registry=TOOLS, **inputs).run("Look.")
    called = client.requests[1]["messages"][-2]
    assert {name: called[name] for name in thoughts} == thoughts


@pytest.mark.parametrize("kind", ["fake", "server"])
def test_cancel_while_the_end_is_streamed(kind: str) -> None:
    """A cancel at the first piece is the last piece; the run ends as cancelled, with the chat so far."""
    told, heard = threading.Event(), []

    def hear(event: Mapping[str, Any]) -> None:
        if event["type"] == "final_stream_delta":
            heard.append(event["delta"])
            told.set()

    script = (LOOK, "First.", "It is a door.")
    with EchoServer(*script) as server, Client(server.base_url) if kind == "server" else FakeClient(*script) as client:
        config = RunnerConfig.build("somebody", "m", tavern="vibe")
        runner = ToolLoopRunner.build(client, config, executor, registry=TOOLS)
        with pytest.raises(ToolUseError) as caught:
            runner.run("Look.", on_event=hear, final_stream=True, cancel=told)
    assert heard == ["It "]
    assert [message.role for message in caught.value.history] == ["user", "assistant", "tool"]


def test_cancel_while_a_request_waits() -> None:
    """A run whose server says nothing ends when it is told to."""
    told = threading.Event()

    def answer(request: dict[str, Any]) -> Fault:
        threading.Timer(0.05, told.set).start()
        return Fault.stall()

    with EchoServer(answer) as server, Client(server.base_url) as client:
        runner = ToolLoopRunner.build(
            client, RunnerConfig.build("somebody", "m", tavern="vibe"), executor, registry=TOOLS
        )
        with pytest.raises(ToolUseError):
            runner.run("Look.", cancel=told)
        assert server.requests


async def execute_async(name: str, args: dict[str, Any]) -> Any:
    """The executor, awaited."""
    await asyncio.sleep(0)
    return executor(name, args)


@pytest.mark.parametrize("execute", [executor, execute_async], ids=["sync", "async"])
def test_async_run(execute: Any) -> None:
    """The asynchronous loop gives the result, the events and the requests of the other."""
    script = (calls(("look", {"far": True}), "go_on"), FakeReply(content=" "), "First.", "It is a door.")
    config = RunnerConfig.build("somebody", "m", tavern="vibe")
    expected: list[Mapping[str, Any]] = []
    client = FakeClient(*script)
    loop = ToolLoopRunner.build(client, config, executor, registry=TOOLS)
    wanted = loop.run("Look.", on_event=expected.append, final_stream=True)

    async def go() -> tuple[ToolLoopResult, list[Mapping[str, Any]], list[dict[str, Any]]]:
        heard: list[Mapping[str, Any]] = []

        async def hear(event: Mapping[str, Any]) -> None:
            await asyncio.sleep(0)
            heard.append(event)

        other = AsyncFakeClient(*script)
        runner = AsyncToolLoopRunner.build(other, config, execute, registry=TOOLS)
        return await runner.run("Look.", on_event=hear, final_stream=True), heard, other.requests

    result, heard, requests = asyncio.run(go())
    assert (result.assistant_text, result.history) == (wanted.assistant_text, wanted.history)
    assert [event["type"] for event in heard] == [event["type"] for event in expected]
    assert requests == client.requests


def test_async_cancel_of_a_tool() -> None:
    """A tool that is awaited is cancelled with its run."""
    told, stopped = threading.Event(), []

    async def hang(**_: Any) -> None:
        told.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(True)

    async def go() -> None:
        config = RunnerConfig.build("somebody", "m", tavern="vibe")
        runner = AsyncToolLoopRunner.build(AsyncFakeClient(calls("look")), config, hang, registry=TOOLS)
        with pytest.raises(ToolUseError):
            await asyncio.wait_for(runner.run("Look.", cancel=told), 20)

    asyncio.run(go())
    assert stopped == [True]


def test_loops_and_runners_of_two_kinds() -> None:
    """A loop takes a runner of its own kind, and refuses the other's client."""
    config = RunnerConfig.build("somebody", "m", tavern="vibe")
    with pytest.raises(UsageError, match="asynchronous"):
        ToolLoopRunner.build(AsyncFakeClient(), config, executor)
    with pytest.raises(UsageError, match="AsyncToolLoopRunner needs AsyncPromptRunner"):
        AsyncToolLoopRunner.build(PromptRunner(FakeClient()), config, executor)
    with pytest.raises(UsageError, match="asynchronous tools"):
        ToolLoopRunner.build(FakeClient(), config, execute_async, registry=TOOLS)


# ------------------------------------------------------------------------------------------------------- every turn streamed


def said(heard: list[Any]) -> dict[int, str]:
    """What was heard of each turn."""
    turns: dict[int, str] = {}
    for event in heard:
        if event["type"] == "text_delta":
            turns[event["turn"]] = turns.get(event["turn"], "") + event["delta"]
    return turns


def test_every_turn_is_streamed() -> None:
    """What is said before a tool is called is heard before it is; the requests are those of a run that is not streamed."""
    script = (calls(("look", {"far": True}), content="Let me see."), calls("look"), "There is a door.")
    runner, client = loop(*script)
    heard: list[Any] = []
    result = runner.run("What is there?", on_event=heard.append, stream=True)
    assert said(heard) == {1: "Let me see.", 3: "There is a door."}
    kinds = [event["type"] for event in heard]
    assert kinds.index("text_delta") < kinds.index("tool_call_start")
    assert set(kinds) <= set(EVENTS)
    whole, plain = loop(*script)
    assert whole.run("What is there?").history == result.history
    streaming = ("stream", "stream_options")
    bodies = [{name: value for name, value in it.items() if name not in streaming} for it in client.requests]
    assert bodies == [{name: value for name, value in it.items() if name not in streaming} for it in plain.requests]
    assert [request["stream"] for request in client.requests] == [True] * 3


def test_every_turn_is_streamed_over_the_wire() -> None:
    """Pieces of calls arrive between pieces of text, as OpenAI's servers send them; blocking and asynchronous alike."""
    heard: list[Any] = []
    config = RunnerConfig.build("openai", "m", tavern="vibe")
    with EchoServer(calls("look", content="Let me see."), "A door.") as server, Client(server.base_url) as client:
        run = ToolLoopRunner.build(PromptRunner(client), config, executor, registry=TOOLS).run
        assert run("Look.", on_event=heard.append, stream=True).assistant_text == "A door."
    assert said(heard) == {1: "Let me see.", 2: "A door."}
    heard.clear()
    waiting = AsyncFakeClient(calls("look", content="Let me see."), "A door.")
    runner = AsyncToolLoopRunner.build(waiting, config, executor, registry=TOOLS)
    result = asyncio.run(runner.run("Look.", on_event=heard.append, stream=True))
    assert (result.assistant_text, said(heard)) == ("A door.", {1: "Let me see.", 2: "A door."})


def test_a_model_that_cannot_stream_is_heard_at_once() -> None:
    """Each turn's text comes in one piece."""
    runner, client = loop("Just so.", config={"capabilities_overrides": {"supports_streaming": False}})
    heard: list[Any] = []
    assert runner.run("Hm?", on_event=heard.append, stream=True).assistant_text == "Just so."
    assert [event["delta"] for event in heard if event["type"] == "text_delta"] == ["Just so."]
    assert "stream" not in client.requests[0]


def test_tools_that_are_refused_are_left_out_of_a_stream() -> None:
    """As where nothing is streamed: nothing was heard yet."""
    runner, client = loop(Fault.status(400), "So be it.", tool_calling={"fallback_retry_count": 1})
    assert runner.run("Hm?", stream=True).assistant_text == "So be it."
    assert "tools" not in client.requests[1]


def test_what_fails_behind_words_is_not_asked_again() -> None:
    """Nobody hears the same words twice."""
    error = 'data: {"choices":[{"index":0,"delta":{"content":"One"}}]}\n\ndata: {"error":{"message":"no tools"}}\n\n'
    config = RunnerConfig.build("openai", "m", {"tool_calling": {"fallback_retry_count": 1}}, tavern="vibe")
    heard: list[Any] = []
    with (
        EchoServer(Fault.raw(error.encode(), content_type="text/event-stream"), "Two.") as server,
        Client(server.base_url) as client,
    ):
        run = ToolLoopRunner.build(PromptRunner(client), config, executor, registry=TOOLS).run
        with pytest.raises(StreamCutError, match="no tools") as caught:
            run("Look.", on_event=heard.append, stream=True)
        assert len(server.requests) == 1
    assert (caught.value.partial, said(heard)) == ("One", {1: "One"})
