"""Twins: whatever waits for the network can be had for blocking callers and for event loops, with the same methods."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from innkeeper import inference

TWINS = [name for name in inference.__all__ if f"Async{name}" in inference.__all__]


def methods(kind: Any) -> dict[str, list[str]]:
    """The public methods of a class, each with the names of its parameters."""
    public = inspect.getmembers(kind, inspect.isfunction)
    return {name: sorted(inspect.signature(value).parameters) for name, value in public if not name.startswith("_")}


def test_whoever_waits_has_a_twin() -> None:
    """Clients and runners have one; the others wait for nothing."""
    assert TWINS == [
        "Client",
        "DirectivesRunner",
        "FakeClient",
        "ModelClient",
        "PromptRunner",
        "RouteClient",
        "ToolLoopRunner",
    ]


@pytest.mark.parametrize("name", TWINS)
def test_same_methods(name: str) -> None:
    """A twin has the methods of its sibling, with the same parameters; a runner's inputs may be listed by the sibling alone.

    A blocking client may be read by an event loop too, where a program has only that one: `events_async`.
    """
    blocking, awaited = (methods(getattr(inference, prefix + name)) for prefix in ("", "Async"))
    blocking.pop("build_request", None)
    blocking.pop("events_async", None)
    awaited.pop("build_request", None)
    assert awaited == blocking
