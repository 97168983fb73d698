"""Workbench: an assistant's tools over the files of a folder: build, explain, compare, cache, lint, test, show, count.

Each tool is an operation whose scope is the folder: the docstring is the tool's description, the request its arguments. Results
are small and name what they leave out; failures are our errors. Texts in the results come from cards and chats: they are data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from innkeeper.cli.mcp.folder import CallAssets, Folder
from innkeeper.gate.judgement import Judgement
from innkeeper.operations import Operation
from innkeeper.prompt import (
    BuildLimits,
    InputError,
    LimitError,
    Plan,
    Ports,
    UnknownNameError,
    UsageError,
    Where,
    utc_now,
)
from innkeeper.prompt.allowance import allowed

if TYPE_CHECKING:
    from innkeeper.prompt import Block


CALL_LIMITS: Final = BuildLimits(seconds=2.5)
"""The limits of one call: a build, and one for its greeting; a request in a file cannot raise them."""

MAX_RESULT_BYTES: Final = 1024 * 1024
"""Bytes of one result for an assistant, as JSON (`LimitError`)."""

PAGE: Final = 100
"""Rows of a list in a result, unless more are requested."""

MOST: Final = 50
"""Notes, findings and omitted blocks that a result shows; it counts the others."""

BEGINNING: Final = 200
"""Characters of a text that is shown in part."""


_Offset = Annotated[int, Meta(description="the first of the list")]
_Limit = Annotated[int, Meta(description="how many of the list")]
_Counted = Annotated[str | None, Meta(description="the model whose tokens are counted")]


class PlanFiles(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a prompt is built from."""

    files: Annotated[
        list[str],
        Meta(
            description="a card, a persona, lorebooks, presets, a chat or a build request, told apart by their content"
        ),
    ]
    message: Annotated[str | None, Meta(description="what the user says now")] = None
    model: Annotated[
        str | None, Meta(description="the model that the prompt is for, which settles how tokens are counted")
    ] = None
    tavern: Annotated[
        str | None, Meta(description="the tavern that builds the prompt: silly (the default), smart, vibe")
    ] = None
    context_window: Annotated[int | None, Meta(description="the model's window in tokens")] = None
    reserve: Annotated[int | None, Meta(description="tokens kept free for the reply")] = None
    greeting: Annotated[
        int | None, Meta(description="which of the card's greetings a chat that is not given begins with, from 0")
    ] = None
    seed: Annotated[int | None, Meta(description="the random seed")] = None
    now: Annotated[str | None, Meta(description="the time of the build, as in 2026-01-15T12:34:56Z")] = None


class BuildFiles(PlanFiles, frozen=True, kw_only=True):
    """A prompt to build."""

    dialect: Annotated[str, Meta(description="the shape of the messages: openai, anthropic, google, text ...")] = (
        "openai"
    )


class ExplainFiles(PlanFiles, frozen=True, kw_only=True):
    """A prompt to explain."""

    block: Annotated[
        str | None, Meta(description="the id of one block, to see all of its text and where each part of it comes from")
    ] = None
    offset: _Offset = 0
    limit: _Limit = PAGE


class DiffFiles(PlanFiles, frozen=True, kw_only=True):
    """Two prompts to compare: ``files`` are in both."""

    files: Annotated[list[str], Meta(description="files that both prompts are built from")] = []
    before: Annotated[list[str], Meta(description="files that only the first is built from, such as the old preset")]
    after: Annotated[list[str], Meta(description="files that only the second is built from, such as the new preset")]
    offset: _Offset = 0
    limit: _Limit = PAGE


class CacheFiles(PlanFiles, frozen=True, kw_only=True):
    """A prompt, and the one that was sent before it, if any: ``files`` are in both."""

    files: Annotated[list[str], Meta(description="files that both prompts are built from")] = []
    before: Annotated[
        list[str], Meta(description="files that only the one before was built from, such as its chat")
    ] = []
    after: Annotated[list[str], Meta(description="files that only the prompt is built from, such as the chat now")] = []
    provider: Annotated[str, Meta(description="whose cache: anthropic, openai, gemini, deepseek, llamacpp ...")]
    lifetime: Annotated[str | None, Meta(description="one of the provider's lifetimes, such as 1h")] = None


