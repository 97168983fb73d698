"""Engine: what answers most operations, a function of the smart tavern or its macros, called with the caller's custom macros.

Custom macros are names that callers bind to operations of ours; they belong to one application.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from inspect import signature
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.dialects import DIALECTS
from innkeeper.gate.gate import warm_gate
from innkeeper.prompt.errors import UnknownNameError, UsageError
from innkeeper.service.errors import MAX_MACRO_NAME, Problem, RequestError
from innkeeper.service.gateway.operation import GatewayPath
from innkeeper.service.gateway.state import AppState, GatewayCall

if TYPE_CHECKING:
    from innkeeper.taverns.smart.compat import SmartOptions


_RESULTS: Final = ("text", "result")


def register(call: GatewayCall, macros: list[dict[str, str]]) -> dict[str, Any]:
    """The operation ``macro/register``. Raises `UnknownNameError`, `UsageError`, `LimitError`."""
    handlers = {_name(macro["name"], index): _handler(call, macro["handler_api"]) for index, macro in enumerate(macros)}
    call.state.macros.add(handlers)
    return {"success": True, "count": len(macros)}


def list_macros(call: GatewayCall) -> dict[str, Any]:
    """The operation ``macro/list``."""
    return {"success": True, "items": call.state.macros.all()}


def clear(call: GatewayCall) -> dict[str, Any]:
    """The operation ``macro/clear``."""
    call.state.macros.clear()
    return {"success": True}


def bound(call: GatewayCall) -> dict[str, Callable[[str, str, Any], Any]]:
    """The registered macros as functions for one call: name, text after the colon and environment in; the text out."""
    return {name: _bound(call, _find(call, handler)) for name, handler in call.state.macros.all().items()}


def _bound(call: GatewayCall, operation: GatewayPath) -> Callable[[str, str, Any], Any]:
    alone = replace(call, state=AppState(call.state.settings, call.state.operations), explain=False, notes=[])

    def expand(name: str, params: str, environment: Any) -> Any:
        policy = msgspec.to_builtins(environment.policy)
        arguments = {"name": name, "params": params, "variables": environment.table, "policy": policy}
        arguments = dict.fromkeys(operation.required, params) | arguments
        reply = operation(alone, {key: value for key, value in arguments.items() if key in operation.types})
        return next((reply[part] for part in _RESULTS if isinstance(reply, dict) and part in reply), None)

    return expand


def _name(name: str, index: int) -> str:
    if not name.strip() or len(name) > MAX_MACRO_NAME:
        hint = f"1 to {MAX_MACRO_NAME} characters"
        raise RequestError([Problem(f"macros[{index}].name", "this cannot be the name of a macro", hint)])
    return name.strip().lower()


def _handler(call: GatewayCall, handler: str) -> str:
    operation = _find(call, handler)
    if operation.effect not in {"pure", "state"} or operation.path.endswith(("/register", "/clear")):
        raise UsageError(f"{operation.path} cannot be a macro", hint="only operations that change nothing can")
    return handler


def _find(call: GatewayCall, handler: str) -> GatewayPath:
    operations = call.state.operations
    namespace, colon, path = handler.partition(":")
    name = f"{namespace}/{path}" if colon else f"modules/{handler}"
    if name not in operations:
        known = [f"{operation.namespace}:{operation.path}" for operation in operations.values()]
        raise UnknownNameError("operation", handler, known)
    return operations[name]


def smart_options(call: GatewayCall) -> SmartOptions:
    """How the smart tavern works in this call: profile, time, chance and the registered macros."""
    from innkeeper.taverns.smart.compat import SmartOptions

    settings = call.state.settings
    return SmartOptions.of(settings.profile, python=settings.python, now=call.now, seed=call.seed, macros=bound(call))


class EngineFunction(msgspec.Struct, frozen=True, dict=True):
    """A function below ``innkeeper``, written ``module:name`` and imported when it is called, with the arguments by name.

    It gets ``options`` and ``notes`` of the call, too, where it has such parameters.
    """

    target: str

    def __call__(self, call: GatewayCall, **arguments: Any) -> Any:
        """What the function returns."""
        return self.function(**arguments, **{name: of(call) for name, of in self.extras.items()})

    @cached_property
    def function(self) -> Any:
        """The function."""
        module, _, name = self.target.partition(":")
        return getattr(import_module(f"innkeeper.{module}"), name)

    @cached_property
    def extras(self) -> Mapping[str, Callable[[GatewayCall], Any]]:
        """What it gets beside its arguments, by parameter."""
        is_macro = self.target.startswith("macros.")
        extras: Mapping[str, Callable[[GatewayCall], Any]] = {
            "options": (lambda call: smart_options(call).macros) if is_macro else smart_options,
            "notes": attrgetter("notes"),
        }
        return {name: of for name, of in extras.items() if name in signature(self.function).parameters}


def construct(call: GatewayCall, **arguments: Any) -> dict[str, Any]:
    """``in_chat_constructor/construct``; with the verdict on every entry where the call asks for an explanation."""
    from innkeeper.taverns import smart

    if not call.explain:
        return smart.construct(**arguments, options=smart_options(call))
    made = smart.construct_explained(**arguments, options=smart_options(call))
    return {"messages": made.messages, "verdicts": [verdict.to_dict() for verdict in made.verdicts]}


def evaluate(call: GatewayCall, code: str, variables: Any = None, policy: Any = None) -> dict[str, Any]:
    """``python_sandbox/eval``. Switched off together with the macro: then it is refused as the sandbox refuses."""
    from innkeeper.macros.smart import sandbox

    if not call.state.settings.python:
        tables = {"initial": variables or {}, "final": variables or {}}
        return {"success": False, "result": "", "error": "python is switched off (--no-python)", "variables": tables}
    return sandbox.evaluate(code, variables, policy, options=smart_options(call).macros)


def warm() -> None:
    """Import what the operations need, so that the first call is as fast as the others and no two threads import at once."""
    for module in ("sandbox.execution", "expansion"):
        import_module(f"innkeeper.macros.smart.{module}")
    for module in ("framing", "regex_rules", "assets_normalizer", "variables_update"):
        import_module(f"innkeeper.taverns.smart.{module}")
    import_module("innkeeper.content.branches")
    warm_gate()
    tuple(DIALECTS.values())
    import_module("regex")  # the engine of patterns, which is imported with the first one
