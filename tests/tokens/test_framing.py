"""Framing: what messages cost besides their text, by rule."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import Message
from innkeeper.prompt.errors import UnknownNameError
from innkeeper.prompt.payload.dialect import Tool
from innkeeper.tokens import (
    ANTHROPIC,
    FRAMINGS,
    NO_FRAMING,
    OPENAI,
    TOOL_RULES,
    BoundedCache,
    Counter,
    Framing,
    count_tools,
    default_counter,
    framing,
)
from innkeeper.tokens.framing import _typescript, fields_of
from tests import shared
from tests.tokens.doubles import Words

HELLO = {"role": "user", "content": "hello"}


@dataclass(frozen=True)
class Case:
    framing: str
    message: Any
    tokens: int


CASES = [
    Case("none", HELLO, 1),
    Case("none", {**HELLO, "name": "Mira"}, 1),
    Case("openai", HELLO, 3 + 1 + 1),
    Case("openai", {**HELLO, "name": "Mira"}, 3 + 1 + 1 + 2 + 1),
    Case("anthropic", HELLO, 4 + 1),
    Case("google", HELLO, 1 + 1),
    Case("sillytavern-tiktoken", HELLO, 4 + 1 + 1),
    Case("sillytavern-web", HELLO, 3 - 2),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.framing}-{len(case.message)}")
def test_count_message(case: Case) -> None:
    """A message costs its texts and the numbers of the rule."""
    assert framing(case.framing).count_message(case.message, default_counter(), "gpt-4o") == case.tokens


@pytest.mark.parametrize("name", FRAMINGS)
@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=20)), max_size=4))
def test_a_prompt_is_its_messages_and_the_reply(name: str, turns: list[tuple[str, str]]) -> None:
    """Messages add up: a prompt costs the sum of its messages and the start of the reply, once."""
    rule, some = FRAMINGS[name], default_counter()
    messages = [{"role": role, "content": text} for role, text in turns]
    each = sum(rule.count_message(message, some, "gpt-4o") for message in messages)
    assert rule.count_messages(messages, some, "gpt-4o") == each + rule.reply


def test_a_prompt_is_counted_in_one_batch() -> None:
    """All texts of all messages go to the engine together, and equal ones once."""
    engine = Words()
    some = Counter(engine, cache=BoundedCache())
    assert (
        OPENAI.count_messages([HELLO, HELLO, {"role": "assistant", "content": "a b"}], some)
        == 3 * 3 + 3 + (1 + 1 + 2) + 3
    )
    assert engine.asked == ["user", "hello", "assistant", "a b"]


MESSAGES = {
    "mapping": {"role": "user", "content": "hello", "name": "Mira"},
    "ours": Message(role="user", content="hello", name="Mira"),
    "object": type("Turn", (), {"role": "user", "content": "hello", "name": "Mira"})(),
    "parts": {"role": "user", "content": [{"type": "text", "text": "hello"}, {"type": "image_url"}], "name": "Mira"},
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_messages_of_any_kind(kind: str) -> None:
    """Ours, mappings, other objects and content in parts are read alike."""
    assert list(fields_of(MESSAGES[kind])) == ["user", "hello", "Mira"]


@pytest.mark.parametrize("kind", ["mapping", "ours"])
def test_tool_calls_are_text(kind: str) -> None:
    """Tool calls count as JSON, and so does the id of the call that is answered."""
    calls = [{"id": "1", "function": {"name": "light", "arguments": "{}"}}]
    raw = {"role": "assistant", "content": None, "tool_calls": calls}
    fields = list(fields_of(Message.of(raw) if kind == "ours" else raw))
    assert fields[:2] == ["assistant", ""]
    assert json.loads(fields[2]) == calls
    assert list(fields_of({"role": "tool", "content": "lit", "tool_call_id": "1"})) == ["tool", "lit", "1"]


def test_refused_texts_end_a_message() -> None:
    """A rule that refuses special tokens counts what stands before one, without what comes after it."""
    rule = FRAMINGS["sillytavern-tiktoken"]
    bad = {"role": "user", "content": "a <|endoftext|>", "name": "Mira"}
    assert rule.count_message(bad, default_counter(), "gpt-4o") == 4 + 1
    assert OPENAI.count_message(bad, default_counter(), "gpt-4o") > 4 + 1


def test_unknown_framing() -> None:
    """A rule that is not there is refused by name; a new one is a value like the others."""
    with pytest.raises(UnknownNameError):
        framing("no-such")
    assert Framing(name="mine", per_message=9, fields=()).count_message(HELLO, default_counter()) == 9


def test_no_framing_is_content_only() -> None:
    """The rule ``none`` counts the content and nothing else."""
    assert NO_FRAMING.count_messages([HELLO] * 3, default_counter(), "gpt-4o") == 3


RECORDED = {
    "openai__test_openai_instructions.yaml": (OPENAI, 0),
    "openai__test_message_history_can_start_with_model_response.yaml": (OPENAI, 0),
    "openai__test_openai_model_settings_temperature_ignored_on_gpt_5.yaml": (OPENAI, 1),
    "anthropic__test_anthropic_sampling_settings_reach_the_wire.yaml": (ANTHROPIC, 0),
}
"""Recorded exchanges, the rule of their provider, and what it may be off by."""


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_usage(name: str) -> None:
    """The count of a recorded request is the number of input tokens the provider billed."""
    rule, off = RECORDED[name]
    file = shared.need(f"fixtures/pydantic_ai_cassettes/{name}")
    exchange = yaml.safe_load(file.read_text("utf-8"))["interactions"][0]
    request, usage = exchange["request"]["parsed_body"], exchange["response"]["parsed_body"]["usage"]
    billed = usage.get("prompt_tokens") or usage["input_tokens"]
    counted = rule.count_messages(request["messages"], default_counter(), request["model"])
    assert abs(counted - billed) <= off


SCHEMA = {
    "type": "object",
    "properties": {
        "street": {"type": "string", "description": "Which street"},
        "lamps": {"type": "array", "items": {"type": "integer"}},
        "mood": {"type": "string", "enum": ["calm", "storm"]},
        "at": {"type": "object", "properties": {"hour": {"type": "number"}}, "required": ["hour"]},
    },
    "required": ["street"],
}
SHAPES = {
    "ours": Tool(name="light", description="Light the lamps", parameters=SCHEMA),
    "openai": {
        "type": "function",
        "function": {"name": "light", "description": "Light the lamps", "parameters": SCHEMA},
    },
    "responses": {
        "type": "function",
        "name": "light",
        "description": "Light the lamps",
        "parameters": SCHEMA,
        "strict": True,
    },
    "anthropic": {"name": "light", "description": "Light the lamps", "input_schema": SCHEMA},
    "google": {"name": "light", "description": "Light the lamps", "parameters_json_schema": SCHEMA},
}


@pytest.mark.parametrize("rule", TOOL_RULES)
def test_shapes_count_alike(rule: str) -> None:
    """The same tool in every provider's shape has the same count, with an error."""
    counts = [count_tools([tool], default_counter(), "gpt-4o", rule) for tool in SHAPES.values()]
    assert len(set(counts)) == 1
    assert counts[0].tokens > 0
    assert counts[0].error_percent > 0


