"""The wire of media: what goes wrong is told without the address, which is the operator's."""

import logging
from collections.abc import Callable

import httpx
import pytest

from innkeeper.jobs.backends.wire import MediaWire
from innkeeper.prompt.errors import ProviderError

PLACE = "http://10.1.2.3:8188"


def refused(request: httpx.Request) -> httpx.Response:
    """Nobody is there."""
    raise httpx.ConnectError(f"All attempts to connect to {request.url.host} failed")


def quoting(request: httpx.Request) -> httpx.Response:
    """A provider that says where it is."""
    return httpx.Response(500, text=f"nginx at {request.url.host}: no such page on {PLACE}/x")


@pytest.mark.parametrize("provider", [refused, quoting])
def test_an_address_is_the_operators(
    provider: Callable[[httpx.Request], httpx.Response], caplog: pytest.LogCaptureFixture
) -> None:
    """An error is kept with its job, and its job's owner reads it; where nobody is there, the log has the address."""
    wire = MediaWire(transport=httpx.MockTransport(provider))
    with caplog.at_level(logging.WARNING, "innkeeper.jobs"), pytest.raises(ProviderError) as caught:
        wire.call("POST", f"{PLACE}/prompt?token=1", json={})
    assert "10.1.2.3" not in str(caught.value.to_dict())
    assert provider is not refused or "10.1.2.3" in caplog.text
    wire.close()
