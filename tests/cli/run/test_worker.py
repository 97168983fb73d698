"""``innkeeper admin worker run``: a worker in a process of its own, for itself and as a member of a service."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from innkeeper.inference.fake import EchoServer
from innkeeper.inference.requests.worker_protocol import messages_sha256
from innkeeper.library.db.engine import Database
from innkeeper.library.workers.store import WorkerStore
from tests.cli.running import Run
from tests.service.programs import Service

HELLO: list[dict[str, Any]] = [{"role": "user", "content": "Hello"}]


def test_member_of_a_service(tmp_path: Path) -> None:
    """It joins by its invitation, gets what clients ask `auto` for, takes no other callers, and is dead when it is stopped."""
    path, member = tmp_path / "library.db", tmp_path / "worker.json"
    with Database.open(path) as db:
        invitation = WorkerStore(db).invite(hosts=["127.0.0.1"])
    home = {"INNKEEPER_HOME": str(tmp_path), "INNKEEPER_WORKER_INVITATION": invitation}
    with (
        EchoServer("Well met.") as backend,
        Service.command("--no-grpc", "--database", str(path), environment=home) as inn,
    ):
        model = f"big={backend.base_url}:real"
        words = (
            "admin",
            "worker",
            "run",
            "--port",
            "0",
            "--json",
            "--model",
            model,
            "--join",
            inn.url,
            "--membership",
            str(member),
        )
        with Service(*words, environment=home) as worker:
            assert worker.post("/chat", {"messages": HELLO}).status_code == 401
            found = inn.post("/functions/v1/get-active-worker-url", {"worker_type": "chat"}).json()
            assert found["worker_url"] == worker.url
            for _ in range(600):  # what a service knows of workers is read every two seconds
                reply = inn.post("/v1/chat/completions", {"model": "auto", "messages": HELLO})
                if reply.status_code == 200:  # the model on this machine, which would answer else, is not in this home
                    break
                time.sleep(0.05)
            assert reply.json()["choices"][0]["message"]["content"] == "Well met."
            assert backend.requests[-1].body == {"model": "real", "messages": HELLO}
            assert worker.stop() in {0, -15}
    with Database.open(path) as db:
        (row,) = WorkerStore(db).list()
    assert row.state == "dead"
    assert json.loads(member.read_text())["id"] == row.id


def test_alone(tmp_path: Path) -> None:
    """Without a service it is open on this machine; its answer repeats the hash of the messages."""
    with EchoServer("Yes.") as backend:
        words = ("admin", "worker", "run", "--port", "0", "--json", "--model", f"big={backend.base_url}:real")
        with Service(*words, environment={"INNKEEPER_HOME": str(tmp_path)}) as worker:
            body = worker.post("/enhance", {"messages": HELLO}).json()
    assert (body["enhanced_prompt"], body["prompt_sha256"]) == ("Yes.", messages_sha256(HELLO))


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("--model", "x=anthropic:claude"), "config"),
        (("--model", "x=nowhere:m"), "unknown_name"),
        (("--model", "big=http://127.0.0.1:1:m", "--join", "http://127.0.0.1:1"), "usage"),
        (("--model", "big=http://127.0.0.1:1:m", "--host", "::"), "config"),
    ],
)
def test_mistakes(run: Run, words: tuple[str, ...], kind: str) -> None:
    """A backend that is none, a service without an invitation, an open door without a key: each is said before it starts."""
    assert run("admin", "worker", "run", "--port", "0", *words, "--json").error["kind"] == kind
