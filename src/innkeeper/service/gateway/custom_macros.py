"""Custom macros: names that callers bind to operations of ours. They belong to one application and are bounded.

The original lets anybody bind a macro to any operation, one that deletes files among them. Here only pure ones can be bound.
A macro ``{{name:text}}`` calls its operation with what the operation knows of: ``name``, ``params``, ``variables``,
``policy``, and the text itself as its one required argument (``text``, ``code``). The macro stands for the reply's ``text`` or
``result``. Inside it no custom macros are known, so that they cannot call one another without end.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.prompt.errors import LimitError, UnknownNameError, UsageError
from innkeeper.service.errors import Problem, RequestError
from innkeeper.service.limits import MAX_MACRO_NAME, MAX_MACROS

if TYPE_CHECKING:
    from innkeeper.service.gateway.operation import Operation
    from innkeeper.service.gateway.state import Call

__all__ = ["CustomMacros", "bound", "clear", "listed", "register"]

_RESULTS: Final = ("text", "result")


class CustomMacros:
    """Names and the operations they stand for. Names are kept in lower case."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handlers: dict[str, str] = {}

    def add(self, handlers: Mapping[str, str]) -> None:
        """Add or replace. Raises `LimitError` where there would be too many; then none is added."""
        with self._lock:
            merged = {**self._handlers, **handlers}
            if len(merged) > MAX_MACROS:
                raise LimitError("custom macros", limit="MAX_MACROS", allowed=MAX_MACROS, found=len(merged))
            self._handlers = merged

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._handlers = {}

    def all(self) -> dict[str, str]:
        """Name to handler."""
        return dict(self._handlers)


def register(call: Call, macros: list[dict[str, str]]) -> dict[str, Any]:
    """The operation ``macro/register``. Raises `UnknownNameError`, `UsageError`, `LimitError`."""
    found = {_name(macro["name"], index): _handler(call, macro["handler_api"]) for index, macro in enumerate(macros)}
    call.house.macros.add(found)
    return {"success": True, "count": len(macros)}


def listed(call: Call) -> dict[str, Any]:
    """The operation ``macro/list``."""
    return {"success": True, "items": call.house.macros.all()}


def clear(call: Call) -> dict[str, Any]:
    """The operation ``macro/clear``."""
    call.house.macros.clear()
    return {"success": True}


def bound(call: Call) -> dict[str, Any]:
    """The registered macros as functions for one call."""
    return {name: _Bound(call, handler) for name, handler in call.house.macros.all().items()}


class _Bound:
    """A macro's function: the name, what stands after the colon, and the environment in; the text out."""

    def __init__(self, call: Call, handler: str) -> None:
        self._call = call
        self._operation = _find(call, handler)

    def __call__(self, name: str, params: str, environment: Any) -> Any:
        operation = self._operation
        given: dict[str, Any] = {
            "name": name,
            "params": params,
            "variables": environment.table,
            "policy": msgspec.to_builtins(environment.policy),
        }
        given |= {argument: params for argument in operation.required if argument not in given}
        known = {argument: value for argument, value in given.items() if argument in operation.arguments}
        reply = operation(_alone(self._call), known)
        return next((reply[part] for part in _RESULTS if isinstance(reply, dict) and part in reply), None)


def _alone(call: Call) -> Call:
    from innkeeper.service.gateway.state import AppState, Call

    return Call(AppState(call.house.settings, call.house.operations), call.now, call.seed)


def _name(name: str, index: int) -> str:
    if not name.strip() or len(name) > MAX_MACRO_NAME:
        hint = f"1 to {MAX_MACRO_NAME} characters"
        raise RequestError([Problem(f"macros[{index}].name", "this is no name for a macro", hint)])
    return name.strip().lower()


def _handler(call: Call, handler: str) -> str:
    operation = _find(call, handler)
    if operation.effect not in {"pure", "state"} or operation.path.endswith(("/register", "/clear")):
        raise UsageError(f"{operation.path} cannot be a macro", hint="only operations that change nothing can")
    return handler


def _find(call: Call, handler: str) -> Operation:
    operations = call.house.operations
    namespace, colon, path = handler.partition(":")
    name = f"{namespace}/{path}" if colon else f"modules/{handler}"
    if name not in operations:
        raise UnknownNameError(
            "operation", handler, [f"{found.namespace}:{found.path}" for found in operations.values()]
        )
    return operations[name]
