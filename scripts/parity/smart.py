"""The runner of SmartTavern cases: each call of the original under its own name here, with the profile ``smarttavern``.

The case format is described in the vectors' own README. A call's input goes to our operation as keyword arguments. Cases of
the area ``http`` are requests to the service, in this process, with the data folder that the cases were recorded beside. The
order of keys counts in messages and their sources, as SmartTavern's document wants; the words of error messages do not.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from threading import Thread
from typing import Any, Final

import msgspec

from innkeeper.prompt.determinism import Clock
from innkeeper.prompt.errors import InnkeeperError, UnavailableError, UnsupportedError
from scripts.parity.case import Case

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
        call = _function(case.area)
        arguments = {_RENAMED.get(key, key): value for key, value in case.input.items()}
        try:
            return call(**arguments, **_taken(call, _options(case.area, case.raw)))
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
        decided = DECIDED.get(case.name) if case.area == HTTP else None
        return decided.reason if decided else None

    def _service(self) -> GatewayCases:
        self._gateway = self._gateway or GatewayCases()
        return self._gateway


def _function(area: str) -> Any:
    module, _, name = area.partition(".")
    home, name = _HOMES.get(area, (_MACROS if module == "macro" else _TAVERN, name))
    function = getattr(import_module(home), name, None)
    if function is None:
        raise UnsupportedError(f"there is no call {area}", hint="the areas are named in docs/compatibility/smarttavern")
    return function


def _taken(call: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a call takes: extracting the parts of an asset depends on none."""
    parameters = signature(call).parameters
    takes_all = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values())
    return {name: value for name, value in options.items() if takes_all or name in parameters}


def _options(area: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    """The profile, the case's moment and its chance, under the name that the operation has for them.

    The moment is written without a zone, in UTC; chance is the generator that Python's ``random.seed`` makes of the seed.
    """
    from innkeeper.taverns.smart import SmartOptions
    from scripts.parity.outside import python_chance

    moment = {"now": Clock.at(raw["clock"]).now} if raw.get("clock") else {}
    options = SmartOptions.of(PROFILE, random=python_chance(raw.get("seed") or 0), **moment)
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


_PRESET: Final = {"name": "默认预设", "description": "这是默认预设的描述", "prompts": [], "regex_rules": []}
_BASE: Final = "http://localhost:8050"
_CHANGING: Final = {"/api/health": ("timestamp",)}
"""Fields of an answer that no two answers share; the cases leave them out."""


_LEAKED: Final = re.compile(
    r"index out of range|object has no attribute|object is not (?:iterable|subscriptable|callable|a mapping)"
    r"|does not support item|indices must be|unsupported operand|argument of type|not supported between|unhashable type"
    r"|dictionary update sequence|can only concatenate"
)
"""Words of Python's own errors that the original answers with; a typed error of ours agrees."""

_EVAL: Final = "/python_sandbox/eval"


class Decided(msgspec.Struct, frozen=True):
    """The body a request must be answered with although the original answered otherwise, and the reason."""

    body: Any
    reason: str


DECIDED: Final[Mapping[str, Decided]] = {
    "construct_array_world_books": Decided(
        {
            "messages": [
                {"role": "user", "content": "hi", "source": {"type": "history.user", "id": "history_0", "index": 0}},
                {
                    "role": "system",
                    "content": "x",
                    "source": {
                        "type": "world_book.in-chat",
                        "id": "wb_0",
                        "content": "x",
                        "role": "system",
                        "source_id": "wb_0",
                    },
                },
            ]
        },
        "the document takes arrays of entries; the original lost them without a word",
    ),
}
"""Cases held to the document, by name."""


class GatewayCases:
    """One service with the profile ``smarttavern`` for all requests of a run, so that what one changes the next one finds."""

    def __init__(self) -> None:
        from innkeeper.service import Settings, create_app

        folder = tempfile.mkdtemp(prefix="innkeeper-parity-")
        self._app = create_app(Settings(data=_data_folder(Path(folder)), profile="smarttavern"))
        self._runner = asyncio.Runner()
        self._end = weakref.finalize(self, _close, self._app, self._runner, folder)

    def answer(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """``{"status", "body"}`` of a request ``{"method", "path", "headers", "body"}``."""
        response = self._runner.run(self._sent(given))
        try:
            body = response.json()
        except ValueError:
            body = response.text
        return {"status": response.status_code, "body": body}

    async def _sent(self, given: Mapping[str, Any]) -> Any:
        import httpx

        body = given.get("body")
        content = body if body is None or isinstance(body, str) else json.dumps(body, ensure_ascii=False)
        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(transport=transport, base_url=_BASE) as client:
            return await client.request(
                given["method"], given["path"], headers=given.get("headers") or {}, content=content
            )

    @staticmethod
    def counted(case: Case, found: Mapping[str, Any]) -> tuple[Any, Any]:
        """Status and body, as the document has it where the original does not."""
        body = found["body"]
        decided = DECIDED.get(case.name)
        expected = {**case.expected, "body": decided.body} if decided else dict(case.expected)
        if isinstance(body, dict):
            changing = _CHANGING.get(case.input["path"], ())
            body = {key: value for key, value in body.items() if key not in changing}
        if case.input["path"].endswith(_EVAL):
            expected["body"], body = without_words(expected["body"]), without_words(body)
        elif isinstance(expected["body"], dict) and _LEAKED.search(str(expected["body"].get("error"))):
            refused = isinstance(body, dict) and not {"error", "error_code"}.isdisjoint(body)
            return {"refused": True}, {"refused": True} if refused else dict(found)
        return {**expected, "body": with_orders(expected["body"])}, {**found, "body": with_orders(body)}


def _close(app: Any, runner: asyncio.Runner, folder: str) -> None:
    app.state.pool.close()
    closing = Thread(target=runner.close)  # a loop may be running in this one, whenever this is collected
    closing.start()
    closing.join()
    shutil.rmtree(folder, ignore_errors=True)


def _data_folder(root: Path) -> Path:
    """A data folder with one preset in it."""
    place = root / "presets" / "默认预设"
    place.mkdir(parents=True)
    (place / "preset.json").write_text(json.dumps(_PRESET, ensure_ascii=False), encoding="utf-8")
    return root


_ORDERED: Final = ("messages", "message")


def with_orders(answer: Any) -> Any:
    """The answer with the order of the keys of its messages, and of their sources, beside them."""
    if not isinstance(answer, dict):
        return answer
    lists = {key: answer[key] for key in _ORDERED if isinstance(answer.get(key), list)}
    return {**answer, **{f"{key} (key order)": [_order(item) for item in items] for key, items in lists.items()}}


def without_words(answer: Any) -> Any:
    """A sandbox's answer with whether there is an error in place of its text."""
    if not isinstance(answer, dict) or not answer.keys() >= {"success", "error"}:
        return answer
    return {**answer, "error": answer["error"] is not None}


def _order(message: Any) -> Any:
    if not isinstance(message, dict):
        return None
    source = message.get("source")
    return {"message": list(message), "source": list(source) if isinstance(source, dict) else None}
