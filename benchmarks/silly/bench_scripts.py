"""Regex scripts: what 50 of them add to a build of 1,000 messages, the first time and with one message more."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from benchmarks.case import Case
from innkeeper.prompt import BuildRequest, Message
from innkeeper.taverns import silly

MESSAGES: Final = 1_000
SENTENCES: Final = (
    'Mira sets the lamp down. "Hold it closer," she says, and the light falls on the springs.',
    "*She hums, turning a small gear between two fingers.* The rain goes on.",
    "I found this key under the floorboards -- it may be older than the house.",
    "(OOC: let us stay in the workshop for now) The kettle begins to whistle...",
    "“Keys open more than doors,” she mutters. <b>Nobody</b> answers.",
    "The clock on the wall strikes seven. Have you seen the harbour lately?\n\n\n",
)
FINDS: Final = (
    ("/\\(OOC:[\\s\\S]*?\\)/gi", ""),
    ("/<think>[\\s\\S]*?<\\/think>/g", ""),
    ("/\\*([^*]+)\\*/g", "_$1_"),
    ("/[“”]/g", '"'),
    ("/[‘’]/g", "'"),
    ("/--/g", "—"),
    ("/\\.{3}/g", "…"),
    ("/\\n{3,}/g", "\n\n"),
    ("/<\\/?(?:b|i|u)>/gi", ""),
    ("/```[\\s\\S]*?```/g", ""),
    ("/\\[(?:HP|MP): ?\\d+\\]/g", ""),
    ("/<status>[\\s\\S]*?<\\/status>/gi", ""),
    ("/\\b(?:shivers? (?:down|up)|ministrations)\\b/gi", "tension"),
    ("/{{user}}'s eyes/g", "the eyes of {{user}}"),
    ("/!{2,}/g", "!"),
    ("/<!--[\\s\\S]*?-->/g", ""),
    ("/^\\s*Mira:/gm", ""),
)


def cases() -> Iterator[Case]:
    """A chat never seen with scripts and without; then a chat that grows by a message, with them and without."""
    for decoded in (False, True):
        how = "decoded anew" if decoded else "kept by the caller"
        with_scripts, without = (_never_seen(_scripts(50) if on else [], decoded=decoded) for on in (True, False))
        yield Case(f"{MESSAGES:,} messages never seen, 50 scripts, {how}", with_scripts, without, "without scripts")
        with_scripts, without = (_growing(_scripts(50) if on else [], decoded=decoded) for on in (True, False))
        yield Case(f"{MESSAGES:,} messages and one more, 50 scripts, {how}", with_scripts, without, "without scripts")


def _scripts(count: int) -> list[dict[str, Any]]:
    """Scripts as people have them: some match most messages, many match few."""
    scripts = []
    for number in range(count):
        find, replace = (
            FINDS[number] if number < len(FINDS) else (f"/\\bword{number}(?:ed|ing)?\\b/gi", f"term{number}")
        )
        scripts.append({
            "scriptName": f"script {number}", "findRegex": find, "replaceString": replace, "trimStrings": [],
            "placement": [1, 2], "promptOnly": True, "substituteRegex": 1 if "{{" in find else 0,
            "minDepth": 2 if number % 9 == 0 else None,
        })  # fmt: skip
    return scripts


def _chat(mark: str) -> list[dict[str, str]]:
    texts = itertools.cycle(SENTENCES)
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": f"{mark} {n}: {next(texts)} {next(texts)}"} for n in range(MESSAGES)]


def _body(mark: str, scripts: list[dict[str, Any]]) -> dict[str, Any]:
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Mira", "description": "A clockmaker."}}
    settings = {"regex": scripts} if scripts else {}
    base = {"tavern": "silly", "character": card, "user": {"name": "Tomas"}, "now": "2026-01-15T12:34:56Z", "seed": 1}
    return {**base, "history": _chat(mark), "context_window": 200_000, "settings": settings}


_MARKS = itertools.count()


def _never_seen(scripts: list[dict[str, Any]], *, decoded: bool) -> Callable[[], object]:
    """Each time a chat of other messages; reading the request is not what is measured, unless it is decoded anew."""

    def run() -> object:
        body = _body(f"m{next(_MARKS)}", scripts)
        return silly.build(BuildRequest.from_json(json.dumps(body)) if decoded else BuildRequest.of(body))

    return run


def _growing(scripts: list[dict[str, Any]], *, decoded: bool) -> Callable[[], object]:
    body, numbers = _body("grows", scripts), itertools.count()
    base = BuildRequest.of(body)
    head, tail = json.dumps(body).split('], "context_window"', 1)

    def run() -> object:
        text = f"{next(numbers)}: {SENTENCES[0]}"
        if not decoded:
            return silly.build(base.with_(history=(*base.history, Message("user", text))))
        added = json.dumps({"role": "user", "content": text})
        return silly.build(BuildRequest.from_json(f'{head}, {added}], "context_window"{tail}'))

    return run
