"""An operator installs, upgrades, backs up, loses everything, restores: and every conversation goes on."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from innkeeper.inference import EchoServer
from innkeeper.library.db import schema
from innkeeper.library.db.engine import Database
from innkeeper.library.db.former import FORMER
from tests.journeys.machine import PATIENCE, Machine
from tests.library.conftest import Fresh
from tests.library.former import make_former

FORMER_ROWS = (
    "INSERT INTO characters (id, name, description, user_id) VALUES ('mira', 'Mira', 'She rows the ferry.', 'everybody')",
    "INSERT INTO conversations (id, character_id, user_id, last_seq) VALUES ('evening', 'mira', 'everybody', 2)",
    "INSERT INTO messages (id, conversation_id, seq, role, content) VALUES ('1', 'evening', 1, 'user', 'Across, please.')",
    "INSERT INTO messages (id, conversation_id, seq, role, content) VALUES ('2', 'evening', 2, 'assistant', 'Mind the step.')",
)
"""A conversation, as a library of the former schema has it."""


@contextmanager
def serving(machine: Machine) -> Iterator[httpx.Client]:
    """The service of the machine; a client of it."""
    with (
        machine.answering("serve", "--port", "0", "--no-grpc") as told,
        httpx.Client(base_url=told["listening"], timeout=PATIENCE) as client,
    ):
        yield client


def turn(client: httpx.Client, **fields: Any) -> str:
    """What the character says in a turn of a conversation."""
    reply = client.post("/v1/roleplay", json=fields)
    assert reply.status_code == 200, reply.text
    return str(reply.json()["response"])


def sent(provider: EchoServer) -> list[str]:
    """The last prompt, message by message."""
    return [str(message["content"]) for message in provider.requests[-1].body["messages"]]


def goes_on(texts: list[str], *expected: str) -> None:
    """A prompt ends with these messages."""
    assert texts[-len(expected) :] == list(expected)


def test_every_conversation_goes_on(machine: Machine, fresh: Fresh, tmp_path: Path) -> None:
    """Conversations of the former schema, of the service, of `ask` and of a chat file are whole after a loss of everything."""
    former = fresh(bare=True)
    with Database.open(former, check=False) as db:
        make_former(db, FORMER[-1])
        with db.transaction() as connection:
            for statement in FORMER_ROWS:
                connection.exec_driver_sql(statement)
    archive = tmp_path / "monday.zip"
    with EchoServer("Aye.", "At low water.", "Soon.", "Never.", "The same.", "At noon.") as provider:
        settings = {"INNKEEPER_BASE_URL": provider.base_url, "INNKEEPER_MODEL": "big", "INNKEEPER_LOGGING": "on"}
        before = machine.at(machine.home, INNKEEPER_DATABASE_URL=former, **settings)
        assert before.run("keys", "set", "openrouter", input="sk-lantern\n").code == 0
        upgraded = before.run("admin", "db", "upgrade")
        assert (upgraded.code, f"upgraded from {FORMER[-1]}, revision {schema.HEAD}" in upgraded.out) == (0, True)
        house = ("house", "--base-url", provider.base_url)
        assert before.run("admin", "provider", "set", *house).code == 0
        model = ("big", "--provider", "house", "--modality", "chat", "--task", "roleplay", "--window", 8192)
        assert before.run("admin", "model", "set", *model).code == 0
        with serving(before) as client:
            assert turn(client, conversation_id="evening", message="Is it far?") == "Aye."
        goes_on(sent(provider), "Across, please.", "Mind the step.", "Is it far?")
        assert before.run("examples", "inn").code == 0
        assert before.run("ask", "inn/wenna.png", "Is the reef safe?").out == "At low water.\n"
        assert talked(before, "Good evening.") == "Soon.\n"
        assert before.run("admin", "backup", archive).code == 0

        lost(machine.home, former)
        after = machine.at(machine.home, INNKEEPER_DATABASE_URL=fresh(bare=True), **settings)
        restored = after.run("admin", "restore", archive)
        assert restored.code == 0, restored.err
        checked = after.run("doctor", "--json").data["findings"]
        assert [each for each in checked if each["state"] == "failed"] == []
        with serving(after) as client:
            assert turn(client, conversation_id="evening", message="And back?") == "Never."
        goes_on(sent(provider), "Mind the step.", "Is it far?", "Aye.", "And back?")
        assert after.run("ask", "-c", "And the light?").out == "The same.\n"
        assert {"Is the reef safe?", "At low water."} <= {*sent(provider)}
        assert after.run("examples", "inn").code == 0
        assert talked(after, "When?") == "At noon.\n"
        goes_on(sent(provider)[:-1], "Good evening.", "Soon.", "When?")
        assert "openrouter" in after.run("keys", "list").out


TALK = """
import asyncio, os, sys
from innkeeper import Chat, ChatDatabase
async def main():
    chats = ChatDatabase.open(os.environ["INNKEEPER_DATABASE_URL"])
    chat = Chat("inn/wenna.png", model=os.environ["INNKEEPER_BASE_URL"] + ":big", store=chats)
    print(*[piece async for piece in chat.send(sys.argv[1])], sep="")
asyncio.run(main())
"""


def talked(machine: Machine, text: str) -> str:
    """What a program's own `Chat` is answered, whose chats stand in the library's database."""
    command = [machine.python, "-c", TALK, text]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=machine.home, env=machine.environ, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def lost(home: Path, database: str) -> None:
    """Lose the machine's disk: the home, and a database that is a file."""
    shutil.rmtree(home)
    for file in Path(database).parent.glob(f"{Path(database).name}*") if "://" not in database else ():
        file.unlink()
