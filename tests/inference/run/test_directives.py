"""The directives runner: the surest mode first, repairs, other modes, and an honest account of every attempt."""

import asyncio
import json
from typing import Any

import pytest

from innkeeper.inference.errors import HttpError, ProviderConnectionError
from innkeeper.inference.fake.provider import AsyncFakeClient, FakeClient
from innkeeper.inference.fake.script import FakeReply, Fault
from innkeeper.inference.run.config import RunnerConfig
from innkeeper.inference.run.directives import (
    AsyncDirectivesRunner,
    DirectivesResult,
    DirectivesRunner,
    StructuredOutput,
)
from innkeeper.inference.run.runner import PromptRunner
from innkeeper.prompt import InMemoryVariables, UsageError

GOOD = json.dumps({"assistant_text": "Cheer up.", "directives": [{"type": "Set-Mood", "payload": {"mood": "glad"}}]})
OUTPUT = StructuredOutput(types={"set_mood": "changes the mood", "show": ""})


def run(
    *script: Any, provider: str = "openai", model: str = "m", context: dict[str, Any] | None = None, **options: Any
) -> tuple[DirectivesResult, list[dict[str, Any]]]:
    """A run over a script, and the requests that it made."""
    client = FakeClient(*script)
    options.setdefault("output", OUTPUT)
    runner = DirectivesRunner(client, RunnerConfig.build(provider, model, context, tavern="vibe"))
    return runner.run([{"role": "user", "content": "Hi."}], **options), client.requests


def attempts(result: DirectivesResult) -> list[tuple[str, str | None]]:
    """Each attempt's mode and code."""
    return [(attempt.mode, attempt.code) for attempt in result.attempts]


def test_first_answer() -> None:
    """A good first answer is the result, with the model's word for the type made ours."""
    result, requests = run(GOOD, system="Be kind.")
    assert (result.ok, result.mode, result.assistant_text) == (True, "json_schema", "Cheer up.")
    assert [item.to_dict() for item in result.directives] == [{"type": "set_mood", "payload": {"mood": "glad"}}]
    assert result.envelope == {
        "assistant_text": "Cheer up.",
        "directives": [{"type": "set_mood", "payload": {"mood": "glad"}}],
    }
    assert attempts(result) == [("json_schema", None)]
    assert result.elapsed_ms > 0
    form = requests[0]["response_format"]["json_schema"]
    assert form["schema"]["properties"]["directives"]["items"]["properties"]["type"]["enum"] == ["set_mood", "show"]
    system = requests[0]["messages"][0]["content"]
    assert system.startswith("Be kind.\n\n")
    assert "- set_mood: changes the mood" in system
    assert "parallel_tool_calls" not in requests[0]


def test_the_documented_skips() -> None:
    """A model with neither structured mode goes straight to the prompt, with two modes passed over."""
    result, requests = run(GOOD, provider="openrouter", model="openai/gpt-x")
    skipped = "CAPABILITY_UNSUPPORTED"
    assert attempts(result) == [("json_schema", skipped), ("json_object", skipped), ("prompt_only", None)]
    assert [attempt.skipped for attempt in result.attempts] == [True, True, False]
    assert "response_format" not in requests[0]
    assert requests[0]["provider"] == {"require_parameters": False}


REPAIRS = {
    "no_json": ("Gladly.", "INVALID_JSON"),
    "empty": ("", "EMPTY"),
    "list": ("[1]", "NOT_OBJECT"),
    "no_text": ('{"directives": []}', "MISSING_ASSISTANT_TEXT"),
    "no_directives": ('{"assistant_text": ""}', "MISSING_DIRECTIVES"),
    "tool_calls": (FakeReply(content=GOOD, tool_calls=(("look", "{}"),)), "TOOL_CALLS_PRESENT"),
    "not_a_number": (GOOD.replace('"glad"', "NaN"), "INVALID_JSON"),
    "infinite": (GOOD.replace('"glad"', "1e999"), "INVALID_JSON"),
    "deep": (GOOD.replace('"glad"', '{"a":' * 70 + "1" + "}" * 70), "INVALID_JSON"),
    "too_large": (json.dumps({"assistant_text": "x" * 700, "directives": []}), "TOO_LARGE"),
}


