"""GatewayCases: requests to the service in this process, with the data folder that the cases were recorded beside."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from innkeeper.parity.case import Case
from innkeeper.parity.smart_order import with_orders, without_words

__all__ = ["DECIDED", "Decided", "GatewayCases"]

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

        self._folder = tempfile.mkdtemp(prefix="innkeeper-parity-")
        self._end = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._app = create_app(Settings(data=_data_folder(Path(self._folder)), profile="smarttavern"))

    def answer(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """``{"status", "body"}`` of a request ``{"method", "path", "headers", "body"}``."""
        response = asyncio.run(self._sent(given))
        try:
            body = response.json()
        except ValueError:
            body = response.text
        return {"status": response.status_code, "body": body}

    async def _sent(self, given: Mapping[str, Any]) -> Any:
        import httpx

        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(transport=transport, base_url=_BASE) as client:
            return await client.request(
                given["method"], given["path"], headers=given.get("headers") or {}, content=_content(given.get("body"))
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


def _content(body: Any) -> bytes | None:
    if body is None:
        return None
    return (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)).encode()


def _data_folder(root: Path) -> Path:
    """A data folder with one preset in it."""
    place = root / "presets" / "默认预设"
    place.mkdir(parents=True)
    (place / "preset.json").write_text(json.dumps(_PRESET, ensure_ascii=False), encoding="utf-8")
    return root
