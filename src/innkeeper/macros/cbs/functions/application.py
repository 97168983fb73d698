"""Functions of what is stored: variables of the chat, of the application and of one pass; model, settings, modules, assets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from innkeeper.macros.cbs.functions.lists import list_text
from innkeeper.macros.cbs.run import CbsCall, Function, Result, ThrownError, by_alias
from innkeeper.macros.cbs.scope import NO_VALUE, CbsScope
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


def metadata(call: CbsCall) -> Result:
    """A fact about the application, by its key."""
    key = call.text(0)
    value = {**_facts(call.scope), **call.scope.metadata}.get(key.lower())
    return f"Error: {key} is not a valid metadata key." if value is None else value


def _facts(scope: CbsScope) -> dict[str, str]:
    """What ``metadata`` answers where the scope does not say otherwise."""
    language = scope.clock.locale.split("-")[0]
    version = scope.compat.version
    return {
        "mobile": "0",
        "local": "0",
        "node": "0",
        **dict.fromkeys(("version",), version),
        **dict.fromkeys(("major", "majorversion", "majorver"), version.split(".")[0]),
        **dict.fromkeys(("lang", "language", "locale"), language),
        **dict.fromkeys(("browserlang", "browserlanguage", "browserlocale"), scope.clock.locale),
        "maxcontext": str(scope.max_context),
        **dict.fromkeys(("modelinternalid", "modelname", "modelshortname"), scope.model),
        "risutype": "web",
        "imateapot": "\N{TEAPOT}",
    }


def moduleassetlist(call: CbsCall) -> Result:
    """The names of a module's assets; nothing where it is not enabled."""
    names = call.scope.modules.get(call.shown(0))
    return "" if names is None else list_text(call, list(names))


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
        "model": lambda call: call.scope.model,
        "axmodel": lambda call: call.scope.sub_model,
        "jbtoggled": lambda call: "1" if call.scope.jailbreak_on else "0",
        "maxcontext": lambda call: str(call.scope.max_context),
        "prefillsupported prefill": lambda call: "1" if call.scope.model.startswith("claude") else "0",
        "emotionlist": lambda call: list_text(call, list(call.scope.emotions)),
        "assetlist": lambda call: list_text(call, list(call.scope.assets)),
        "chardisplayasset": lambda call: list_text(call, list(call.scope.display_assets)),
        "moduleenabled": lambda call: "1" if call.shown(0) in call.scope.modules else "0",
        "moduleassetlist": moduleassetlist,
        "metadata": metadata,
        "screenwidth": lambda call: str(call.scope.screen[0]),
        "screenheight": lambda call: str(call.scope.screen[1]),
        "triggerid": lambda call: call.scope.trigger_id or NO_VALUE,
    }
)