@pytest.mark.parametrize(("bad", "code"), REPAIRS.values(), ids=REPAIRS)
def test_repair(bad: Any, code: str) -> None:
    """A bad answer is asked for again in the same mode; the model is told the code."""
    output = StructuredOutput(types=OUTPUT.types, max_bytes=600)
    result, requests = run(bad, GOOD, output=output)
    assert attempts(result) == [("json_schema", code), ("json_schema", None)]
    assert code not in requests[0]["messages"][0]["content"]
    assert code in requests[1]["messages"][0]["content"]


def test_result_validator() -> None:
    """The application's reasons go to the model; when they stay, the next mode is tried."""
    verdicts = iter([["too sad"], "still too sad", None])
    output = StructuredOutput(types=OUTPUT.types, result_validator=lambda _envelope: next(verdicts))
    result, requests = run(GOOD, GOOD, GOOD, output=output)
    assert attempts(result) == [("json_schema", "RESULT_INVALID")] * 2 + [("json_object", None)]
    assert result.attempts[0].reasons == ("too sad",)
    assert "- too sad" in requests[1]["messages"][0]["content"]
    assert requests[2]["response_format"] == {"type": "json_object"}


REJECTED = {
    "about_structure": (400, "response_format is not supported", True),
    "about_schemas": (422, "Invalid schema for json_schema", True),
    "about_something_else": (400, "Too long.", False),
    "server_error": (500, "structured output failed", False),
}


@pytest.mark.parametrize(("status", "message", "flagged"), REJECTED.values(), ids=REJECTED)
def test_rejected_modes(status: int, message: str, flagged: bool) -> None:
    """An error of the provider's leads to the next mode at once, and is flagged when it is about structure."""
    result, _ = run(Fault.status(status, message), GOOD)
    assert attempts(result) == [("json_schema", "HTTP_ERROR"), ("json_object", None)]
    assert (result.attempts[0].status, result.attempts[0].structured_output_rejected) == (status, flagged)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_a_provider_that_asks_to_wait(status: int) -> None:
    """Another mode would do no better now: the error is the caller's, with the seconds that it asks for."""
    with pytest.raises(HttpError) as caught:
        run(Fault.status(status, retry_after=3), GOOD)
    assert (caught.value.status, caught.value.retry_after) == (status, 3.0)


def test_schemas_are_not_strict() -> None:
    """Providers take a strict schema only when each of its objects is closed, and a payload is open."""
    form = run(GOOD)[1][0]["response_format"]["json_schema"]
    item = form["schema"]["properties"]["directives"]["items"]
    assert (form["strict"], item["additionalProperties"], item["properties"]["payload"]) == (
        False,
        False,
        {"type": "object"},
    )


def test_async_run() -> None:
    """The asynchronous runner makes the same attempts, with the same requests."""
    expected, requests = run("No.", GOOD)

    async def go() -> tuple[DirectivesResult, list[Any]]:
        client = AsyncFakeClient("No.", GOOD)
        asker = AsyncDirectivesRunner(client, RunnerConfig.build("openai", "m", tavern="vibe"))
        return await asker.run([{"role": "user", "content": "Hi."}], output=OUTPUT), client.requests

    result, sent = asyncio.run(go())
    assert (result.envelope, attempts(result)) == (expected.envelope, attempts(expected))
    assert sent == requests


def test_failure() -> None:
    """When nothing will do there is no result, but every attempt and the last words."""
    result, requests = run(*["No, " * 100] * 6)
    assert (result.ok, result.mode, result.directives, len(requests)) == (False, None, (), 6)
    assert len(result.content_sample) == 200
    assert {attempt.code for attempt in result.attempts} == {"INVALID_JSON"}


def test_no_repairs() -> None:
    """The number of repairs is the config's."""
    context = {"directives": {"modes": ["prompt_only"], "repair_retry_count": 0}}
    assert attempts(run("No.", GOOD, context=context)[0]) == [("prompt_only", "INVALID_JSON")]


