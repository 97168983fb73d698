"""The end of the demo: a real service in a process of its own, and the lines that do the same."""

import json
import shlex
from pathlib import Path

import pytest

from innkeeper.cli.talk.demo import ask_service, lines_of, served
from innkeeper.inference import EchoServer
from innkeeper.prompt.errors import UnavailableError


def test_asked_over_http(tmp_path: Path) -> None:
    """The profile of the folder answers, with its card's prompt."""
    with EchoServer("The fog is thick.") as echo:
        card = '{name = "Wenna", description = "A keeper."}'
        said = f'name = "wenna"\nmodel = "m"\nprovider = "{echo.base_url}"\ncharacter = {card}\n'
        (tmp_path / "profile.toml").write_text(said)
        with served(tmp_path) as address:
            assert ask_service(address, "Is it safe?", 5) == "The fog is thick."
        (received,) = echo.requests
    assert {"role": "user", "content": "Is it safe?"} in received.body["messages"]
    assert "A keeper." in json.dumps(received.body)


def test_a_service_that_does_not_start(tmp_path: Path) -> None:
    """Says why."""
    with pytest.raises(UnavailableError, match="profile"), served(tmp_path):
        pass


def test_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of a shell; the folder as it is seen from here."""
    monkeypatch.chdir(tmp_path)
    serve, curl = lines_of(tmp_path / "my cards", "Safe?")
    assert shlex.split(serve) == ["innkeeper", "serve", "--profile", "my cards"]
    assert json.loads(shlex.split(curl)[-1])["messages"][0]["content"] == "Safe?"
