"""A developer writes twelve lines into a FastAPI application that has a database of its own."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from innkeeper.inference import EchoServer
from tests.journeys.machine import PATIENCE, Machine
from tests.library.conftest import Fresh

APPLICATION = Path(__file__).with_name("inn.txt")
MOST_LINES = 12
pytest.importorskip("fastapi", reason="the application stands on it")


@contextmanager
def served(machine: Machine) -> Iterator[httpx.Client]:
    """The application in a process of its own; a client of it."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.set_inheritable(True)
        words = ["-m", "uvicorn", "inn:app", "--log-level", "warning", "--fd", str(listening.fileno())]
        process = subprocess.Popen(
            [machine.python, *words], cwd=machine.home, env=machine.environ, pass_fds=(listening.fileno(),)
        )
        try:
            url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            with httpx.Client(base_url=url, timeout=PATIENCE) as client:
                yield client
        finally:
            process.terminate()
            process.wait(PATIENCE)


def test_twelve_lines() -> None:
    """What is added to the application is no more than that."""
    _, added = APPLICATION.read_text("utf-8").split(f"# {'-' * 117}\n")
    assert len([line for line in added.splitlines() if line.strip()]) <= MOST_LINES


def test_guests_talk(machine: Machine, fresh: Fresh) -> None:
    """Guests have each their own chat, in the same database as their names; it goes on after a restart."""
    database = fresh(bare=True)
    url = database if "://" in database else f"sqlite:///{database}"
    assert machine.run("examples", "inn").code == 0
    shutil.copy(machine.home / "inn" / "wenna.png", machine.home)
    shutil.copy(APPLICATION, machine.home / "inn.py")
    with EchoServer("At low water, yes.", "Good evening.", "On the ebb.") as provider:
        application = machine.at(machine.home, DATABASE=url, MODEL=f"{provider.base_url}:big")
        with served(application) as client:
            for name in ("Ansel", "Bo"):
                assert client.post("/guests", json={"name": name}).status_code == 200
            with client.stream("POST", "/guests/Ansel/talk", json={"text": "Is the reef safe?"}) as reply:
                assert "".join(reply.iter_text()) == "At low water, yes."
            assert client.post("/guests/Bo/talk", json={"text": "Hello."}).text == "Good evening."
        with served(application) as client:
            assert client.get("/guests").json() == ["Ansel", "Bo"]
            assert client.post("/guests/Ansel/talk", json={"text": "And when?"}).text == "On the ebb."
        first, *_, texts = ([message["content"] for message in each.body["messages"]] for each in provider.requests)
    assert texts[texts.index("Is the reef safe?") :][:3] == ["Is the reef safe?", "At low water, yes.", "And when?"]
    assert "Hello." not in texts
    assert any("The Bell Reef lies half a mile north" in text for text in first)
