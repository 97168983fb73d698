"""Fake providers that answer by a script: clients that need no network, and a server on this machine's loopback."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.inference.fake.provider import AsyncFakeClient as AsyncFakeClient
    from innkeeper.inference.fake.provider import EchoServer as EchoServer
    from innkeeper.inference.fake.provider import FakeClient as FakeClient
    from innkeeper.inference.fake.provider import Received as Received
    from innkeeper.inference.fake.script import Answer as Answer
    from innkeeper.inference.fake.script import FakeReply as FakeReply
    from innkeeper.inference.fake.script import Fault as Fault

_HOMES: Final = {
    "provider": ("AsyncFakeClient", "EchoServer", "FakeClient", "Received"),
    "script": ("Answer", "FakeReply", "Fault"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
