"""What the tests of the contracts share: data nobody asked for, a dialect that hides nothing, a step that notes it ran."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from innkeeper.prompt import Block, Dialects, Message, NoConfig, Payload, Plan, State, Step, Tool

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
"""Text of any code points, lone surrogates and NUL included."""

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4))
"""Any value that JSON can spell."""


def objects(*keys: str) -> st.SearchStrategy[dict[str, Any]]:
    """JSON objects in which the given keys are likely."""
    return st.dictionaries(st.sampled_from(keys) | ANY_TEXT, JSON, max_size=6)


def nested(levels: int) -> list[Any]:
    """A list in a list in a list, and so on."""
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


class Bare:
    """A dialect that shows each message as it is."""

    name = "openai"

    def messages(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Payload:
        return Payload([message.to_dict() for message in messages])

    def request(
        self, messages: Sequence[Message], *, model: str | None, options: Mapping[str, Any], tools: Sequence[Tool] = ()
    ) -> Payload:
        body = {"model": model, "messages": self.messages(messages, {}).body, "tools": len(tools), **options}
        return Payload(body)


BARE = Dialects(Bare())


def plan_of(*contents: str, **fields: Any) -> Plan:
    """A plan of user blocks in the bare dialect."""
    return Plan(blocks=tuple(Block(role="user", content=text) for text in contents), dialects=BARE, **fields)


def step(name: str, work: Callable[[State], None] = lambda _state: None, **kwargs: Any) -> Step[NoConfig]:
    """A step without options."""
    return Step(name, lambda state, _config: work(state), NoConfig, **kwargs)
