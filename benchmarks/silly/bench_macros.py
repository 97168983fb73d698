"""Macros: a message without any, a line, a prompt full of them, a pick, and texts made to be slow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from benchmarks.case import Case
from innkeeper.macros.engine.environment import CardFields, MacroEnvironment
from innkeeper.macros.silly import substitute
from innkeeper.prompt.determinism import Clock, Mulberry32

PLAIN: Final = 'The bell above the door rings. "We close in ten minutes," Mira says, and goes on with her work. ' * 4
LINE: Final = "{{char}} waves to {{user}}."
PROMPT: Final = (
    "You play {{char}} opposite {{user}}. {{if {{getvar::mood}}}}Mood: {{getvar::mood}}{{else}}Neutral{{/if}} {{// note}}"
    "{{description}} {{random::a::b::c}} It is {{time}} on {{weekday}}.\n" + PLAIN
) * 4
PICK: Final = PLAIN * 3 + "{{pick::a::b::c}}"
HOSTILE: Final = {
    "nested 10,000 deep": "{{reverse::" * 10_000 + "x" + "}}" * 10_000,
    "1 MB of openers": "{{setvar::a::" * 80_000,
    "1 MB of conditions": "{{if 1}}" * 125_000,
}


def cases() -> Iterator[Case]:
    """Both engines; a message without macros against looking for braces in it."""
    for pack in ("new", "legacy"):
        look = Case(f"{pack}: 380 characters without macros", _run(PLAIN, pack), lambda: "{{" in PLAIN, "one search")
        yield look
        for name, text in (("line", LINE), ("prompt, 48 macros", PROMPT), ("pick in 1 KB", PICK)):
            yield Case(f"{pack}: {name}", _run(text, pack), note=f"{len(text):,} characters")
        for name, text in HOSTILE.items():
            yield Case(f"{pack}: {name}", _run(text, pack), note=f"{len(text):,} characters")


def _run(text: str, pack: Any) -> Callable[[], object]:
    card = CardFields(description="{{char}} runs a tiny clock workshop on Lantern Street. She hums while she works.")
    clock = Clock.at("2026-01-15T12:34:56Z")

    def run() -> str:
        env = MacroEnvironment(user="Tomas", char="Mira", card=card, clock=clock, random=Mulberry32(1), chat_id="a")
        return substitute(text, env, pack=pack)

    return run
