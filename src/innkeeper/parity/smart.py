"""The runner of SmartTavern cases: each call of the original under its own name here, with the profile ``smarttavern``.

The case format is described in the vectors' own README. A call's input goes to our operation as keyword arguments. Cases of
the area ``http`` are requests to the service, in this process; see `innkeeper.parity.smart_gateway`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from innkeeper.parity.case import Case
from innkeeper.parity.smart_order import with_orders, without_words
from innkeeper.prompt.clock import Clock
from innkeeper.prompt.errors import InnkeeperError, UnavailableError, UnsupportedError

if TYPE_CHECKING:
    from innkeeper.parity.smart_gateway import GatewayCases
    from innkeeper.taverns.smart import SmartOptions

__all__ = ["HTTP", "SmartCases"]

PROFILE: Final = "smarttavern"
HTTP: Final = "http"
"""The area of requests to the service."""

_TAVERN: Final = "innkeeper.taverns.smart"
_MACROS: Final = "innkeeper.macros.smart"
_SANDBOX: Final = "innkeeper.macros.smart.sandbox"
_HOMES: Final = {
    "in_chat_constructor.construct": (_TAVERN, "construct"),
    "framing_prompt.assemble": (_TAVERN, "assemble"),
    "prompt_raw.assemble_full": (_TAVERN, "assemble_full"),
    "prompt_postprocess.apply": (_TAVERN, "postprocess_apply"),
    "variables_update.apply_operation": (_TAVERN, "apply_operation"),
    "python_sandbox.eval": (_SANDBOX, "evaluate"),
}
"""Where the calls are that have another name here. The others are in the tavern or the macros under their own."""

_RENAMED: Final = {"rules": "regex_rules"}
"""Arguments of the original's functions that its API names otherwise, as we do."""

_LEAKS: Final = frozenset({"AttributeError", "TypeError", "IndexError", "KeyError"})
"""What the original raises where it does not check; a typed error of ours agrees."""


class SmartCases:
    """The answers to one run's cases. Requests to the service meet one service, in the order of their cases."""

    def __init__(self) -> None:
        self._gateway: GatewayCases | None = None

    def answer(self, case: Case) -> Any:
        """Our answer to a case, in the shape of its ``expected``; ``{"raised": …}`` where a typed error was raised."""
        if case.area == HTTP:
            return self._service().answer(case.input)
        call, options = _function(case.area), _options(case.raw)
        given = {_RENAMED.get(key, key): value for key, value in case.input.items()}
        try:
            return call(**given, **_told(case.area, options))
        except UnavailableError:
            raise
        except InnkeeperError as error:
            kind = "ValueError" if isinstance(error, ValueError) else type(error).__name__
            return {"raised": {"type": kind, "message": error.message}}

    def counted(self, case: Case, found: Any) -> tuple[Any, Any]:
        """The parts of the expected and the found answer that must agree, orders of keys included."""
        if case.area == HTTP:
            return self._service().counted(case, found)
        error = case.raw.get("error")
        if error:
            return _errors(error, found, words=case.area == "in_chat_constructor.construct")
        expected, found = case.expected, _as_json(found)
        if case.area == "python_sandbox.eval":
            expected, found = without_words(expected), without_words(found)
        accepted = case.raw.get("accept_text") or ()
        if isinstance(found, dict) and found.get("text") in accepted:
            expected = {**expected, "text": found["text"]}
        return with_orders(expected), with_orders(found)

    @staticmethod
    def decided(case: Case) -> str | None:
        """Why a case is held to the document where the recording is of the original's defect."""
        from innkeeper.parity.smart_gateway import DECIDED

        found = DECIDED.get(case.name) if case.area == HTTP else None
        return found.reason if found else None

    def _service(self) -> GatewayCases:
        from innkeeper.parity.smart_gateway import GatewayCases

        self._gateway = self._gateway or GatewayCases()
        return self._gateway


def _function(area: str) -> Any:
    module, _, name = area.partition(".")
    home = _HOMES.get(area, (_MACROS if module == "macro" else _TAVERN, name))
    found = getattr(import_module(home[0]), home[1], None)
    if found is None:
        raise UnsupportedError(f"there is no call {area}", hint="the areas are named in docs/compatibility/smarttavern")
    return found


def _options(raw: Mapping[str, Any]) -> SmartOptions:
    """The case's moment (written without a zone, in UTC) and the generator Python's ``random.seed`` makes of its seed."""
    from innkeeper.macros.outside import python_chance
    from innkeeper.taverns.smart import SmartOptions

    told: dict[str, Any] = {"random": python_chance(raw.get("seed") or 0)}
    if raw.get("clock"):
        told["now"] = Clock.at(raw["clock"]).now
    return SmartOptions.of(PROFILE, **told)


def _told(area: str, options: SmartOptions) -> dict[str, Any]:
    """The options under the name that the operation has for them."""
    if area.startswith(("macro.", "python_sandbox.")):
        return {"options": options.macros}
    return {"smart" if area.startswith("variables_update.") else "options": options}


def _errors(error: Mapping[str, Any], found: Any, *, words: bool) -> tuple[Any, Any]:
    raised = found.get("raised") if isinstance(found, dict) else None
    if raised is None:
        return {"raised": error}, {"raised": None, "answered": found}
    if error["type"] in _LEAKS:
        return {"raised": True}, {"raised": True}
    keys = ("type", "message") if words else ("type",)
    return {key: error[key] for key in keys}, {key: raised[key] for key in keys}


def _as_json(answer: Any) -> Any:
    """The answer as JSON would hold it: variables keep the tuples that Python code puts into them."""
    if isinstance(answer, dict):
        return {key: _as_json(value) for key, value in answer.items()}
    return [_as_json(value) for value in answer] if isinstance(answer, (list, tuple)) else answer
