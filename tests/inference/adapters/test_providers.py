"""The table of providers: every line can be used, and the command line knows those that answer chat completions."""

import subprocess
import sys

import pytest

from innkeeper.cli.settings.settings import PROVIDERS as NAMED
from innkeeper.dialects import DIALECTS
from innkeeper.inference.adapters.generation import ModelClient
from innkeeper.inference.adapters.providers import CHAT_ADDRESSES, PROVIDERS, Provider
from innkeeper.inference.adapters.registry import ADAPTERS


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)
def test_provider(provider: Provider) -> None:
    """Its adapter and its dialect are there, and a client of it can be made."""
    assert provider.dialect in DIALECTS
    with ModelClient(ADAPTERS[provider.adapter], provider.base_url) as client:
        assert client.endpoint.base_url == provider.base_url


def test_the_command_line_has_the_same() -> None:
    """There is one table; those with another protocol alone are not for a chat completions client."""
    assert NAMED is CHAT_ADDRESSES
    assert set(PROVIDERS) - set(CHAT_ADDRESSES) == {"anthropic", "gemini", "openai-responses"}
    assert list(PROVIDERS) == sorted(PROVIDERS)


def test_the_table_is_light() -> None:
    """Reading it loads neither the wire nor an adapter: the command line reads it at its start."""
    code = "import sys, innkeeper.inference.adapters.providers; print([n for n in ('httpx', 'asyncio') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