def test_unreachable_providers_raise() -> None:
    """No mode helps when nobody answers."""
    with pytest.raises(ProviderConnectionError):
        run(Fault.refuse(), GOOD)


@pytest.mark.parametrize("name", ["model", "messages", "tools", "tool_choice", "stream", "stream_options"])
def test_reserved_options(name: str) -> None:
    """What the runner decides cannot be asked for."""
    with pytest.raises(UsageError, match=name):
        run(GOOD, llm_options={name: 1})


def test_options() -> None:
    """Other options and the config's overrides are sent; a format of the caller's is not."""
    context = {"directives": {"request_overrides": {"a": 1}, "structured_request_overrides": {"b": 2}}}
    _, requests = run(GOOD, context=context, llm_options={"temperature": 0, "response_format": {"type": "text"}})
    assert (requests[0]["a"], requests[0]["b"], requests[0]["temperature"]) == (1, 2, 0)
    assert requests[0]["response_format"]["type"] == "json_schema"


def test_own_instructions_and_name() -> None:
    """The application's words take the place of the list of types; the schema has its name."""
    output = StructuredOutput(types=OUTPUT.types, output_instructions="Moods: glad, sad.", schema_name="moods")
    _, requests = run(GOOD, output=output)
    system = requests[0]["messages"][0]["content"]
    assert "Moods: glad, sad." in system
    assert "set_mood" not in system
    assert requests[0]["response_format"]["json_schema"]["name"] == "moods"


def test_warnings_and_aliases() -> None:
    """Directives that are not wanted are dropped with a warning; aliases are read; the rest stays."""
    output = StructuredOutput(
        types=OUTPUT.types,
        allowed_types=("set_mood",),
        type_aliases={"feel": "set_mood"},
        payload_validator=lambda _kind, payload: "x" in payload or "x is missing",
    )
    items = [
        {"type": "feel", "payload": {"x": 1}},
        {"type": "show", "payload": {}},
        {"type": "fly", "payload": {}},
        {"type": "set_mood", "payload": {}},
    ]
    result, _ = run(json.dumps({"assistant_text": "", "directives": items}), output=output)
    assert [item.type for item in result.directives] == ["set_mood"]
    assert [warning.code for warning in result.warnings] == [
        "DISALLOWED_DIRECTIVE_TYPE",
        "UNKNOWN_DIRECTIVE_TYPE",
        "PAYLOAD_INVALID",
    ]


def test_output_tags() -> None:
    """Control tags are dealt with in the text that people read, in the envelope too."""
    context = {"output_tags": {"enabled": True, "rules": [{"tag": "b", "action": "strip"}]}}
    result, _ = run('{"assistant_text": "<b>Hi</b>", "directives": []}', context=context)
    assert result.assistant_text == result.envelope["assistant_text"] == "Hi"


def test_without_output() -> None:
    """Without a description of what is wanted any type will do."""
    result, requests = run(GOOD, output=None)
    assert [item.type for item in result.directives] == ["Set-Mood"]
    schema = requests[0]["response_format"]["json_schema"]["schema"]
    assert "enum" not in schema["properties"]["directives"]["items"]["properties"]["type"]


@pytest.mark.parametrize(("script", "written"), [([GOOD], {"a": 1}), (["No."] * 6, {})], ids=["ok", "failed"])
def test_variables(script: list[Any], written: dict[str, Any]) -> None:
    """Variables are written once, and only when an answer would do."""
    store = InMemoryVariables()
    run("No.", *script, variables_store=store, meta={"system_template": "{% incvar a %}x"})
    assert store.to_dict()["local"] == written


def test_a_runner_serves_as_client() -> None:
    """A prompt runner of the caller's is used as it is."""
    runner = PromptRunner(FakeClient(GOOD))
    asker = DirectivesRunner(runner, RunnerConfig.build("openai", "m", tavern="vibe"))
    assert asker.runner is runner
    assert asker.run([], output=OUTPUT).ok
