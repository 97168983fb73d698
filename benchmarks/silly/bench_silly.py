"""Silly builds: a typical and a heavy chat, a message added, a wide book, a trace, beside what peers were measured at.

The peers' figures are those recorded beside the inputs (CPU or wall time of theirs, on a machine of the same kind);
fast-tavern runs side by side where it is installed. Without the inputs there is nothing to measure.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from benchmarks.case import Case
from benchmarks.silly.inputs import FOLDER, names, request, service_request, wide_book
from innkeeper.content.lorebook import Lorebook
from innkeeper.prompt import BuildRequest, Message, Ports, TraceCollector
from innkeeper.taverns import silly

DEPTHS: Final = {"typical": (2, 5, 40), "heavy": (5, 100, 1000)}
NEW: Final = "We walk on along the harbour, and the rain does not end. " * 6
PEERS: Final = {
    (
        "typical",
        2,
    ): "SillyTavern 155-157 ms warm, 2,338 cold; fast-tavern 1.8-2.5 ms without tokens; TavernHeadless scan 0.8",
    ("typical", 5): "SillyTavern 151-184 ms warm; fast-tavern 2.3-3.2; TavernHeadless scan 0.9",
    ("typical", 40): "SillyTavern 170-174 ms warm; fast-tavern 27-28; TavernHeadless scan 4.4",
    ("heavy", 5): "SillyTavern 830-869 ms warm; fast-tavern 517-566; TavernHeadless scan 198",
    ("heavy", 100): "SillyTavern 9,037-13,407 ms warm; fast-tavern 8,269-8,622; TavernHeadless scan 2,274",
    ("heavy", 1000): "SillyTavern 123,984 ms cold; fast-tavern 42,623-43,666; TavernHeadless scan 21,696",
}
"""What others took for the same chat and depth, as recorded beside the inputs."""


def cases() -> Iterator[Case]:
    """A service's turns; then every input and depth: warm, and with one message more than the build before; books, traces."""
    yield from _service()
    for name in names():
        for depth in DEPTHS[name]:
            yield from _of_depth(name, depth)
        yield _traced(name)
    if names():
        yield from _wide()
        yield _cold()


def _service() -> Iterator[Case]:
    """A service that keeps nothing of its own: JSON in, a plan out, a message more each turn; and a chat never seen."""
    note = "1,500 messages, 3,000 entries x 4 keys, depth 50, recursion"
    yield Case("service, decoded anew, one message added", _service_turns(), note=note)
    body, numbers = json.dumps(service_request(nonce="nonce")), itertools.count()

    def first() -> object:
        return silly.build(BuildRequest.from_json(body.replace("nonce", f"n{next(numbers)}x")))

    yield Case("service, from nothing", first, note=f"{note}; nothing of it seen before")


def _service_turns() -> Callable[[], object]:
    body, numbers = service_request(), itertools.count()
    head, tail = json.dumps(body).split('], "lorebooks"', 1)

    def turn() -> object:
        added = json.dumps({"role": "user", "content": f"{next(numbers)}: {NEW}"})
        return silly.build(BuildRequest.from_json(f'{head}, {added}], "lorebooks"{tail}'))

    return turn


def _of_depth(name: str, depth: int) -> Iterator[Case]:
    warm = request(name, depth=depth, budget=100)
    plan = silly.build(warm)
    note = f"{plan.trim_report.final_tokens:,} tokens, {len(plan.lore.activated)} entries fired; {PEERS[name, depth]}"
    peer = _fast_tavern(name, depth) if depth in (2, 5) else None
    yield Case(f"{name}, depth {depth}", lambda: silly.build(warm), peer, "fast-tavern, here" if peer else "", note)
    if name == "heavy":
        yield Case(f"{name}, depth {depth}, one message added", _turns(name, depth))


def _turns(name: str, depth: int) -> Callable[[], object]:
    """Builds of the same chat, each with a new last message that was never seen."""
    chat, numbers = request(name, depth=depth, drop=1, budget=100), itertools.count()
    return lambda: silly.build(chat.with_(history=(*chat.history, Message("user", f"{next(numbers)}: {NEW}"))))


def _traced(name: str) -> Case:
    chat = request(name, depth=5)
    return Case(
        f"{name}, with a trace",
        lambda: silly.build(chat, Ports(instrumenter=TraceCollector())),
        lambda: silly.build(chat),
        "without",
        "looking should cost little: 1 is nothing",
    )


def _wide() -> Iterator[Case]:
    """4,000 entries of 4 keys against 2,000 of 2: four times the keys."""
    wide, narrow = (request("heavy", depth=5, book=wide_book(*size)) for size in ((4000, 4), (2000, 2)))
    yield Case(
        "heavy, 4,000 entries x 4 keys",
        lambda: silly.build(wide),
        lambda: silly.build(narrow),
        "2,000 x 2 keys",
        "warm; entries that no key concerns cost nothing",
    )


def _cold() -> Case:
    """The first build: the book compiled, its keys' automaton made; tokens of the chat are known."""
    raw = json.loads((FOLDER / "heavy.json").read_text())["worldbooks"][0]
    numbers = itertools.count()

    def first() -> object:
        entries = {**raw["entries"], "new": {"uid": "new", "key": [f"never {next(numbers)}"], "content": "x"}}
        return silly.build(request("heavy", depth=5, book=Lorebook.of({"entries": entries})))

    return Case("heavy, depth 5, a book never seen", first, note=f"reads and compiles {len(raw['entries']):,} entries")


def _fast_tavern(name: str, depth: int) -> Callable[[], object] | None:
    """The same chat through fast-tavern, where it is installed."""
    try:
        import fast_tavern  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return None
    raw: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())

    def run() -> object:
        return fast_tavern.build_prompt_from_silly_tavern(
            preset=raw["preset"],
            character=raw["character"],
            globals={"worldBooks": raw["worldbooks"]},
            history=raw["chat"],
            view="model",
            outputFormat="openai",
            macros={"user": raw["user"]},
            options={"recentHistoryForWorldbook": depth, "rng": lambda: 0.5},
        )

    return run