class LintFiles(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Files to lint."""

    files: Annotated[
        list[str],
        Meta(description="cards, lorebooks, presets, personas; lore is judged by the preset among them", min_length=1),
    ]
    model: _Counted = None
    offset: _Offset = 0
    limit: _Limit = PAGE


class LoreFiles(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Lorebooks to test."""

    files: Annotated[
        list[str],
        Meta(description="lorebooks, or cards with one inside; beside them a chat, a persona, a preset", min_length=1),
    ]
    message: Annotated[str | None, Meta(description="the user's message; enough for a quick test")] = None
    depth: Annotated[int | None, Meta(description="how many messages to look back")] = None
    recursive: Annotated[bool | None, Meta(description="whether entries can trigger others")] = None
    budget: Annotated[float | None, Meta(description="the lore budget, in percent of the context")] = None
    model: _Counted = None
    seed: Annotated[int | None, Meta(description="the random seed")] = None
    only: Annotated[Literal["fired", "stopped"] | None, Meta(description="show those entries alone")] = None
    offset: _Offset = 0
    limit: _Limit = PAGE


class ShowCard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A card to show."""

    file: Annotated[str, Meta(description="the card: PNG, APNG, JSON, CHARX or BYAF")]
    full: Annotated[bool, Meta(description="all of the card, as JSON, instead of the beginnings of its texts")] = False


class CountTokens(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text to count."""

    text: Annotated[str | None, Meta(description="the text")] = None
    file: Annotated[str | None, Meta(description="a file with the text, instead")] = None
    models: Annotated[list[str] | None, Meta(description="ids of models")] = None


def build(request: BuildFiles, folder: Folder) -> dict[str, Any]:
    """Build the prompt that a model would get, and count its tokens."""
    with _planned(request, folder, dialect=request.dialect) as (plan, assets):
        payload = plan.render(request.dialect)
        return fitted(
            {
                "messages": payload.body,
                "dialect": request.dialect,
                "tokens": _tokens(plan),
                "left_out": _evicted(plan),
                "stop": list(plan.stop),
                "fingerprint": plan.fingerprint(request.dialect),
                **beginnings(
                    warnings=[note.to_dict() for note in plan.warnings],
                    notes=[note.to_dict() for note in (*plan.notes, *payload.notes)],
                    findings=assets.located,
                ),
            }
        )


def explain(request: ExplainFiles, folder: Folder) -> dict[str, Any]:
    """Explain the prompt: each block with its tokens, its origin, and its status."""
    with _planned(request, folder) as (plan, assets):
        if request.block is not None:
            return fitted(_block(plan, request.block))
        facts = plan.explain().to_dict()
        return fitted(
            {
                "tavern": facts["tavern"],
                "model": facts["model"],
                **paged("blocks", facts["rows"], request.offset, request.limit),
                "tokens": _tokens(plan),
                "lore": _lore(plan),
                **beginnings(warnings=facts["warnings"], notes=facts["notes"], findings=assets.located),
            }
        )


def diff(request: DiffFiles, folder: Folder) -> dict[str, Any]:
    """Compare two prompts: blocks with changed words, tokens, cost, lorebook entries, and what a prefix cache keeps."""
    before, after = _plans(request, folder, request.before, request.after)
    facts = before.diff(after).to_dict()
    return fitted({**facts, **paged("blocks", facts["blocks"], request.offset, request.limit)})


def cache(request: CacheFiles, folder: Folder) -> dict[str, Any]:
    """Say what a provider's prompt cache reads, stores and costs of a prompt, what ends the shared part, and the mend."""
    sides = [request.before, request.after] if request.before else [request.after]
    *previous, plan = _plans(request, folder, *sides)
    return fitted(plan.cache_plan(request.provider, *previous, lifetime=request.lifetime).to_dict())


def lint(request: LintFiles, folder: Folder) -> dict[str, Any]:
    """Find parts without effect or with an unwanted one: dead entries, unreachable keys, macros, scripts."""
    from innkeeper.cli.prompt.lint import linted

    with allowed(CALL_LIMITS):
        located = linted(folder.each(request.files), request.model)
    rows = [{"file": name, **finding.to_dict()} for name, finding in located]
    return fitted({"files": len(request.files), **paged("findings", rows, request.offset, request.limit)})


def lore_test(request: LoreFiles, folder: Folder) -> dict[str, Any]:
    """Test lorebooks against a chat: for every entry whether it fires, or the first rule that stopped it."""
    from innkeeper.cli.prompt.lint import lore_request, lore_scan

    options = {name: getattr(request, name) for name in ("depth", "recursive", "budget", "message", "model", "seed")}
    with allowed(CALL_LIMITS):
        assets = folder.assets(request.files)
        result = lore_scan(lore_request(assets, options))
    only = request.only
    shown = [verdict for verdict in result.verdicts if only is None or verdict.fired == (only == "fired")]
    rows = [verdict.to_dict() for verdict in sorted(shown, key=lambda verdict: not verdict.fired)]
    return fitted(
        {
            "fired": sum(verdict.fired for verdict in result.verdicts),
            "entries": len(result.verdicts),
            "passes": result.loops,
            "budget": {"tokens": result.budget, "used_up": result.overflowed},
            **paged("verdicts", rows, request.offset, request.limit),
            **beginnings(findings=assets.located),
        }
    )


def card_show(request: ShowCard, folder: Folder) -> dict[str, Any]:
    """Show the contents of a card, with its violations of the specification."""
    from innkeeper.cli.prompt.card import TEXTS, card_facts
    from innkeeper.content import open_card, validate

    with allowed(CALL_LIMITS):
        try:
            opened = open_card(folder.read(request.file), lenient=True)
        except InputError as error:
            raise error.at(asset=request.file) from error.__cause__
        facts = card_facts(opened)
        facts["findings"] += [finding.to_dict() for finding in validate(opened.character)]
    if request.full:
        return fitted(facts)
    del facts["card"]
    character = opened.character
    texts = [(name, getattr(character, name)) for name in TEXTS]
    texts += [(f"alternate_greetings[{n}]", text) for n, text in enumerate(character.alternate_greetings)]
    shown = {"texts": [_beginning(name, text) for name, text in texts if text]}
    return fitted({**facts, **shown, **beginnings(findings=facts["findings"])})


def tokens(request: CountTokens, folder: Folder) -> dict[str, Any]:
    """Count the tokens of a text or text file, for one model or several, and say how exact the count is."""
    from innkeeper.cli.prompt.tokens import COUNT_LIMITS, counted
    from innkeeper.content.json.text import decode_text
    from innkeeper.prompt.text import scalar_text

    if (request.text is None) == (request.file is None):
        raise UsageError("one of text and file is needed")
    content = request.text or ""
    if request.file is not None:
        content = scalar_text(decode_text(folder.read(request.file), request.file, []))
    size = {"characters": len(content), "bytes": len(content.encode())}
    models: list[str | None] = [*dict.fromkeys(request.models)] if request.models else [None]
    return fitted({**size, "counts": counted(content, models, COUNT_LIMITS)})


TOOLS: Final[Mapping[str, Operation[Any, dict[str, Any]]]] = {
    "build": Operation("prompts.build", build, judged=Judgement.MADE),
    "explain": Operation("prompts.explain", explain, judged=Judgement.MADE),
    "diff": Operation("prompts.diff", diff, judged=Judgement.MADE),
    "cache": Operation("prompts.cache", cache, judged=Judgement.MADE),
    "lint": Operation("files.lint", lint, judged=Judgement.OWN),
    "lore_test": Operation("lore.test", lore_test, judged=Judgement.OWN),
    "card_show": Operation("cards.show", card_show, judged=Judgement.OWN),
    "tokens": Operation("tokens.count", tokens, judged=Judgement.NONE),
}
"""The tools by their names. They change nothing."""


@contextmanager
def _planned(request: PlanFiles, folder: Folder, **inputs: Any) -> Iterator[tuple[Plan, CallAssets]]:
    """Build a plan of files and work with it within one allowance."""
    from innkeeper.cli.prompt.build import begun
    from innkeeper.taverns import build as build_plan

    inputs |= {name: getattr(request, name) for name in ("message", "model", "tavern", "context_window", "seed", "now")}
    inputs["reserved_tokens"] = request.reserve
    if not request.files and request.message is None:
        raise UsageError("there is nothing to build a prompt from", hint="name files, or say a message")
    with allowed(CALL_LIMITS):
        assets, ports = folder.assets(request.files), Ports()
        asked = assets.request({name: value for name, value in inputs.items() if value is not None})
        options = {"greeting": request.greeting, "model": request.model}
        begun_request, ports, notes = begun(assets, asked, ports, options)
        plan = build_plan(begun_request, ports)
        yield plan.with_(notes=(*notes, *plan.notes)), assets


def _plans(request: PlanFiles, folder: Folder, *sides: Sequence[str]) -> list[Plan]:
    """A plan for each side: of the files of both and its own, at one time."""
    now, plans = request.now or utc_now().isoformat(), []
    for files in sides:
        side = msgspec.structs.replace(request, files=[*request.files, *files], now=now)
        with _planned(side, folder) as (plan, _):
            plans.append(plan)
    return plans


def fitted(result: dict[str, Any]) -> dict[str, Any]:
    """Return the result. Raises `LimitError` if it exceeds `MAX_RESULT_BYTES`."""
    size = len(json.dumps(result, ensure_ascii=False, default=str).encode("utf-8", "replace"))
    if size > MAX_RESULT_BYTES:
        hint = "ask for less: a smaller limit, fewer files, one block"
        raise LimitError("the result", limit="MAX_RESULT_BYTES", allowed=MAX_RESULT_BYTES, found=size, hint=hint)
    return result


def paged(name: str, rows: Sequence[Any], offset: int, limit: int) -> dict[str, Any]:
    """Return a page of a list, with the total and the offset of the next page. Raises `UsageError`."""
    if offset < 0 or limit < 1:
        raise UsageError("offset begins at 0, limit at 1")
    end = offset + limit
    more = {"next_offset": end} if end < len(rows) else {}
    return {name: list(rows[offset:end]), "total": len(rows), **more}


def beginnings(**lists: Sequence[Any]) -> dict[str, Any]:
    """Return the first `MOST` items of each list; ``more`` counts the others."""
    more = {name: len(rows) - MOST for name, rows in lists.items() if len(rows) > MOST}
    return {name: list(rows[:MOST]) for name, rows in lists.items()} | ({"more": more} if more else {})


def _tokens(plan: Plan) -> dict[str, Any]:
    """Return the token counts of a plan without those of each message, which `explain` has."""
    from innkeeper.budget import accounting

    facts = accounting(plan).to_dict()
    names = ("total", "window", "reserve", "free", "fits", "exact", "error_percent", "tokenizer", "model")
    return {name: facts[name] for name in names if facts[name] is not None}


def _evicted(plan: Plan) -> dict[str, Any]:
    """Return the count, tokens and first items of the dropped blocks, with reasons; `explain` has all."""
    rows = [row for row in plan.explain().to_dict()["rows"] if row["status"] == "evicted"]
    return {"total": len(rows), "tokens": sum(row["tokens"] for row in rows), **beginnings(blocks=rows)}


def _lore(plan: Plan) -> dict[str, Any]:
    """Return the entries that fired; `lore_test` explains the others."""
    verdicts = getattr(plan.lore, "verdicts", ())
    fired = [{"book": one.book, "uid": one.uid, "title": one.title, "text": str(one)} for one in verdicts if one.fired]
    return {"entries": len(verdicts), "fired": fired} if verdicts else {}


def _block(plan: Plan, name: str) -> dict[str, Any]:
    """Return one block with its whole text. Raises `UnknownNameError`."""
    blocks: dict[str, Block] = {one.id: one for one in plan.blocks}
    if name not in blocks:
        raise UnknownNameError("block", name, blocks, where=Where(path="block"))
    facts = next(one for one in plan.to_dict()["blocks"] if one["id"] == name)
    row = next(one for one in plan.explain().to_dict()["rows"] if one["block_id"] == name)
    return {"block": {**facts, "tokens": row["tokens"], "status": row["status"], "reason": row.get("reason")}}


def _beginning(field: str, text: str) -> dict[str, Any]:
    cut = {"shown": BEGINNING} if len(text) > BEGINNING else {}
    return {"field": field, "characters": len(text), **cut, "text": text[:BEGINNING]}
