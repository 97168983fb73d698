"""A process that starts with eight threads at once, each with a first use of its own: ``starting.py URL NUMBER``.

All threads wait for each other, then import what they need and use it, while Python passes from one to the next as often as it
can. The number chooses which uses stand beside each other. A thread that fails ends the process with its traceback.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final

THREADS: Final = 8

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"


def silly(_url: str) -> None:
    """A prompt of the silly tavern from files: a card, a lorebook, a chat; a script, macros, an exact count."""
    from innkeeper.content import load_character, load_chat, load_lorebook
    from innkeeper.taverns import silly as tavern

    plan = tavern.build(
        character=load_character(EXAMPLES / "wenna.png"),
        lorebooks=[load_lorebook(EXAMPLES / "larks.lorebook.json")],
        history=load_chat(EXAMPLES / "wenna.chat.jsonl"),
        user={"name": "Ansel"},
        message="Is the {{user}}'s reef safe? {{roll:d6}}",
        settings={"regex": [{"scriptName": "s", "findRegex": "/sa(?=fe)/gi", "replaceString": "$&", "placement": [1]}]},
        model="gpt-4o",
        context_window=8192,
        seed=7,
    )
    assert plan.lore is not None


def smart(_url: str) -> None:
    """Macros of the smart tavern, one of them in Python, and a prompt."""
    from innkeeper.macros.smart import process_text
    from innkeeper.taverns import smart as tavern

    assert "calm" in process_text("{{setvar:mood:calm}}{{getvar:mood}} {{python:1+1}}", {"user_name": "Mira"})["text"]
    assert tavern.build(history=[{"role": "user", "content": "Hi {{upper:a}}"}]).blocks


def vibe(_url: str) -> None:
    """A prompt of the vibe tavern with its policy for languages."""
    from innkeeper.taverns import TAVERNS

    policy = {"enabled": True, "target_lang": "pt-br"}
    assert TAVERNS["vibe"].build(message="{{char}}", context={"language_policy": policy}).blocks


def tiers(_url: str) -> None:
    """A verdict of the tier gate, with the packaged lists."""
    from innkeeper.library import TextKind, TierGate

    assert TierGate.of().check({TextKind.USER_TEXT: "A map of Essex."}).decision.passed


def tokens(_url: str) -> None:
    """Counts, exact and estimated."""
    from innkeeper.tokens import default_counter

    assert default_counter().count("The lamp is lit.", "gpt-4o") == 5
    assert default_counter().count("The lamp is lit.", "no-such-model") > 0


def library(url: str) -> None:
    """A library that is opened, and what it prepares."""
    from innkeeper.library import Library, PrepareRequest

    request = PrepareRequest(use_case="enhancement", job_type="image", target_model="sdxl", text="A lamp.")
    with Library.open(url, watch=False) as opened:
        assert opened.prepare(request, log=False).plan.blocks


def database(url: str) -> None:
    """A database alone, and its rows."""
    from innkeeper.library.db.engine import Database
    from innkeeper.library.templates.store import TemplateStore

    with Database.open(url, create=False) as db:
        assert TemplateStore(db) is not None


def dialects(_url: str) -> None:
    """Messages in the shapes of all providers."""
    from innkeeper.dialects import DIALECTS, convert

    assert all(convert([{"role": "user", "content": "Hi"}], name) is not None for name in DIALECTS)


def liquid(_url: str) -> None:
    """A Liquid template."""
    from innkeeper.macros.liquid import render

    assert render("{{ 'a' | upcase }}", {}).text == "A"


def service(_url: str) -> None:
    """The service's application and the operations of its gateway."""
    from innkeeper.service import Gateway, create_app

    assert create_app() is not None
    assert Gateway() is not None


def client(_url: str) -> None:
    """A client for a model, and a request of the public face."""
    from innkeeper import BuildRequest, Client, Message

    assert Client is not None
    assert BuildRequest.of({"message": "Hi"}).message == "Hi"
    assert Message("user", "Hi").role == "user"


def command(_url: str) -> None:
    """A command."""
    from innkeeper.cli import main

    assert callable(main)


USES: Final[tuple[Callable[[str], None], ...]] = (
    silly,
    library,
    smart,
    tiers,
    vibe,
    database,
    tokens,
    dialects,
    liquid,
    service,
    client,
    command,
)


def main(url: str, number: int) -> int:
    """Start the threads; 1 where one of them failed."""
    uses = [USES[(number * 5 + step * (1 + number % 2 * 6)) % len(USES)] for step in range(THREADS)]
    barrier, failed = threading.Barrier(THREADS), []

    def run(use: Callable[[str], None]) -> None:
        barrier.wait()
        try:
            use(url)
        except BaseException:  # noqa: BLE001 - a thread's failure is the process's
            failed.append(f"{use.__name__}: {traceback.format_exc()}")

    threads = [threading.Thread(target=run, args=(use,)) for use in uses]
    sys.setswitchinterval(1e-6)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.stderr.write("".join(failed))
    return bool(failed)


if __name__ == "__main__":
    os._exit(main(sys.argv[1], int(sys.argv[2])))
