"""A turn of a chat of 1,000 messages with 2,000 lorebook entries: by `Chat`, and its plan alone, beside a `Session` of the same.

The model is a script in this process, so a turn is what is read, built, judged, encoded, decoded and kept.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Final

from benchmarks.case import Case
from benchmarks.silly.inputs import FILLER, wide_book
from innkeeper import Chat, ChatLog, FakeClient, Session
from innkeeper.chat import ChatMemory
from innkeeper.content import ChatMessage

__all__ = ["cases"]

MESSAGES: Final = 1_000
ENTRIES: Final = 2_000
_WORDS: Final = FILLER.split()


def cases() -> Iterator[Case]:
    """The plan of one message more, and the whole turn."""
    chance, count = random.Random(7), itertools.count()  # noqa: S311 - nothing is kept secret by it
    texts = [" ".join(chance.choices(_WORDS, k=60)) for _ in range(MESSAGES)]
    speakers = itertools.cycle([("user", "Ansel"), ("assistant", "Mira")])
    messages = tuple(
        ChatMessage.create(role, text, name=name) for text, (role, name) in zip(texts, speakers, strict=False)
    )
    store = ChatMemory()
    store.named("long").keep(ChatLog(header={"user_name": "Ansel", "chat_metadata": {}}, messages=messages))
    request = {"tavern": "silly", "model": "gpt-4o", "context_window": 131_072, "now": "2026-01-15T18:00:00Z"}
    model = FakeClient(lambda _: f"Aye, {next(count)}.")
    chat = Chat(
        {"name": "Mira"}, model=model, store=store, name="long", lorebooks=[wide_book(ENTRIES, 2)], request=request
    )
    session = Session(chat.preview("Hello").request)
    size = f"{MESSAGES:,} messages, {ENTRIES:,} entries"
    yield Case(
        "plan of one message more, Chat",
        lambda: chat.preview(f"Is it {next(count)}?"),
        lambda: session.plan(message=f"Is it {next(count)}?"),
        against_name="Session",
        note=size,
    )
    yield Case("whole turn, Chat", lambda: chat.send(f"Is it {next(count)}?").text(), note=f"{size}; the gate included")
