"""Engine: what answers most operations, a function of the smart tavern or its macros, called with the call's clock and seed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from innkeeper.service.gateway.custom_macros import bound
from innkeeper.service.gateway.state import Call

if TYPE_CHECKING:
    from innkeeper.taverns.smart.compat import SmartOptions

__all__ = ["Engine", "construct", "evaluate", "smart_options", "warm"]


def smart_options(call: Call) -> SmartOptions:
    """How the smart tavern works in this call: profile, time, chance and the registered macros."""
    from innkeeper.taverns.smart.compat import SmartOptions

    settings = call.state.settings
    return SmartOptions.of(settings.profile, python=settings.python, now=call.now, seed=call.seed, macros=bound(call))


_EXTRAS: Final = {
    "options": ("options", smart_options),
    "macro_options": ("options", lambda call: smart_options(call).macros),
    "notes": ("notes", lambda call: call.notes),
}


@dataclass(frozen=True, slots=True)
class Engine:
    """A function below ``innkeeper``, written ``module:name`` and imported when it is called, with the arguments by name.

    ``extras`` are what it takes besides: ``options`` or ``macro_options`` of the call, and its ``notes``.
    """

    target: str
    extras: tuple[str, ...] = ()

    def __call__(self, call: Call, **arguments: Any) -> Any:
        """What the function returns."""
        extras = {name: of(call) for name, of in (_EXTRAS[extra] for extra in self.extras)}
        return self.function()(**arguments, **extras)

    def function(self) -> Any:
        """The function."""
        module, _, name = self.target.partition(":")
        return getattr(import_module(f"innkeeper.{module}"), name)


def construct(call: Call, **arguments: Any) -> dict[str, Any]:
    """``in_chat_constructor/construct``; with the verdict on every entry where the call asks for an explanation."""
    from innkeeper.taverns import smart

    if not call.explain:
        return smart.construct(**arguments, options=smart_options(call))
    made = smart.construct_explained(**arguments, options=smart_options(call))
    return {"messages": made.messages, "verdicts": [verdict.to_dict() for verdict in made.verdicts]}


def evaluate(call: Call, code: str, variables: Any = None, policy: Any = None) -> dict[str, Any]:
    """``python_sandbox/eval``. Switched off together with the macro: then it is refused as the sandbox refuses."""
    from innkeeper.macros.smart import sandbox

    if not call.state.settings.python:
        tables = {"initial": variables or {}, "final": variables or {}}
        return {"success": False, "result": "", "error": "python is switched off (--no-python)", "variables": tables}
    return sandbox.evaluate(code, variables, policy, options=smart_options(call).macros)


def warm() -> None:
    """Import what the operations need, so that the first call is as fast as the others and no two threads import at once."""
    for module in ("sandbox.execution", "expansion", "operations"):
        import_module(f"innkeeper.macros.smart.{module}")
    for module in ("framing", "regex_rules", "assets_normalizer", "variables_update"):
        import_module(f"innkeeper.taverns.smart.{module}")
    import_module("innkeeper.content.branches")
    import_module("regex")  # the engine of patterns, which is imported with the first one
