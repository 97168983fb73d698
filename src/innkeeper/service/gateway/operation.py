"""Operation: one thing the gateway does, with its path, its schemas and what it may touch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from innkeeper.prompt.registry import Registry
from innkeeper.service.gateway.shape import schema_of
from innkeeper.service.gateway.state import Call

__all__ = ["Effect", "Namespace", "Operation", "Operations", "operation"]

Namespace = Literal["modules", "workflow", "plugins"]
Effect = Literal["pure", "state", "reads", "writes"]
"""``pure``: a function of the request. ``state``: the application's macros. ``reads``, ``writes``: files of the data folder."""


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation. ``run`` gets the call and the arguments by name, and returns plain data."""

    namespace: Namespace
    path: str
    run: Callable[..., Any]
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    effect: Effect = "pure"

    @property
    def name(self) -> str:
        """Namespace and path, which is what operations are found by."""
        return f"{self.namespace}/{self.path}"

    @property
    def function(self) -> str:
        """The last part of the path, which errors call it by."""
        return self.path.rpartition("/")[2]

    @property
    def required(self) -> tuple[str, ...]:
        """The arguments that must be there, in order."""
        return tuple(self.input_schema.get("required", ()))

    @property
    def arguments(self) -> Mapping[str, Any]:
        """All arguments it knows, with their schemas."""
        return self.input_schema.get("properties", {})  # type: ignore[no-any-return]

    def __call__(self, call: Call, arguments: Mapping[str, Any]) -> Any:
        """Run it; what is null counts as left out, where leaving out is allowed."""
        given = {name: value for name, value in arguments.items() if value is not None or name in self.required}
        return self.run(call, **given)


class Operations(Registry[Operation]):
    """Operations by namespace and path."""

    __slots__ = ()

    WHAT = "operation"


def operation(
    place: str, run: Callable[..., Any], description: str, takes: str, gives: str, effect: Effect = "pure"
) -> Operation:
    """An operation from a line of the table: ``place`` is namespace and path, ``takes`` and ``gives`` are shapes."""
    namespace, _, path = place.partition("/")
    return Operation(
        namespace=namespace,  # type: ignore[arg-type]  # the table is ours; a test holds it
        path=path,
        run=run,
        description=description,
        input_schema=schema_of(takes),
        output_schema=schema_of(gives),
        effect=effect,
    )
