"""Builds the examples and the golden cases and prints a digest of each: run by `test_same_bytes` under several hash seeds.

``build_digests.py EVERY THREADS`` builds every EVERYth case, with so many threads.
"""

import hashlib
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from innkeeper.content import load_character, load_chat, load_lorebook, load_persona, load_preset
from innkeeper.prompt import Plan
from innkeeper.prompt.data import to_json
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.taverns import TAVERNS
from scripts.parity import Case, load_cases, run_case
from scripts.parity.silly import request_of
from tests.shared import ROOT, VECTORS

EXAMPLES = ROOT / "examples"
UNKNOWN = ("zeta", "alpha", "mu", "unknown_b", "unknown_a")
DIALECTS = ("openai", "anthropic", "gemini", "text")


def main(every: int, threads: int) -> None:
    """Print a line for each example, each costly build, and each chosen case: its name and a digest."""
    tasks = [*((build, ()) for build in (examples, costly)), *((case_facts, (case,)) for case in cases(every))]
    with ThreadPoolExecutor(threads) as pool:
        for facts in pool.map(lambda task: list(task[0](*task[1])), tasks):
            for name, each in facts:
                sys.stdout.write(f"{hashlib.sha256(to_json(each, sort=False)).hexdigest()[:16]} {name}\n")


def examples() -> Iterator[tuple[str, Any]]:
    """The example in every tavern, with settings and fields that nobody knows, so that there is something to note."""
    fields: dict[str, Any] = {
        "character": load_character(EXAMPLES / "wenna.png"),
        "user": load_persona(EXAMPLES / "ansel.persona.json"),
        "lorebooks": [load_lorebook(EXAMPLES / "larks.lorebook.json")],
        "preset": load_preset(EXAMPLES / "skerrow.preset.json"),
        "history": load_chat(EXAMPLES / "wenna.chat.jsonl"),
        "message": "Is the reef safe?",
        "model": "gpt-4o",
        "context_window": 8192,
        "reserved_tokens": 300,
        "now": "2026-01-15T18:00:00Z",
        "meta": dict.fromkeys(("one", "two", "three"), "x"),
        "macro_vars": {name: name for name in ("c", "b", "a")},
        "variables": {"local": dict.fromkeys("zyx", "1"), "global": dict.fromkeys("cba", "2")},
    }
    for tavern in TAVERNS:
        settings = (
            {} if tavern == "smart" else dict.fromkeys(UNKNOWN, 1)
        )  # smart refuses settings that it does not know
        plan = TAVERNS[tavern].build(**fields, settings=settings)
        bodies = [plan.to_request(dialect, max_tokens=300).body for dialect in DIALECTS]
        yield f"example {tavern}", [facts_of(plan), bodies, plan.explain().render()]


def costly() -> Iterator[tuple[str, Any]]:
    """Builds with expressions that take long, and some that never end: they are given up after as many steps everywhere."""
    slow = {str(uid): {"uid": uid, "key": [f"/(?:x+)+aq{uid}|z{uid}/"], "content": "slow"} for uid in range(8)}
    endless = {str(uid): {"uid": uid, "key": [f"/(a|a{{1,{uid}}})+$/"], "content": "endless"} for uid in range(20, 22)}
    last = {"99": {"uid": 99, "key": ["/reef/"], "content": "It is sharp."}}
    scripts = [
        {"scriptName": find, "findRegex": find, "replaceString": "*", "placement": [1], "promptOnly": True}
        for find in ("/(?:x+)+q/g", "/(a+)+$/g", "/\\w+?f/g")
    ]
    fields: dict[str, Any] = {"now": "2026-01-15T18:00:00Z", "seed": 1, "model": "gpt-4o"}
    card = {"name": "Mira", "extensions": {"regex_scripts": scripts}}
    for name, entries in (("slow", {**slow, **last}), ("endless", {**endless, **last})):
        message = "x" * 17 + " reef " + "a" * 40 + "!"
        plan = TAVERNS["silly"].build(
            character={"spec": "chara_card_v2", "spec_version": "2.0", "data": card},
            lorebooks=[{"entries": entries}],
            message=message,
            **fields,
        )
        yield f"costly {name}", facts_of(plan)


def cases(every: int) -> list[Case]:
    """Golden cases."""
    return list(load_cases([VECTORS / "silly", VECTORS / "smart"]))[::every]


def case_facts(case: Case) -> Iterator[tuple[str, Any]]:
    """The whole plan where a request can be made of a case, else the answer."""
    yield f"{case.area} {case.name}", answer(case)


def answer(case: Case) -> Any:
    """What a case gives: a plan's facts, or what the golden run compares."""
    given = case.input
    if case.tavern == "silly" and "character" in given and not given.get("kind") and not given.get("steps"):
        try:
            return facts_of(TAVERNS["silly"].build(request_of(given)))
        except InnkeeperError as error:
            return error.to_dict()
    outcome = run_case(case)
    return [outcome.verdict, outcome.error, [difference.render() for difference in outcome.differences]]


def facts_of(plan: Plan) -> Any:
    """Everything a plan says, in its own order."""
    return [
        plan.to_dict(),
        [note.message for note in (*plan.warnings, *plan.notes)],
        plan.request and plan.request.to_dict(),
        [verdict.to_dict() for verdict in plan.lore.verdicts] if plan.lore else None,
    ]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
