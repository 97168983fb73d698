"""Batches: a shard of typical rows as a table, beside the same builds one by one, and as a shard that a process gets."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from benchmarks.case import Case
from benchmarks.silly.inputs import FILLER
from innkeeper.prompt import BuildRequest
from innkeeper.taverns import build

ROWS: Final = 256
_CARD: Final = Path(__file__).resolve().parents[2] / "examples" / "wenna.json"


def rows() -> list[dict[str, Any]]:
    """Rows with a card, ten messages of thirty words that no other row has, and a question."""
    chance = random.Random(5)  # noqa: S311 - nothing is kept secret by it
    words = FILLER.split()
    card = json.loads(_CARD.read_text("utf-8"))
    return [
        {
            "tavern": "vibe",
            "character": card,
            "history": [
                {"role": ("user", "assistant")[n % 2], "content": f"{row} {n} {' '.join(chance.choices(words, k=30))}"}
                for n in range(10)
            ],
            "message": f"{row}: what now?",
            "model": "gpt-4o",
            "context_window": 8192,
            "now": "2026-01-15T12:34:56Z",
        }
        for row in range(ROWS)
    ]


def cases() -> Iterator[Case]:
    """The shard in this process."""
    if find_spec("pyarrow") is None:
        return
    import pyarrow as pa

    from innkeeper.data import BatchSettings, build_batch

    plain = rows()
    table = pa.table({"request": pa.array([json.dumps(row).encode() for row in plain], pa.large_binary())})
    yield Case(
        f"batch, {ROWS} typical rows",
        lambda: build_batch(table, BatchSettings()),
        lambda: [build(BuildRequest.of(row)).to_messages() for row in plain],
        "build and to_messages, row by row",
        "also the fingerprint, the accounting and the price of each; tokens of the texts are known",
    )
