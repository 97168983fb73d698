"""Tool definitions: an estimate near what providers bill."""

from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.dialect import Tool
from innkeeper.tokens import FRAMINGS, TOOL_RULES, count_tools, default_counter
from innkeeper.tokens.tools import _typescript
from tests import shared

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


RECORDED = [
    Recorded("openai__test_openai_text_output_function.yaml", "openai", 10 + 7),
    Recorded("openai_responses__test_openai_responses_model_simple_response_with_tool_call.yaml", "openai", 8 + 7),
    Recorded("openai_responses__test_tool_output.yaml", "openai", 10 + 7),
    Recorded("anthropic__test_anthropic_tool_with_thinking.yaml", "anthropic", 10 + 7),
    Recorded("google__test_google_tool_config_any_with_tool_without_args.yaml", "google", 5 + 1),
]


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case.file.partition(".")[0])
def test_recorded_usage(case: Recorded) -> None:
    """The estimate is within its own error of what the provider billed for the tools."""
    file = shared.need(f"fixtures/pydantic_ai_cassettes/{case.file}")
    exchange = yaml.safe_load(file.read_text("utf-8"))["interactions"][0]
    request, reply = exchange["request"]["parsed_body"], exchange["response"]["parsed_body"]
    usage = reply.get("usage") or reply["usageMetadata"]
    billed = usage.get("prompt_tokens") or usage.get("input_tokens") or usage["promptTokenCount"]
    tools = [inner for tool in request["tools"] for inner in tool.get("functionDeclarations", [tool])]
    counted = count_tools(tools, default_counter(), request.get("model", "gemini-2.0-flash"), case.rule)
    assert abs(counted.tokens / (billed - case.besides) - 1) <= counted.error_percent / 100
