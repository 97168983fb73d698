"""The table of doors and judgements, made from the operations and pages that declare them."""

from __future__ import annotations

from collections.abc import Iterator

from innkeeper.cli.mcp.workbench import TOOLS
from innkeeper.gate.judgement import Judgement
from innkeeper.service.gateway.operations import OPERATIONS as GATEWAY
from innkeeper.service.model_surfaces import ModelRoutes
from innkeeper.service.operations.http import with_rule
from innkeeper.service.operations.paths import JOBS, SCENES, STORED, TASKS, WORKERS
from innkeeper.service.prompts.operations import OPERATIONS as PROMPTS
from tests.shared import ROOT

PAGE = ROOT / "docs" / "tiers.md"
BEGIN, END = "<!-- doors: begin -->", "<!-- doors: end -->"

WORDS = {
    Judgement.ASKED: "the prompt before a model is asked, the answer as it comes",
    Judgement.MADE: "what is made, before it is given",
    Judgement.TASK: "the request in the task's tier before a model is asked, then the answer",
    Judgement.SAVED: "what is to be stored, in its own tier",
    Judgement.STORED: "judged when it was stored or made",
    Judgement.OWN: "an operator's own files and rows, as they are",
    Judgement.NONE: "no text for a person passes",
}


def declared() -> Iterator[tuple[Judgement, str]]:
    """Every door with its judgement."""
    for table in ModelRoutes().tables():
        yield from ((page.judged, f"`{page.method} {page.path}`") for page in table.pages)
    for name, each in PROMPTS.items():
        yield each.judged or Judgement.NONE, f"`POST /v1/prompts/{name}`"
    for path in with_rule((*TASKS, *JOBS, *SCENES, *STORED, *WORKERS)):
        yield path.operation.judged or Judgement.NONE, f"`{path.method} {path.path}`"
    for name, tool in TOOLS.items():
        yield tool.judged or Judgement.NONE, f"MCP `{name}`"
    for area in GATEWAY.values():
        yield (
            area.operation.judged or Judgement.NONE,
            f"`/api/{area.namespace}/{area.path.rpartition('/')[0]}/…` ({area.effect})",
        )
    yield Judgement.ASKED, "Connect and gRPC `prompt.v1.PromptService`"
    yield Judgement.ASKED, "`innkeeper chat`, `innkeeper ask`, `innkeeper batch run` and `submit`, the inspector's talk"


def table() -> str:
    """The table in Markdown, a line for each judgement."""
    doors: dict[Judgement, list[str]] = {each: [] for each in Judgement}
    for judgement, door in declared():
        if door not in doors[judgement]:
            doors[judgement].append(door)
    lines = ["| judged | doors |", "|---|---|"]
    lines += [f"| {WORDS[each]} | {', '.join(listed)} |" for each, listed in doors.items()]
    return "\n".join(lines)


def page_with_doors(page: str) -> str:
    """The page about tiers, its table of doors brought up to date."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"
