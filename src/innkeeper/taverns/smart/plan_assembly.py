"""The step *plan_assembly*: each message a block that says where it came from."""

from __future__ import annotations

from typing import Any, Final

from innkeeper.prompt.block import Block, BudgetGroup
from innkeeper.prompt.frozen import FrozenDict
from innkeeper.prompt.message import Message
from innkeeper.prompt.plan import Plan
from innkeeper.prompt.state import State
from innkeeper.prompt.step import NoConfig, Step
from innkeeper.prompt.text import Origin, scalar_text
from innkeeper.taverns.smart.smart_inputs import SmartInputs, inputs_of
from innkeeper.taverns.smart.values import text_of, told_number, whole_number

__all__ = ["PLAN_ASSEMBLY"]


def run(state: State, _config: NoConfig) -> None:
    """Make the blocks and the plan."""
    inputs = inputs_of(state)
    said = len(state.request.history)
    made = state.made_by("regex_after")
    blocks = tuple(
        _chat_block(message, inputs, said)
        if message["source"]["type"].startswith("history.")
        else _block(message, number)
        for number, message in enumerate(made)
    )
    state.result.blocks = list(blocks)
    state.result.plan = Plan(blocks=blocks, profile=state.request.profile or "fixed")
    state.stat("plan_blocks", len(blocks))


def _chat_block(message: dict[str, Any], inputs: SmartInputs, said: int) -> Block:
    """A message of the chat, with everything that the request's own has beside its text."""
    index = message["source"]["index"]
    own: Message = inputs.messages[index]
    is_new = index >= said
    return Block(
        role=message["role"],
        content=scalar_text(message["content"]),
        id="message" if is_new else f"history-{index}",
        name=own.name,
        attachments=own.attachments,
        message_metadata=own.metadata,
        slot="message" if is_new else "history",
        group=BudgetGroup.HISTORY,
        metadata=FrozenDict({"source": message["source"]["type"]}),
        origin=Origin("message") if is_new else Origin("history", entry=str(index)),
    )


def _block(message: dict[str, Any], number: int) -> Block:
    source = message["source"]
    kind: str = source["type"]
    asset, _, place = kind.partition(".")
    facts: dict[str, Any] = {"source": kind, "id": text_of(source["id"], "source.id")}
    facts |= {name: text_of(source.get(name), name) for name in ("name", "identifier") if source.get(name)}
    if place == "in-chat":
        depth, order = whole_number(source.get("depth"), 0), whole_number(source.get("order"), 100)
        facts |= {"depth": told_number(depth), "order": told_number(order)}
    return Block(
        role=message["role"],
        content=scalar_text(message["content"]),
        id=f"{number}:{scalar_text(str(facts['id']))}",
        slot=kind,
        group=BudgetGroup.LORE if asset == "world_book" else BudgetGroup.SYSTEM,
        metadata=FrozenDict(facts),
        origin=_origin(asset, source),
    )


_ASSETS: Final = {"char": "character", "persona": "user"}
"""What the sources of descriptions are called in origins."""


def _origin(asset: str, source: dict[str, Any]) -> Origin:
    if asset in _ASSETS:
        return Origin(_ASSETS[asset], "description")
    named = source.get("name") or source.get("identifier") or source["id"]
    if asset == "world_book":
        return Origin("lorebook", entry=text_of(named, "source"))
    return Origin("preset", "prompts", text_of(source.get("identifier") or named, "source"))


PLAN_ASSEMBLY: Final = Step("plan_assembly", run, NoConfig)
"""Makes the plan."""
