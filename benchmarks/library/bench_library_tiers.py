"""Tier decisions, chat windows and budgets of the library."""

from collections.abc import Iterator
from typing import Final

from benchmarks.case import Case
from innkeeper.budget import fit_chat
from innkeeper.gate.detector import default_detector
from innkeeper.gate.gate import TextKind, TierGate, TierPolicy
from innkeeper.gate.tier import Ceilings, Tier, effective_tier
from innkeeper.library.catalogue.rows import CatalogueNegative
from innkeeper.library.models.facts import CLIP, join_negatives
from innkeeper.library.prepare.segments import Role, Segment, compress
from innkeeper.prompt.message import Message

PROSE: Final = (
    "The lamp above the door of the inn was lit before the rain began, and by the time the coach came down from the pass "
    "there were nine people at the long table, most of them strangers. Wenna Skerrow, who kept the place, didn't ask "
    "where they came from; she counted heads, put another pot on the fire and said that the bridge wouldn't hold. "
)


_PLAIN: Final = frozenset({"plain prose", "typographic quotes", "two finds"})


def cases() -> Iterator[Case]:
    """A tier decision on 2 kB as it is asked for every request, and what budgets cost."""
    detector, policy, ceilings = default_detector(), TierPolicy(adult_enabled=True), Ceilings(account=Tier.NSFW)
    plain = (PROSE * 8)[:2048]
    texts = {
        "plain prose": plain,
        "typographic quotes": plain.replace("'", "’").replace(".", "…"),
        "two finds": plain[:2000] + " a nude study by night light",
        "a find in every sentence": ("Her daughter was fifteen years old, and they kissed at the school dance. " * 30)[
            :2048
        ],
        "Chinese": ("昨天晚上我和朋友们一起去了学校旁边的公园，看见很多孩子在玩，天气非常好，大家都很高兴。" * 20)[
            :683
        ],
    }
    for name, text in texts.items():

        def decide(text: str = text) -> object:
            detector.forget()
            return effective_tier("nsfw", ceilings, policy=policy, detection=detector.scan(text))

        wanted = "300 µs" if name in _PLAIN else "1 ms"
        yield Case(f"tier decision, {name}", decide, note=f"{len(text.encode())} bytes; wanted: at most {wanted}")
    gate, asked = TierGate.of(policy), {TextKind.USER_TEXT: plain}
    yield Case("tier decision, remembered", lambda: gate.check(asked, "nsfw", ceilings), note="wanted: at most 5 µs")
    yield Case("tier by ceilings alone", lambda: effective_tier("nsfw", ceilings, policy=policy))
    chat = [Message("user" if n % 2 else "assistant", f"turn {n}: {PROSE[n % 50 :]}") for n in range(500)]
    yield Case("window of 500 messages", lambda: fit_chat(chat, Message("user", "and now?"), 6000, model="gpt-4o"))
    measure = CLIP.measure()
    segments = [Segment(PROSE[n : n + 60], role) for n, role in enumerate([*Role] * 3)]
    yield Case("compress 24 segments to 75", lambda: compress(segments, 75, measure), note="CLIP's vocabulary")
    rows = [
        CatalogueNegative(id=str(n), model_type="sdxl", negative_prompt=f"fault number {n}", priority=n)
        for n in range(40)
    ]
    yield Case("join 40 negative fragments", lambda: join_negatives(rows, "sdxl", Tier.SFW, "txt2img", measure=measure))
