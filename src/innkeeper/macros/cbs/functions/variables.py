"""Functions of variables: reading and writing those of the chat, of the application and of one pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from innkeeper.macros.cbs.run import CbsCall, Function, Result, ThrownError, by_alias
from innkeeper.text.javascript.values import number_text, to_number


def _write(call: CbsCall, value: str | None) -> Result:
    """Write a chat variable where the scope runs variables; the tag stays where it neither runs nor drops them."""
    if call.scope.drop_variables:
        return ""
    if not call.scope.run_variables:
        return None
    call.run.changes[call.shown(0)] = value
    return ""


def setvar(call: CbsCall) -> Result:
    """Set a chat variable; without a value it has none."""
    return _write(call, call.args[1] if len(call.args) > 1 else None)


def addvar(call: CbsCall) -> Result:
    """Add a number to a chat variable."""
    return _write(call, number_text(to_number(call.run.variable(call.shown(0))) + call.number(1)))


def setdefaultvar(call: CbsCall) -> Result:
    """Set a chat variable that is empty. One without a value reads as ``null``, so it is not."""
    if not call.run.variable(call.shown(0)):
        return setvar(call)
    return "" if call.scope.run_variables or call.scope.drop_variables else None


def _temporary(call: CbsCall) -> dict[str, str]:
    if call.run.temporary is None:
        raise ThrownError
    return call.run.temporary


def settempvar(call: CbsCall) -> Result:
    """Set a variable of this pass."""
    _temporary(call)[call.shown(0)] = call.shown(1, "")
    return ""


def answer(call: CbsCall) -> Result:
    """End the pass with a text."""
    _temporary(call)
    call.run.answer = call.shown(0, "null")
    return ""


FUNCTIONS: Final[Mapping[str, Function]] = by_alias(
    {
        "getvar": lambda call: call.run.variable(call.shown(0)),
        "getglobalvar": lambda call: call.scope.global_variable(call.shown(0)),
        "setvar": setvar,
        "addvar": addvar,
        "setdefaultvar": setdefaultvar,
        "tempvar gettempvar": lambda call: _temporary(call).get(call.shown(0), ""),
        "settempvar": settempvar,
        "return": answer,
    }
)
