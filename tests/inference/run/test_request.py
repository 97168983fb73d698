"""Preflight: contradictions and missing capabilities are refused before anything is sent; the parallel policy holds."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from innkeeper.inference.capabilities import Capabilities
from innkeeper.inference.errors import PreflightError
from innkeeper.inference.run.request import apply_request_policy, preflight

TOOLS = [{"type": "function", "function": {"name": "look"}}]
OBJECT = {"type": "json_object"}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}


def able(**facts: bool) -> Capabilities:
    """A model that can do everything, but for ``facts``."""
    everything = {name: True for name in Capabilities.__struct_fields__ if name.startswith("supports_")}
    return Capabilities(provider="p", model="m", **{**everything, **facts})


@dataclass(frozen=True)
class Case:
    options: dict[str, Any]
    refused: str | None = None
    stream: bool = False
    facts: dict[str, bool] = field(default_factory=dict)


CASES = {
    "nothing": Case({}),
    "tools": Case({"tools": TOOLS}),
    "stream": Case({}, stream=True),
    "object": Case({"response_format": OBJECT}),
    "schema": Case({"response_format": SCHEMA}),
    "empty_tools_and_format": Case({"tools": [], "response_format": OBJECT}),
    "null_format_and_stream": Case({"response_format": None}, stream=True),
    "tools_and_format": Case({"tools": TOOLS, "response_format": OBJECT}, "tools cannot be combined"),
    "choice_and_format": Case({"tool_choice": "auto", "response_format": OBJECT}, "tools cannot be combined"),
    "stream_and_tools": Case({"tools": TOOLS}, "a stream cannot be combined", stream=True),
    "stream_and_choice": Case({"tool_choice": "auto"}, "a stream cannot be combined", stream=True),
    "stream_and_format": Case({"response_format": OBJECT}, "a stream cannot be combined", stream=True),
    "no_tools": Case({"tools": TOOLS}, "does not support tools", facts={"supports_tools": False}),
    "no_stream": Case({}, "does not support streaming", stream=True, facts={"supports_streaming": False}),
    "no_object": Case(
        {"response_format": OBJECT},
        "response_format json_object",
        facts={"supports_response_format_json_object": False},
    ),
    "no_schema": Case(
        {"response_format": SCHEMA},
        "response_format json_schema",
        facts={"supports_response_format_json_schema": False},
    ),
    "other_format_one_known": Case(
        {"response_format": {"type": "grammar"}}, facts={"supports_response_format_json_schema": False}
    ),
    "other_format_none_known": Case(
        {"response_format": "json"},
        "response_format of this kind",
        facts={"supports_response_format_json_schema": False, "supports_response_format_json_object": False},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_preflight(case: Case) -> None:
    """What cannot work is refused with its reason; everything else passes."""
    if case.refused is None:
        preflight(case.options, able(**case.facts), stream=case.stream)
        return
    with pytest.raises(PreflightError, match=case.refused) as caught:
        preflight(case.options, able(**case.facts), stream=case.stream)
    assert caught.value.hint


@dataclass(frozen=True)
class Policy:
    options: dict[str, Any]
    decided: bool | None
    sent: bool | None
    parallel: bool = True


POLICIES = {
    "plain": Policy({}, None, None),
    "plain_with_a_wish": Policy({"parallel_tool_calls": True}, True, None),
    "tools": Policy({"tools": TOOLS}, False, False),
    "choice": Policy({"tool_choice": "auto"}, False, False),
    "tools_with_a_wish": Policy({"tools": TOOLS, "parallel_tool_calls": True}, True, True),
    "tools_with_null": Policy({"tools": TOOLS, "parallel_tool_calls": None}, False, False),
    "format": Policy({"response_format": OBJECT}, False, None),
    "format_with_a_wish": Policy({"response_format": OBJECT, "parallel_tool_calls": True}, False, None),
    "unknown_to_the_model": Policy({"tools": TOOLS, "parallel_tool_calls": True}, True, None, parallel=False),
    "null": Policy({"parallel_tool_calls": None}, None, None),
}


@pytest.mark.parametrize("case", POLICIES.values(), ids=POLICIES)
def test_policy(case: Policy) -> None:
    """Formats force single calls, tools default to them; the switch is sent beside tools, to models that know it."""
    before = dict(case.options)
    decided, sent = apply_request_policy(case.options, able(supports_parallel_tool_calls=case.parallel))
    assert decided.get("parallel_tool_calls") == case.decided
    assert sent.get("parallel_tool_calls", None) == case.sent
    assert ("parallel_tool_calls" in sent) == (case.sent is not None)
    assert case.options == before


@pytest.mark.parametrize("value", ["yes", 1, []])
def test_policy_wants_a_boolean(value: Any) -> None:
    """A switch is true or false."""
    with pytest.raises(PreflightError, match="must be true or false"):
        apply_request_policy({"parallel_tool_calls": value}, able())
