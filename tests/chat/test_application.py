"""The chat application of the documentation, as it stands there, in a server of its own before a fake provider."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from innkeeper.inference import EchoServer, Fault
from tests.library.conftest import Fresh
from tests.shared import ROOT

PAGE = ROOT / "docs" / "using" / "a-chat-application.md"
ASKED = "Is the reef safe?"
pytest.importorskip("fastapi", reason="the application stands on it")


def application() -> str:
    """The file that the page has the reader write."""
    return PAGE.with_name("inn.txt").read_text("utf-8")


@contextmanager
def served(folder: Path, database: str, model: str) -> Iterator[httpx.Client]:
    """The application in a process of its own; a client of it."""
    (folder / "inn.py").write_text(application(), "utf-8")
    (folder / "wenna.png").write_bytes((ROOT / "examples" / "wenna.png").read_bytes())
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.set_inheritable(True)
        command = [
            sys.executable,
            "-m",
            "uvicorn",
            "inn:app",
            "--fd",
            str(listening.fileno()),
            "--log-level",
            "warning",
        ]
        environ = {**_environ(), "CHATS": database, "MODEL": model}
        process = subprocess.Popen(command, cwd=folder, env=environ, pass_fds=(listening.fileno(),))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            with httpx.Client(base_url=url, timeout=120) as client:
                yield client
        finally:
            process.terminate()
            process.wait(60)


def _environ() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def test_the_application(fresh: Fresh, tmp_path: Path) -> None:
    """A turn, an answer more, the reasons, a branch; a failure; and a restart that goes on."""
    database = fresh(bare=True)
    answers = ("At low water, yes.", "Never.", Fault.status(400), "On the ebb.")
    with EchoServer(*answers) as provider:
        model = f"{provider.base_url}:big"
        with served(tmp_path, database, model) as client:
            with client.stream("POST", "/chats/anna/messages", json={"text": ASKED}) as reply:
                assert reply.status_code == 200
                assert "".join(reply.iter_text()) == "At low water, yes."
            assert client.post("/chats/anna/swipes").text == "Never."
            shown = client.put("/chats/anna/swipes/1").json()
            assert [one["role"] for one in shown] == ["assistant", "user", "assistant"]
            assert (shown[2]["text"], shown[2]["swipes"]) == ("At low water, yes.", ["At low water, yes.", "Never."])
            reasons = client.get("/chats/anna/why").json()
            assert {one["entry"] for one in reasons["lore"] if one["in"]} == {"The Bell Reef", "Skerrow"}
            assert {"role": "user", "content": ASKED} in reasons["prompt"]
            assert [one["text"] for one in client.post("/chats/anna/branches/quay?length=2").json()][1:] == [ASKED]
            assert client.post("/chats/anna/branches/quay").status_code == 400
            failed = client.post("/chats/bo/messages", json={"text": ASKED})
            assert failed.status_code == 502
            assert failed.json()["error"]
        with served(tmp_path, database, model) as client:
            assert client.get("/chats/anna").json() == shown
            assert [one["role"] for one in client.get("/chats/bo").json()] == ["assistant", "user"]
            assert client.post("/chats/anna/messages", json={"text": "And when?"}).text == "On the ebb."
        sent = [message["content"] for message in provider.requests[-1].body["messages"]]
    assert sent[-4:-1] == [ASKED, "At low water, yes.", "And when?"]
