"""Dialects of users: registered beside ours, or passed for one call, from scratch or over the shared rules."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from innkeeper.dialects import DIALECTS, OpenAI, convert
from innkeeper.prompt import Block, Dialect, Dialects, Message, Payload, Plan, Tool, UnknownNameError


class Shouting:
    """A dialect of somebody else: one line a message, in capitals."""

    name = "shouting"

    def messages(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Payload:
        return Payload("\n".join(f"{each.role}: {each.content.upper()}" for each in messages))

    def request(
        self, messages: Sequence[Message], *, model: str | None, options: Mapping[str, Any], tools: Sequence[Tool] = ()
    ) -> Payload:
        return Payload({"model": model, "text": self.messages(messages, options).body})


PLAN = Plan(blocks=(Block(role="user", content="Hi"),), model="m")


def test_beside_ours() -> None:
    """A registry with a further dialect has both, and the built-in one is unchanged."""
    more = DIALECTS.with_(Shouting())
    assert isinstance(more["shouting"], Dialect)
    assert convert([Message("user", "Hi")], "shouting", dialects=more) == "user: HI"
    assert convert([Message("user", "Hi")], dialects=more) == [{"role": "user", "content": "Hi"}]
    with pytest.raises(UnknownNameError):
        DIALECTS["shouting"]


def test_for_one_plan() -> None:
    """A plan takes a registry for one rendering."""
    only = Dialects(Shouting())
    assert PLAN.to_messages("shouting", dialects=only) == "user: HI"
    assert PLAN.to_request("shouting", dialects=only).body == {"model": "m", "text": "user: HI"}


def test_in_place_of_ours() -> None:
    """A dialect of the same name replaces ours."""

    class Mine(OpenAI):
        def _messages(self, *_args: Any) -> list[dict[str, Any]]:
            return []

    assert convert([Message("user", "Hi")], dialects=DIALECTS.with_(Mine())) == []
