"""The inspector beside a service counts as the service's other surfaces do: request id, log line, metrics, grant and price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.guard.guard import Guard, Receive, ResponseWriter, Scope, Send, check_size
from innkeeper.service.guard.work import Gate
from innkeeper.service.inspector.surface import PAGE, REFUSED, VISITOR
from innkeeper.service.settings import Settings

if TYPE_CHECKING:
    from innkeeper.service.inspector.surface import Inspector


CALLER: Final = "inspector page"
"""The caller of a browser that opened the one-time address. No key has this name: names of keys have no blank."""


class InspectorGuard(Guard):
    """The guard before the inspector: the token's cookie is one more way to a grant beside the keys.

    Args:
        inspector: what answers.
        state: the state of the service's application, whose ``gate`` and ``settings`` are shared.
    """

    def __init__(self, inspector: Inspector, state: Any) -> None:
        settings = getattr(state, "settings", None) or Settings()
        gate = getattr(state, "gate", None) or Gate(calls=settings.max_calls, volume=settings.max_bodies)
        super().__init__(inspector, settings=settings, gate=gate)
        self._access = inspector.access

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)  # the inspector checks the visitor of a socket itself

    async def _pass(self, scope: Scope, receive: Receive, outlet: ResponseWriter, headers: dict[str, str]) -> None:
        record, path = outlet.record, scope["path"]
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        if path == PAGE.rstrip("/") or (path == PAGE and "token" in query):  # a browser that has no cookie yet
            await self._app(scope, receive, outlet.send)
            return
        address = (scope.get("client") or ("",))[0]
        try:
            check_size(scope)
            visitor = self._access.check(headers, changes=scope["method"] != "GET", address=address)
        except InnkeeperError as error:
            record.failed(error)
            await self._app({**scope, REFUSED: error}, receive, outlet.send)
            return
        record.caller = visitor.name or CALLER
        with self._gate.ticket(record.caller, record) as ticket:
            marks: dict[str, Any] = {VISITOR: visitor, "innkeeper.ticket": ticket}
            try:
                if visitor.grant is not None:  # the person at this machine is not counted
                    await ticket.afford()
                    ticket.enter(record.surface)
            except InnkeeperError as error:
                record.failed(error)
                marks[REFUSED] = error
            await self._app({**scope, **marks}, receive, outlet.send)