def test_typescript() -> None:
    """The rendering for OpenAI is a namespace of functions with comments, optional fields, enums and arrays."""
    definition = {"name": "light", "description": "Light the lamps", "parameters": SCHEMA}
    assert "".join(_typescript([definition, {"name": "wait", "description": "", "parameters": {}}])) == (
        "# Tools\n\n## functions\n\nnamespace functions {\n\n"
        "// Light the lamps\ntype light = (_: {\n// Which street\nstreet: string,\nlamps?: number[],\n"
        'mood?: "calm" | "storm",\nat?: {\nhour: number,\n},\n}) => any;\n\n'
        "type wait = () => any;\n\n} // namespace functions"
    )


def test_no_tools_cost_nothing() -> None:
    """Without tools there is nothing to count and no error."""
    none = count_tools([], default_counter(), "gpt-4o", "anthropic")
    assert (none.tokens, none.error_percent) == (0, 0.0)


def test_rules_go_with_framings() -> None:
    """Each rule has the name of a framing; a name without a rule counts JSON."""
    assert set(TOOL_RULES) <= set(FRAMINGS)
    assert count_tools([SHAPES["ours"]], default_counter(), None, "sillytavern-web").rule == "none"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "properties", "items", "enum", "x"]), inner)
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(st.sampled_from(["name", "description", "parameters", "function", "type"]), JSON),
    st.sampled_from(list(TOOL_RULES)),
)
def test_any_definition_is_counted(tool: dict[str, Any], rule: str) -> None:
    """Whatever a definition holds, it has a count."""
    assert count_tools([tool], default_counter(), "gpt-4o", rule).tokens >= 0


@dataclass(frozen=True)
class Recorded:
    file: str
    rule: str
    besides: int
    """Billed input tokens that are not tools: text and framing."""


TOOLS_RECORDED = [
    Recorded("openai__test_openai_text_output_function.yaml", "openai", 10 + 7),
    Recorded("openai_responses__test_openai_responses_model_simple_response_with_tool_call.yaml", "openai", 8 + 7),
    Recorded("openai_responses__test_tool_output.yaml", "openai", 10 + 7),
    Recorded("anthropic__test_anthropic_tool_with_thinking.yaml", "anthropic", 10 + 7),
    Recorded("google__test_google_tool_config_any_with_tool_without_args.yaml", "google", 5 + 1),
]


@pytest.mark.parametrize("case", TOOLS_RECORDED, ids=lambda case: case.file.partition(".")[0])
def test_tools_recorded_usage(case: Recorded) -> None:
    """The estimate is within its own error of what the provider billed for the tools."""
    file = shared.need(f"fixtures/pydantic_ai_cassettes/{case.file}")
    exchange = yaml.safe_load(file.read_text("utf-8"))["interactions"][0]
    request, reply = exchange["request"]["parsed_body"], exchange["response"]["parsed_body"]
    usage = reply.get("usage") or reply["usageMetadata"]
    billed = usage.get("prompt_tokens") or usage.get("input_tokens") or usage["promptTokenCount"]
    tools = [inner for tool in request["tools"] for inner in tool.get("functionDeclarations", [tool])]
    counted = count_tools(tools, default_counter(), request.get("model", "gemini-2.0-flash"), case.rule)
    assert abs(counted.tokens / (billed - case.besides) - 1) <= counted.error_percent / 100
