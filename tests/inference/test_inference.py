"""The package's face, and what importing it costs."""

import importlib
import subprocess
import sys

import pytest

from innkeeper import inference


def test_names() -> None:
    """The list of names is sorted, and each is that of its home."""
    assert sorted(inference.__all__) == inference.__all__ == dir(inference)
    homes = [(home, name) for home, names in inference._HOMES.items() for name in names]
    assert sorted(name for _, name in homes) == inference.__all__
    for home, name in homes:
        assert getattr(inference, name) is getattr(importlib.import_module(f"innkeeper.inference.{home}"), name)


def test_unknown_name() -> None:
    """A name that does not exist fails as on any module."""
    with pytest.raises(AttributeError, match="no attribute 'Inn'"):
        inference.Inn  # noqa: B018 - asking is the test


def test_import_is_light() -> None:
    """Making a runner and a client loads neither the wire's library nor any other heavy one."""
    script = (
        "import sys\n"
        "from innkeeper import Client, PromptRunner, RunnerConfig\n"
        "PromptRunner(Client('http://h'))\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], check=True, capture_output=True, text=True)
    assert not set(done.stdout.split()) & {"httpx", "httpcore", "liquid", "tiktoken", "asyncio", "langcodes"}
