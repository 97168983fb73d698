"""The inspector: what a keystroke takes in the process of its workspace, from the message to the answer's bytes.

The page has as much again for itself: half of it is drawing. What goes over the socket is in the notes.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from benchmarks.case import Case
from innkeeper.service.inspector.session.engine import WorkspaceEngine
from innkeeper.service.inspector.session.messages import EngineCall, OpenedFile, WorkspaceOptions, WorkspaceState

SIZES: Final = {"typical": (60, 20), "long chat, wide book": (1_000, 2_000)}
"""Messages of the chat and entries of the book, with three keys each."""


def cases() -> Iterator[Case]:
    """A keystroke in each kind of file, and a turn of the slider, in a typical and in a large workspace."""
    for name, (messages, entries) in SIZES.items():
        engine = _opened(messages, entries)
        keystrokes: dict[str, Callable[[int], dict[str, Any]]] = {
            "the message": lambda number: {"settings": {"message": f"hello {number}"}},
            "the card": lambda number: _edit("card", ["data", "description"], f"text {number}"),
            "an entry's text": lambda number: _edit("book", ["entries", "5", "content"], f"text {number}"),
            "an entry's key": lambda number: _edit("book", ["entries", "5", "key", 0], f"key{number}"),
            "a message of the chat": lambda number: _edit("chat", ["messages", 3, "mes"], f"text {number}"),
        }
        for what, change in keystrokes.items():
            run = _typing(engine, change)
            size = len(run())
            yield Case(f"{name}: {what}", run, note=f"{messages:,} messages, {entries:,} entries; {size:,} bytes")
        for edit in (_edit("book", ["entries", "7", "sticky"], 9), _edit("book", ["entries", "7", "key", 0], "ab")):
            engine.answer(EngineCall("live", "page"), json.dumps(edit).encode())
        run = _typing(engine, keystrokes["the card"])
        yield Case(f"{name}, an entry stays: the card", run, note="earlier turns are built for what they left")
        run = _typing(engine, lambda _: {"count": 8}, "timeline")
        yield Case(f"{name}: eight turns that are known", run, note="a chat over time is asked for again")


def _edit(file: str, path: list[Any], value: str | int) -> dict[str, Any]:
    return {"edits": [{"file": file, "path": path, "value": value}]}


def _typing(
    engine: WorkspaceEngine, change: Callable[[int], dict[str, Any]], call: str = "live"
) -> Callable[[], bytes]:
    numbers = itertools.count()

    def keystroke() -> bytes:
        return engine.answer(EngineCall(call, "page"), json.dumps(change(next(numbers))).encode())[1]

    keystroke()
    return keystroke


def _opened(messages: int, entries: int) -> WorkspaceEngine:
    draw = random.Random(1)  # noqa: S311 - texts, the same each time
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(3, 9))) for _ in range(5_000)]

    def text(count: int) -> str:
        return " ".join(draw.choices(words, k=count))

    card = {"name": "C", "description": text(300), "first_mes": "Hi."}
    book = {
        str(uid): {
            "uid": uid,
            "key": [text(1) + text(1) for _ in range(3)],
            "content": text(40),
            "order": 100,
            "position": 0,
        }
        for uid in range(entries)
    }
    lines: list[dict[str, Any]] = [{"user_name": "U", "character_name": "C", "chat_metadata": {}}]
    lines += [
        {"name": "UC"[i % 2], "is_user": not i % 2, "is_system": False, "mes": text(150)} for i in range(messages)
    ]
    files = {
        "card": json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": card}),
        "book": json.dumps({"entries": book}),
        "chat": "\n".join(map(json.dumps, lines)),
    }
    opening = WorkspaceState(
        title="bench",
        files=tuple(OpenedFile(name, name, data.encode()) for name, data in files.items()),
        options=WorkspaceOptions(now="2026-01-01T00:00:00Z", every=True),
        settings=b'{"context_window":32768,"reserve":500}',
    )
    engine = WorkspaceEngine()
    engine.answer(EngineCall("open"), msgspec.msgpack.encode(opening))
    return engine
