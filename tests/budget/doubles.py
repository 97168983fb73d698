"""What the tests of the budget share: counters of one token a character, and blocks."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from innkeeper.budget.units import Unit
from innkeeper.prompt import Block, FrozenDict, Plan, freeze


class Characters:
    """One token a character, exactly."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count(self, text: str, model: str | None = None) -> int:
        self.asked.append(text)
        return len(text)

    def describe(self, model: str | None = None) -> Mapping[str, Any]:
        return {"tokenizer": "characters", "exact": True, "error_percent": 0}


class Batch(Characters):
    """The same with a batch, of which it remembers the sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []

    def count_many(self, texts: Sequence[str], model: str | None = None) -> list[int]:
        self.batches.append(len(texts))
        return [len(text) for text in texts]


class Rough(Characters):
    """Says that it only estimates."""

    def describe(self, model: str | None = None) -> Mapping[str, Any]:
        return {"tokenizer": "rough", "exact": False, "error_percent": 20}


GROUPS = ("system", "examples", "lore", "history", "memory", "custom", "default")


@st.composite
def _block(draw: st.DrawFn) -> Block:
    role = draw(st.sampled_from(["system", "user", "assistant", "tool"]))
    metadata: dict[str, Any] = {}
    if draw(st.integers(0, 4)) == 0:
        metadata["eviction_bundle"] = draw(st.sampled_from("xyz"))
    if draw(st.integers(0, 9)) == 0:
        metadata["eviction_head"] = True
    calls: dict[str, Any] = {}
    if role == "tool":
        calls["tool_call_id"] = draw(st.sampled_from("12"))
    elif role == "assistant" and draw(st.booleans()):
        calls["tool_calls"] = [{"id": draw(st.sampled_from("12"))}]
    return Block(
        role=role,
        content="x" * draw(st.integers(0, 9)),
        group=draw(st.sampled_from(GROUPS)),
        priority=draw(st.sampled_from([10, 100])),
        removable=draw(st.integers(0, 9)) > 0,
        enabled=draw(st.integers(0, 9)) > 0,
        metadata=FrozenDict(metadata),
        message_metadata=freeze(calls),
    )


BLOCKS = st.lists(_block(), max_size=14).map(lambda blocks: Plan(blocks=tuple(blocks)).blocks)
"""Any blocks, with ids: all groups and roles, some bundles, some tool calls, some protected, some disabled."""


def block(content: str = "x", group: str = "history", role: str = "user", **fields: Any) -> Block:
    """A block of a group, of one token a character."""
    for key in ("bundle", "head", "source"):
        if key in fields:
            name = key if key == "source" else f"eviction_{key}"
            fields["metadata"] = FrozenDict({**fields.get("metadata", {}), name: fields.pop(key)})
    return Block(role=role, content=content, group=group, **fields)


UNITS = st.lists(
    st.builds(
        lambda tokens, turn, priority, protected: (tokens, turn, priority, protected),
        st.integers(0, 9),
        st.sampled_from(["examples", "lore", "history"]),
        st.integers(0, 3),
        st.booleans(),
    ),
    max_size=12,
).map(lambda rows: [Unit((index,), *row) for index, row in enumerate(rows)])
"""Units of one block each, by tokens, pass, priority, and whether they are protected."""
