"""Gateway: the surface as one function from request to reply, with no server in it.

The HTTP surface, `innkeeper call` and tests all ask it, which is why they give the same bytes.
"""

from __future__ import annotations

from typing import Final

from innkeeper.service.exchange import Reply, Request
from innkeeper.service.gateway.envelope import answer
from innkeeper.service.gateway.house import House
from innkeeper.service.gateway.operation import Operation, Operations
from innkeeper.service.gateway.operations import OPERATIONS
from innkeeper.service.gateway.prompt_operations import warm
from innkeeper.service.gateway.system import SYSTEM
from innkeeper.service.render import json_reply
from innkeeper.service.settings import Settings

__all__ = ["PREFIX", "Gateway"]

PREFIX: Final = "/api/"
"""What operations' paths begin with."""

_METHODS: Final = ("GET", "POST")
_LIGHT: Final = ("/api/health", "/api/info")


class Gateway:
    """The operations (those of the table unless others are given) over one house, whose settings say what they may do.

    What the operations need is imported now: Python raises an error where threads import parts of the same packages from two
    ends, and the call that meets it would get another answer. Without ``threads`` each call imports what it needs.
    """

    def __init__(
        self, settings: Settings | None = None, operations: Operations | None = None, *, threads: bool = True
    ) -> None:
        if threads:
            warm()
        self.house = House((settings or Settings()).checked(), OPERATIONS if operations is None else operations)

    def answer(self, request: Request) -> Reply:
        """The reply to any request; an unknown path is 404, another method than GET and POST 405."""
        path = request.path
        page = SYSTEM.get(path)
        if page is not None:
            return json_reply(page(self.house)) if request.method == "GET" else _not_allowed("GET")
        operation = self.find(path)
        if operation is None:
            return json_reply({"detail": "Not Found"}, 404)
        if request.method not in _METHODS:
            return _not_allowed(", ".join(_METHODS))
        return answer(request, operation, self.house)

    def find(self, path: str) -> Operation | None:
        """The operation at ``/api/namespace/path``, or None."""
        name, operations = path.removeprefix(PREFIX), self.house.operations
        return operations[name] if path.startswith(PREFIX) and name in operations else None

    def is_light(self, path: str) -> bool:
        """Whether answering is a matter of microseconds, so that the event loop may do it itself."""
        return path in _LIGHT or (path not in SYSTEM and self.find(path) is None)


def _not_allowed(methods: str) -> Reply:
    return json_reply({"detail": "Method Not Allowed"}, 405, {"allow": methods})
