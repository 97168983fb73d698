"""The inputs of the silly benchmarks: two stored chats with their books, and a book of 4,000 entries made here."""

from __future__ import annotations

import json
import random
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from innkeeper.content.character import Character
from innkeeper.content.chat import ChatLog
from innkeeper.content.lorebook import Lorebook
from innkeeper.content.preset import Preset
from innkeeper.prompt import BuildRequest

__all__ = ["FOLDER", "names", "request", "service_request", "wide_book"]

FOLDER: Final = Path(__file__).resolve().parents[3] / "shared" / "bench" / "inputs"
"""Where the stored inputs lie beside the checkout; without them there is nothing to measure."""


def names() -> tuple[str, ...]:
    """The stored inputs that are there."""
    return tuple(name for name in ("typical", "heavy") if (FOLDER / f"{name}.json").exists())


FILLER: Final = "the rain falls on the harbour while we walk along the old quay and talk of ships and storms"


@lru_cache(maxsize=4)
def _parts(name: str) -> dict[str, Any]:
    """An input with its assets read, as an application holds them between turns."""
    raw = json.loads((FOLDER / f"{name}.json").read_text())
    return {
        "character": Character.of(raw["character"]),
        "books": [(book["name"], Lorebook.of(book)) for book in raw["worldbooks"]],
        "preset": Preset.of(raw["preset"]),
        "history": tuple(ChatLog.of(raw["chat"]).to_messages(hidden=True)),
        "user": raw["user"],
    }


def request(
    name: str, *, depth: int, recursive: bool = True, drop: int = 0, book: Lorebook | None = None, **settings: Any
) -> BuildRequest:
    """A build of an input that looks ``depth`` messages back, without the newest ``drop`` ones, by ``book`` if one is given."""
    parts = _parts(name)
    history = parts["history"]
    books = parts["books"] if book is None else [("wide", book)]
    return BuildRequest.of(
        {
            "tavern": "silly",
            "character": parts["character"],
            "user": {"name": parts["user"]},
            "preset": parts["preset"],
            "history": history[: len(history) - drop],
            "lorebooks": [{"name": title, "scope": "global", "book": one} for title, one in books],
            "model": "gpt-4o",
            "now": "2026-01-15T12:34:56Z",
            "seed": 1,
            "settings": {"wi_settings": {"depth": depth, "recursive": recursive, **settings}},
            "step_options": {"trimming": {"on_overflow": "warn"}},
        }
    )


def wide_book(entries: int, keys: int) -> Lorebook:
    """A book whose keys are all different and mostly not in the chat; the first entries have a word of the chat."""
    chance = random.Random(7)  # noqa: S311 - nothing is kept secret by it
    syllables = ("kel", "mor", "sil", "ab", "vos", "ruf", "tal", "pim", "gast", "wyn", "lin", "rik", "oru", "dra")
    made = {}
    for uid in range(entries):
        words = ["".join(chance.choices(syllables, k=3)) + f"{uid}x{index}" for index in range(keys)]
        made[str(uid)] = {"uid": uid, "key": words, "content": f"Entry {uid}: {words[0]}.", "order": uid % 300}
    return Lorebook.of({"entries": made})


def service_request(messages: int = 1500, entries: int = 3000, keys: int = 4, nonce: str = "") -> dict[str, Any]:
    """The JSON of a request as a service gets it: a long chat, a wide book, one message in three with a key of the book.

    Every seventh entry names a key of the entry before it, so that recursion has work. With another ``nonce`` no message,
    key or text is one of an earlier request.
    """
    chance = random.Random(3)  # noqa: S311 - nothing is kept secret by it
    raw = wide_book(entries, keys).raw["entries"]
    book = {uid: {**entry, "key": [nonce + key for key in entry["key"]]} for uid, entry in raw.items()}
    for uid in range(7, entries, 7):
        book[str(uid)]["content"] += f" See also {book[str(uid - 1)]['key'][0]}."
    words = [key for entry in book.values() for key in entry["key"]]
    filler = FILLER.split()
    history = []
    for number in range(messages):
        text = f"{nonce}{number}: " + " ".join(chance.choices(filler, k=40))
        text += f" {chance.choice(words)}" if number % 3 == 0 else ""
        history.append({"role": "assistant" if number % 2 else "user", "content": text})
    return {
        "tavern": "silly",
        "character": {"name": "Ann", "description": "A sailor and a friend of {{user}}.", "first_mes": "Ahoy!"},
        "user": {"name": "Bob"},
        "history": history,
        "lorebooks": [{"name": "wide", "scope": "global", "book": {"entries": book}}],
        "model": "gpt-4o",
        "context_window": 128_000,
        "reserved_tokens": 500,
        "now": "2026-01-15T12:34:56Z",
        "seed": 1,
        "settings": {"wi_settings": {"depth": 50, "recursive": True}},
        "step_options": {"trimming": {"on_overflow": "warn"}},
    }
