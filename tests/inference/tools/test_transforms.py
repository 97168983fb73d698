"""Transforms: each does what its name says and nothing else; names are spelled loosely, unknown ones passed over."""

import copy
from typing import Any

import pytest

from innkeeper.inference.tools.transforms import (
    MESSAGE_TRANSFORMS,
    RESPONSE_TRANSFORMS,
    SKIP_VALIDATOR,
    TOOL_CALL_TRANSFORMS,
    TOOL_RESULT_TRANSFORMS,
    TOOL_TRANSFORMS,
    TransformRegistry,
)
from innkeeper.prompt import UnknownNameError, UsageError


def call(arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    """A call in a message."""
    return {"id": "1", "type": "function", "function": {"name": "look", "arguments": arguments}, **more}


def assistant(content: Any = "", **more: Any) -> dict[str, Any]:
    """An assistant message."""
    return {"role": "assistant", "content": content, **more}


USER = {"role": "user", "content": ""}
CALLED = assistant(tool_calls=[call()])

MESSAGES = {
    "blank_becomes_null": (
        "assistant_tool_calls_content_null_if_blank",
        [USER, assistant(), CALLED, assistant("x", tool_calls=[call()])],
        [USER, assistant(), assistant(None, tool_calls=[call()]), assistant("x", tool_calls=[call()])],
    ),
    "reasoning_is_added": (
        "assistant_tool_calls_reasoning_content_empty_if_missing",
        [USER, assistant(), CALLED, {**CALLED, "reasoning_content": "why"}],
        [USER, assistant(), {**CALLED, "reasoning_content": ""}, {**CALLED, "reasoning_content": "why"}],
    ),
    "signature_is_added": (
        "assistant_tool_calls_signature_skip_validator_if_missing",
        [assistant(tool_calls=[call(), call(signature="s"), "odd"])],
        [assistant(tool_calls=[call(signature=SKIP_VALIDATOR), call(signature="s"), "odd"])],
    ),
}

RESPONSES = {
    "function_call": (
        "assistant_function_call_to_tool_calls",
        assistant(None, function_call={"name": "look", "arguments": "{}"}),
        assistant(None, tool_calls=[{**call(), "id": "call_1"}]),
    ),
    "function_call_beside_calls": (
        "assistant_function_call_to_tool_calls",
        assistant(None, function_call={"name": "old"}, tool_calls=[call()]),
        assistant(None, tool_calls=[call()]),
    ),
    "single_call": ("assistant_tool_calls_object_to_array", assistant(tool_calls=call()), CALLED),
    "list_of_calls": ("assistant_tool_calls_object_to_array", CALLED, CALLED),
    "object_arguments": (
        "assistant_tool_calls_arguments_json_string_if_hash",
        assistant(tool_calls=[call({"a": "你"}), call("x"), None]),
        assistant(tool_calls=[call('{"a": "你"}'), call("x"), None]),
    ),
    "tags": (
        "assistant_content_tool_call_tags_to_tool_calls",
        assistant("<tool_call>look</tool_call>"),
        assistant("", tool_calls=[{**call(), "id": "tag_call_1"}]),
    ),
}

OTHERS = {
    "blank_arguments": (
        TOOL_CALL_TRANSFORMS,
        "assistant_tool_calls_arguments_blank_to_empty_object",
        [call(" "), call(""), call("x"), call(None)],
        [call("{}"), call("{}"), call("x"), call(None)],
    ),
    "descriptions": (
        TOOL_TRANSFORMS,
        "openai_tools_strip_function_descriptions",
        [{"type": "function", "function": {"name": "look", "description": "x"}}, {"type": "other"}],
        [{"type": "function", "function": {"name": "look"}}, {"type": "other"}],
    ),
    "compact": (
        TOOL_RESULT_TRANSFORMS,
        "tool_result_compact_envelope",
        {"ok": False, "tool_name": "", "data": {}, "warnings": [], "errors": [{"code": "X"}]},
        {"ok": False, "tool_name": "", "errors": [{"code": "X"}]},
    ),
}

CASES = {
    **{name: (MESSAGE_TRANSFORMS, *case) for name, case in MESSAGES.items()},
    **{name: (RESPONSE_TRANSFORMS, *case) for name, case in RESPONSES.items()},
    **OTHERS,
}


@pytest.mark.parametrize(("registry", "name", "before", "after"), CASES.values(), ids=CASES)
def test_transform(registry: TransformRegistry, name: str, before: Any, after: Any) -> None:
    """Each transform changes what it is for; applied again it changes nothing more."""
    once = registry.apply([name], copy.deepcopy(before))
    assert once == after
    assert registry.apply([name], copy.deepcopy(once)) == after


@pytest.mark.parametrize(
    "registry",
    [MESSAGE_TRANSFORMS, RESPONSE_TRANSFORMS, TOOL_TRANSFORMS, TOOL_CALL_TRANSFORMS, TOOL_RESULT_TRANSFORMS],
    ids=lambda registry: registry.kind,
)
def test_every_transform_is_tried(registry: TransformRegistry) -> None:
    """The table of cases leaves no shipped transform out."""
    tried = {name for which, name, *_ in CASES.values() if which is registry}
    assert set(registry) == tried


def test_registry() -> None:
    """Names are spelled loosely, order counts, callables serve beside names, registries are values."""
    registry = TransformRegistry("test", {"Add-One": lambda data: data + 1})
    more = registry.with_(double=lambda data: data * 2)
    assert more.apply(["ADD_ONE", "double", lambda data: data - 3, lambda _data: None], 1) == 1
    assert (list(registry), len(more), "add-one" in registry) == (["add_one"], 2, True)
    assert more.unknown(["double", "nobody", print]) == ["nobody"]


def test_unknown_names() -> None:
    """Unknown names are passed over, or with ``strict`` a mistake; what is neither name nor callable always is."""
    registry = TransformRegistry("test", {"one": lambda data: data})
    assert registry.apply(["two"], 1) == 1
    with pytest.raises(UnknownNameError, match="test transform 'two'"):
        registry.apply(["two"], 1, strict=True)
    with pytest.raises(UsageError, match="a name or a callable"):
        registry.apply([3], 1)
