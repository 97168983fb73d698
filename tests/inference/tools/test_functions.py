"""Functions as tools: the signature and the docstring are what a model is told; what it writes is checked before it runs."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.inference.tools.functions import function_tool, tool
from innkeeper.prompt import UsageError


@dataclass
class Place:
    """A place on a map."""

    x: int
    y: int = 0


def tide(  # noqa: D417 - some are described, some are not
    harbour: str,
    days: int = 1,
    near: Place | None = None,
    kind: Literal["high", "low"] = "high",
    tags: list[str] = [],  # noqa: B006 - as people write it
    height: Annotated[float, "in metres"] = 1.0,
) -> Any:
    """When the tide
    turns.

    By the almanac.

    Args:
        harbour: its name,
            as it is on the chart
        days (int): how many days ahead

    Returns:
        harbour: nothing of the kind
    """  # noqa: D205 - as people write it
    return harbour, days, near, kind, tags, height


def test_a_definition_of_a_function() -> None:
    """Types are the schema, defaults may be left out, the docstring describes the tool and its parameters."""
    definition = function_tool(tide).definition
    assert (definition.name, definition.description) == ("tide", "When the tide turns.\n\nBy the almanac.")
    schema = definition.openai()["function"]["parameters"]
    properties = schema["properties"]
    assert (schema["type"], schema["required"], schema["additionalProperties"]) == ("object", ["harbour"], False)
    assert properties["harbour"] == {"type": "string", "description": "its name, as it is on the chart"}
    assert properties["days"] == {"type": "integer", "default": 1, "description": "how many days ahead"}
    assert properties["kind"] == {"enum": ["high", "low"], "default": "high"}
    assert properties["height"] == {"type": "number", "default": 1.0, "description": "in metres"}
    assert properties["near"]["anyOf"][0] == {"$ref": "#/$defs/Place"}
    assert schema["$defs"]["Place"]["properties"]["x"] == {"type": "integer"}


def test_arguments_are_of_the_types() -> None:
    """Numbers in quotes are numbers, objects are what the function has of them, absent ones have their defaults."""
    call = function_tool(tide).call
    assert call(harbour="Skerrow", days="3", near={"x": 1}) == ("Skerrow", 3, Place(1), "high", [], 1.0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "is missing the field 'harbour'"),
        ({"harbour": "a", "days": "many"}, "days must be a whole number"),
        ({"harbour": "a", "kind": "both"}, "kind cannot be 'both'"),
        ({"harbour": "a", "boat": 1}, "unknown field 'boat'"),
        ({"harbour": "a", "near": {"y": 1}}, "near is missing the field 'x'"),
    ],
)
def test_other_arguments_are_refused(arguments: dict[str, Any], said: str) -> None:
    """What does not fit is told with its place, and the function does not run."""
    with pytest.raises(UsageError) as caught:
        function_tool(tide).call(**arguments)
    assert said in caught.value.message


def test_sphinx_words() -> None:
    """Parameters may be described with ``:param:`` too."""

    def look(where: str, far: bool = False) -> None:
        """Look around.

        :param where: a direction
        :param bool far: beyond the door
        :returns: what is there
        """

    definition = function_tool(look).definition
    described = {name: shape["description"] for name, shape in definition.parameters["properties"].items()}
    assert (definition.description, described) == ("Look around.", {"where": "a direction", "far": "beyond the door"})


def test_another_name() -> None:
    """A decorated function stays what it is, and is told to the model as the decorator says."""

    @tool(name="look-up", description="Look it up.")
    def look(word: str) -> str:
        """Not this."""
        return word.upper()

    @tool
    def plain() -> str:
        """This."""
        return "done"

    assert look("a") == "A"
    made = function_tool(look)
    assert (made.definition.name, made.definition.description, made.call(word="b")) == ("look-up", "Look it up.", "B")
    assert (function_tool(plain).definition.description, function_tool(plain).call()) == ("This.", "done")


def test_asynchronous_functions() -> None:
    """The call of an asynchronous function is one, also where an object is called."""

    async def wait(seconds: float) -> float:
        return seconds

    class Waiter:
        __name__ = "waiter"

        async def __call__(self, seconds: float) -> float:
            return seconds

    for one in (wait, Waiter()):
        call = function_tool(one).call
        assert asyncio.iscoroutinefunction(call)
        assert asyncio.run(call(seconds="0.5")) == 0.5


def several(*words: str) -> None:
    """Any number of words."""


def anything(**words: str) -> None:
    """Words by any name."""


def unknown(word: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821 - that is the matter
    """A type that there is not."""


def strange(word: Callable[[], None]) -> None:
    """A type that JSON does not have."""


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (several, "no name"),
        (anything, "no name"),
        (unknown, "not known"),
        (strange, "JSON does not know"),
        (lambda: None, "cannot be called"),
    ],
    ids=["args", "kwargs", "unknown-type", "no-json", "lambda"],
)
def test_what_no_definition_can_be_made_of(function: Any, said: str) -> None:
    """A mistake is told when the tool is made."""
    with pytest.raises(UsageError) as caught:
        tool(function)
    assert said in caught.value.message


@given(
    st.dictionaries(st.text(max_size=8), st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5))
)
def test_arguments_fit_or_are_refused(arguments: dict[str, Any]) -> None:
    """Whatever a model writes, the function runs with its types or is refused."""
    try:
        result = function_tool(tide).call(**arguments)
    except UsageError:
        return
    assert isinstance(result[0], str)
    assert isinstance(result[1], int)
