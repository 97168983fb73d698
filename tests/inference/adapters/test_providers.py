"""The table of providers: every line can be used, by the command line too."""

import subprocess
import sys

import pytest

from innkeeper.cli.settings.settings import PROVIDERS as NAMED
from innkeeper.dialects import DIALECTS
from innkeeper.inference.adapters.providers import ADDRESSES, PROVIDERS, Provider, provider_at
from innkeeper.inference.adapters.registry import ADAPTERS
from innkeeper.inference.client.model_clients import ModelClient


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)
def test_provider(provider: Provider) -> None:
    """Its adapter and its dialect are there, and a client of it can be made."""
    assert provider.dialect in DIALECTS
    with ModelClient(ADAPTERS[provider.adapter], provider.base_url) as client:
        assert client.endpoint.base_url == provider.base_url


def test_the_command_line_has_the_same() -> None:
    """There is one table."""
    assert NAMED is ADDRESSES
    assert set(PROVIDERS) == set(ADDRESSES)
    assert list(PROVIDERS) == sorted(PROVIDERS)


def test_provider_at_an_address() -> None:
    """An address is its provider's with and without the version; of two at one address the first."""
    assert provider_at("https://api.anthropic.com/v1/") is PROVIDERS["anthropic"]
    assert provider_at("https://api.openai.com") is PROVIDERS["openai"]
    assert provider_at("http://127.0.0.1:1") is None


def test_the_table_is_light() -> None:
    """Reading it loads neither the wire nor an adapter: the command line reads it at its start."""
    code = "import sys, innkeeper.inference.adapters.providers; print([n for n in ('httpx', 'asyncio') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
