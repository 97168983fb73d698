"""Small builds of the silly tavern for its tests."""

from __future__ import annotations

from typing import Any

from innkeeper.prompt import BuildRequest, Plan, Ports
from innkeeper.taverns import silly

__all__ = ["NOW", "book", "build", "card", "contents", "order", "request", "slot_of", "turns"]

NOW = "2026-01-15T12:34:56Z"


def card(**fields: Any) -> dict[str, Any]:
    """A V2 card of Mira with these fields."""
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Mira", **fields}}


def turns(*texts: str) -> list[dict[str, Any]]:
    """Messages by turns, the user's first."""
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]


def book(*entries: dict[str, Any], scope: str = "global", name: str = "B") -> dict[str, Any]:
    """A scoped world-info book."""
    return {"name": name, "scope": scope, "book": {"entries": {str(item["uid"]): item for item in entries}}}


def order(*names: str, **off: bool) -> list[dict[str, Any]]:
    """A prompt order with these prompts on (or as ``name=False`` says)."""
    listed = [{"identifier": name, "enabled": True} for name in names]
    return [{"character_id": 100001, "order": listed + [{"identifier": n, "enabled": on} for n, on in off.items()]}]


def request(**fields: Any) -> BuildRequest:
    """A request for Mira and Sam, with other fields over it."""
    given = {
        "tavern": "silly",
        "character": card(description="A clockmaker."),
        "user": {"name": "Sam"},
        "now": NOW,
        "seed": 1,
    }
    return BuildRequest.of({**given, **fields})


def build(ports: Ports | None = None, **fields: Any) -> Plan:
    """The plan of such a request."""
    return silly.build(request(**fields), ports or Ports())


def contents(plan: Plan) -> list[str]:
    """What is sent, in order."""
    return [message["content"] for message in plan.to_messages("openai")]


def slot_of(plan: Plan, text: str) -> str | None:
    """The slot of the block that holds a text."""
    return next(block.slot for block in plan.blocks if text in block.content)
