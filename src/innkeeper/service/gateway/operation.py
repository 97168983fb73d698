"""GatewayPath: a path of the gateway, and the operation that answers there; its arguments are checked in the gateway's words.

Arguments and replies are structs. The same types check requests, and are the JSON Schemas that ``list_apis`` and OpenAPI show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, Literal, Self, get_args, get_origin

import msgspec

from innkeeper.gate.judgement import Judgement
from innkeeper.operations.operation import Operation
from innkeeper.prompt.data import Registry
from innkeeper.prompt.typed.misfit import Misfit
from innkeeper.prompt.typed.once import convert
from innkeeper.service.errors import Problem

Effect = Literal["pure", "state", "reads", "writes"]
"""``pure``: a function of the request. ``state``: the application's macros. ``reads``, ``writes``: files of the data folder."""


_JUDGED: Final[Mapping[Effect, Judgement]] = {
    "pure": Judgement.MADE,
    "state": Judgement.MADE,
    "reads": Judgement.OWN,
    "writes": Judgement.OWN,
}
"""When the texts of an operation pass the gate, by what it may touch."""


def gives(**types: Any) -> type[msgspec.Struct]:
    """The reply of an operation. What is ``| UnsetType`` may be absent."""
    unset = [(name, kind, msgspec.UNSET) for name, kind in types.items() if msgspec.UnsetType in get_args(kind)]
    needed = [(name, kind) for name, kind in types.items() if msgspec.UnsetType not in get_args(kind)]
    return msgspec.defstruct("Reply", [*needed, *unset], kw_only=True, frozen=True)


class GatewayPath(msgspec.Struct, frozen=True, dict=True):
    """A path of the gateway. ``name`` is namespace and path, ``effect`` what the operation may touch."""

    name: str
    operation: Operation[Any, Any]
    effect: Effect = "pure"

    @classmethod
    def of(
        cls, name: str, run: Callable[..., Any], words: str, reply: Any, effect: Effect = "pure", /, **types: Any
    ) -> Self:
        """A path where ``run`` answers, which gets the call and the arguments by name, and returns plain data.

        ``types`` are those of the arguments. What may be null may be left out, which is the same.
        """
        optional = {name: kind for name, kind in types.items() if type(None) in get_args(kind)}
        fields = [(name, kind, None) if name in optional else (name, kind) for name, kind in types.items()]
        takes = msgspec.defstruct("Arguments", fields, kw_only=True, frozen=True)
        title = name.partition("/")[2].replace("/", ".")
        operation = Operation(
            title, ByName(run, frozenset(optional)), takes=takes, gives=reply, words=words, judged=_JUDGED[effect]
        )
        return cls(name, operation, effect)

    @property
    def namespace(self) -> str:
        """``modules``, ``workflow`` or ``plugins``."""
        return self.name.partition("/")[0]

    @property
    def path(self) -> str:
        """The name without its namespace."""
        return self.name.partition("/")[2]

    @property
    def function(self) -> str:
        """The last part of the path, which errors call it by."""
        return self.path.rpartition("/")[2]

    @cached_property
    def types(self) -> Mapping[str, Any]:
        """All arguments it knows, with their types."""
        return {field.name: field.type for field in msgspec.structs.fields(self.operation.request)}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The arguments that must be there, in order."""
        return tuple(field.name for field in msgspec.structs.fields(self.operation.request) if field.required)

    def problems(self, arguments: Mapping[str, Any]) -> list[Problem]:
        """What does not fit: the first place of each argument, in the order in which the operation names them."""
        checked = (_problem(name, arguments[name], kind) for name, kind in self.types.items() if name in arguments)
        return [problem for problem in checked if problem]

    def __call__(self, call: Any, arguments: Mapping[str, Any]) -> Any:
        """Run the operation. The values stay as they came: the engine reads plain data."""
        return self.operation.run(self.operation.request(**arguments), call)


class ByName(msgspec.Struct, frozen=True):
    """What runs a function of a call and arguments by name. Those that are ``optional`` are left out where they are null."""

    function: Callable[..., Any]
    optional: frozenset[str]

    def __call__(self, request: msgspec.Struct, call: Any) -> Any:
        """What the function returns."""
        values = msgspec.structs.asdict(request).items()
        return self.function(call, **{name: v for name, v in values if v is not None or name not in self.optional})


class Operations(Registry[GatewayPath]):
    """Paths by their names."""

    __slots__ = ()

    WHAT = "operation"


def _problem(name: str, value: Any, kind: Any) -> Problem | None:
    """The first place of an argument that does not fit."""
    try:
        convert(value, kind)
    except Misfit as error:
        path = name + ("" if not error.path or error.path.startswith("[") else ".") + error.path
        if error.due:
            hint = f"give {error.due}" + (", or leave it out" if error.is_optional else "")
            return Problem(path, f"{path} {error.problem}", hint)
        if error.field:
            return Problem(f"{path}.{error.field}", f"{path}.{error.field} is missing", f"add {error.field!r}")
        values = ", ".join(_values(kind, path.rpartition(".")[2]))
        return Problem(path, f"{path} is not one of the values it may have", f"one of: {values}")
    return None


def _values(kind: Any, name: str) -> tuple[str, ...]:
    """The values of an enumeration: of the type itself, or of the property ``name`` of a struct in it."""
    for part in (kind, *get_args(kind)):
        if get_origin(part) is Literal:
            return get_args(part)
        if isinstance(part, type) and issubclass(part, msgspec.Struct) and name in part.__struct_fields__:
            return _values({field.name: field.type for field in msgspec.structs.fields(part)}[name], name)
    return ()
