"""Fakes: a client that needs no network and a server on loopback, both answering by a script. Fit for users' own tests.

>>> from innkeeper.inference.fake import FakeClient
>>> FakeClient("Good evening.").chat("any", [{"role": "user", "content": "Hello"}]).content
'Good evening.'
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from innkeeper.inference.client import Client
from innkeeper.inference.fake_script import Answer, FakeReply, Fault, Script, route
from innkeeper.inference.fake_server import EchoServer, Received

if TYPE_CHECKING:
    import httpx

__all__ = ["Answer", "EchoServer", "FakeClient", "FakeReply", "Fault", "Received"]


class FakeClient(Client):
    """A `Client` whose provider is a script in this process; see `EchoServer` for what a script holds.

    Everything but the network is real: requests are encoded, answers decoded, faults become the errors they would be. A
    stall is the timeout that it would end in, without the wait. `requests` are the request bodies so far.
    """

    def __init__(self, *script: Any, **settings: Any) -> None:
        settings.setdefault("base_url", "http://fake.invalid")
        super().__init__(**settings)
        self.requests: list[dict[str, Any]] = []
        self._script = Script(script)

    @property
    def _http(self) -> httpx.Client:
        import httpx

        if self._transport is None:
            self._transport = httpx.MockTransport(self._handle)
        return super()._http

    def _handle(self, request: httpx.Request) -> httpx.Response:
        import httpx
        import msgspec

        if request.content:
            self.requests.append(msgspec.json.decode(request.content))
        answer = route(request.method, request.url.path, request.content, self._script)
        if answer.ending == "refuse":
            msg = "connection refused"
            raise httpx.ConnectError(msg, request=request)
        if answer.delay > self.endpoint.timeout:
            msg = "nothing came"
            raise httpx.ReadTimeout(msg, request=request)
        return httpx.Response(answer.status, headers=dict(answer.headers), content=_body(answer, request))


def _body(answer: Answer, request: httpx.Request) -> Iterator[bytes]:
    import httpx

    yield from answer.pieces()
    if answer.ending == "stall":
        msg = "nothing more came"
        raise httpx.ReadTimeout(msg, request=request)
    if answer.ending == "cut":
        msg = "peer closed connection without sending complete message body"
        raise httpx.RemoteProtocolError(msg, request=request)
