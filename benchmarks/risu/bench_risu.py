"""The risu tavern against what RisuAI takes: 1,000 messages of 60 words, 2,000 entries of three keys.

The original's figures were measured on a machine of the kind this project is made on; it is not run here. In each round a message
is new, so nothing is known of the chat but what is provably the same.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any, Final

from benchmarks.case import Case
from innkeeper import Session

ORIGINAL: Final = "RisuAI"
MESSAGES: Final = 1_000
ENTRIES: Final = 2_000
_WORDS: Final = [f"w{number}" for number in range(9_000)]


def cases() -> Iterator[Case]:
    """A next turn, by the depth that is searched and by whether entries call up others."""
    for depth, recursive, seconds in ((5, True, 14.9), (5, False, 0.16), (1_000, True, 6.2)):
        name = f"next turn, depth {depth:,}, {'with' if recursive else 'without'} recursion"
        yield Case(name, _turns(depth, recursive=recursive), published=seconds, against_name=ORIGINAL)


def _turns(depth: int, *, recursive: bool) -> Callable[[], object]:
    chance, count = random.Random(5), itertools.count()  # noqa: S311 - nothing is kept secret by it

    def text(words: int) -> str:
        return " ".join(chance.choices(_WORDS, k=words))

    def entry(number: int) -> dict[str, Any]:
        keys = [f"{word}x" * (chance.random() < 0.5) or word for word in chance.choices(_WORDS, k=3)]
        return {"name": f"e{number}", "keys": keys, "content": text(4), "enabled": True, "insertion_order": 100}

    settings = {"scan_depth": depth, "token_budget": 2_000, "recursive_scanning": recursive}
    book = {"name": "book", **settings, "entries": [entry(number) for number in range(ENTRIES)]}
    history = [{"role": ("user", "assistant")[number % 2], "content": text(60)} for number in range(MESSAGES)]
    session = Session(
        {"tavern": "risu"},
        character={"name": "Mara", "description": "{{char}} keeps the light.", "character_book": book},
        history=history,
        model="gpt4o",
        now="2026-01-15T18:00:00Z",
    )
    session.plan()
    return lambda: session.append(f"{next(count)} {text(60)}").plan()
