"""Workbench: an assistant's tools over the files of a folder: build, explain, lint, test, show, count.

Each method is a tool, and its docstring is the tool's description. Results are small and name what they leave out; failures are
our errors. Texts in the results come from cards and chats: they are data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

from innkeeper.cli.mcp.folder import CallAssets, Folder
from innkeeper.prompt import (
    BuildLimits,
    BuildRequest,
    InputError,
    LimitError,
    Plan,
    Ports,
    UnknownNameError,
    UsageError,
    Where,
)
from innkeeper.prompt.allowance import allowed

if TYPE_CHECKING:
    from innkeeper.inference.tools.toolbox import Toolbox
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


class Workbench:
    """The tools over one folder. They change nothing."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def toolbox(self) -> Toolbox:
        """Return all tools."""
        from innkeeper.inference.tools.toolbox import Toolbox

        return Toolbox.of(self.build, self.explain, self.lint, self.lore_test, self.card_show, self.tokens)

    def build(
        self,
        files: list[str],
        *,
        message: str | None = None,
        dialect: str = "openai",
        model: str | None = None,
        tavern: str | None = None,
        context_window: int | None = None,
        reserve: int | None = None,
        greeting: int | None = None,
        seed: int | None = None,
        now: str | None = None,
    ) -> dict[str, Any]:
        """Build the prompt that a model would get, and count its tokens.

        Args:
            files: a card, a persona, lorebooks, presets, a chat or a build request, told apart by their content
            message: what the user says now
            dialect: the shape of the messages: openai, anthropic, google, text ...
            model: the model that the prompt is for, which settles how tokens are counted
            tavern: the tavern that builds the prompt: silly (the default), smart, vibe
            context_window: the model's window in tokens
            reserve: tokens kept free for the reply
            greeting: which of the card's greetings a chat that is not given begins with, from 0
            seed: the random seed
            now: the time of the build, as in 2026-01-15T12:34:56Z
        """
        inputs = _build_inputs(
            message=message,
            dialect=dialect,
            model=model,
            tavern=tavern,
            context_window=context_window,
            seed=seed,
            now=now,
        )
        with self._planned(files, inputs, reserve, greeting) as (plan, assets):
            payload = plan.render(dialect)
            return fitted(
                {
                    "messages": payload.body,
                    "dialect": dialect,
                    "tokens": _tokens(plan),
                    "left_out": _evicted(plan),
                    "stop": list(plan.stop),
                    "fingerprint": plan.fingerprint(dialect),
                    **beginnings(
                        warnings=[note.to_dict() for note in plan.warnings],
                        notes=[note.to_dict() for note in (*plan.notes, *payload.notes)],
                        findings=assets.located,
                    ),
                }
            )

    def explain(
        self,
        files: list[str],
        *,
        message: str | None = None,
        model: str | None = None,
        tavern: str | None = None,
        context_window: int | None = None,
        reserve: int | None = None,
        greeting: int | None = None,
        seed: int | None = None,
        now: str | None = None,
        block: str | None = None,
        offset: int = 0,
        limit: int = PAGE,
    ) -> dict[str, Any]:
        """Explain the prompt: each block with its tokens, its origin, and its status.

        Args:
            files: as for build
            message: what the user says now
            model: the model that the prompt is for
            tavern: the tavern that builds the prompt: silly (the default), smart, vibe
            context_window: the model's window in tokens
            reserve: tokens kept free for the reply
            greeting: which greeting a chat that is not given begins with, from 0
            seed: the random seed
            now: the time of the build
            block: the id of one block, to see all of its text and where each part of it comes from
            offset: the first block of the list
            limit: how many blocks of the list
        """
        inputs = _build_inputs(
            message=message, model=model, tavern=tavern, context_window=context_window, seed=seed, now=now
        )
        with self._planned(files, inputs, reserve, greeting) as (plan, assets):
            if block is not None:
                return fitted(_block(plan, block))
            facts = plan.explain().to_dict()
            return fitted(
                {
                    "tavern": facts["tavern"],
                    "model": facts["model"],
                    **paged("blocks", facts["rows"], offset, limit),
                    "tokens": _tokens(plan),
                    "lore": _lore(plan),
                    **beginnings(warnings=facts["warnings"], notes=facts["notes"], findings=assets.located),
                }
            )

    def lint(self, files: list[str], *, model: str | None = None, offset: int = 0, limit: int = PAGE) -> dict[str, Any]:
        """Find parts without effect or with an unwanted one: dead entries, unreachable keys, macros, scripts.

        Args:
            files: cards, lorebooks, presets, personas; lore is judged by the preset among them
            model: the model whose tokens are counted
            offset: the first finding
            limit: how many findings
        """
        from innkeeper.cli.prompt.lint import linted

        with allowed(CALL_LIMITS):
            located = linted(self._folder.each(_some(files)), model)
        rows = [{"file": name, **finding.to_dict()} for name, finding in located]
        return fitted({"files": len(files), **paged("findings", rows, offset, limit)})

    def lore_test(
        self,
        files: list[str],
        *,
        message: str | None = None,
        depth: int | None = None,
        recursive: bool | None = None,
        budget: float | None = None,
        model: str | None = None,
        seed: int | None = None,
        only: Literal["fired", "stopped"] | None = None,
        offset: int = 0,
        limit: int = PAGE,
    ) -> dict[str, Any]:
        """Test lorebooks against a chat: for every entry whether it fires, or the first rule that stopped it.

        Args:
            files: lorebooks, or cards with one inside; beside them a chat, a persona, a preset
            message: the user's message; enough for a quick test
            depth: how many messages to look back
            recursive: whether entries can trigger others
            budget: the lore budget, in percent of the context
            model: the model whose tokens are counted
            seed: the random seed
            only: show those entries alone
            offset: the first entry of the list; those that fired come first
            limit: how many entries
        """
        from innkeeper.cli.prompt.lint import lore_request, lore_scan

        options: dict[str, Any] = {"depth": depth, "recursive": recursive, "budget": budget}
        options |= {"message": message, "model": model, "seed": seed}
        with allowed(CALL_LIMITS):
            assets = self._folder.assets(_some(files))
            result = lore_scan(lore_request(assets, options))
        shown = [verdict for verdict in result.verdicts if only is None or verdict.fired == (only == "fired")]
        rows = [verdict.to_dict() for verdict in sorted(shown, key=lambda verdict: not verdict.fired)]
        return fitted(
            {
                "fired": sum(verdict.fired for verdict in result.verdicts),
                "entries": len(result.verdicts),
                "passes": result.loops,
                "budget": {"tokens": result.budget, "used_up": result.overflowed},
                **paged("verdicts", rows, offset, limit),
                **beginnings(findings=assets.located),
            }
        )

    def card_show(self, file: str, *, full: bool = False) -> dict[str, Any]:
        """Show the contents of a card, with its violations of the specification.

        Args:
            file: the card: PNG, APNG, JSON, CHARX or BYAF
            full: all of the card, as JSON, instead of the beginnings of its texts
        """
        from innkeeper.cli.prompt.card import TEXTS, card_facts
        from innkeeper.content import open_card, validate

        with allowed(CALL_LIMITS):
            try:
                opened = open_card(self._folder.read(file), lenient=True)
            except InputError as error:
                raise error.at(asset=file) from error.__cause__
            facts = card_facts(opened)
            facts["findings"] += [finding.to_dict() for finding in validate(opened.character)]
        if full:
            return fitted(facts)
        del facts["card"]
        character = opened.character
        texts = [(name, getattr(character, name)) for name in TEXTS]
        texts += [(f"alternate_greetings[{n}]", text) for n, text in enumerate(character.alternate_greetings)]
        shown = {"texts": [_beginning(name, text) for name, text in texts if text]}
        return fitted({**facts, **shown, **beginnings(findings=facts["findings"])})

    def tokens(
        self, text: str | None = None, file: str | None = None, models: list[str] | None = None
    ) -> dict[str, Any]:
        """Count the tokens of a text or text file, for one model or several, and say how exact the count is.

        Args:
            text: the text
            file: a file with the text, instead
            models: ids of models
        """
        from innkeeper.cli.prompt.tokens import COUNT_LIMITS, counted
        from innkeeper.content.json.text import decode_text
        from innkeeper.prompt.text import scalar_text

        if (text is None) == (file is None):
            raise UsageError("one of text and file is wanted")
        content = decode_text(self._folder.read(file), file, []) if file is not None else text or ""
        content = scalar_text(content)
        size = {"characters": len(content), "bytes": len(content.encode())}
        asked: list[str | None] = [*dict.fromkeys(models)] if models else [None]
        return fitted({**size, "counts": counted(content, asked, COUNT_LIMITS)})

    @contextmanager
    def _planned(
        self, files: Sequence[str], inputs: dict[str, Any], reserve: int | None, greeting: int | None
    ) -> Iterator[tuple[Plan, CallAssets]]:
        """Build a plan of files and work with it within one allowance."""
        from innkeeper.cli.prompt.build import begun
        from innkeeper.taverns import build as build_plan

        with allowed(CALL_LIMITS):
            assets = self._folder.assets(files)
            if not files and "message" not in inputs:
                raise UsageError("there is nothing to build a prompt from", hint="name files, or say a message")
            ports = Ports()
            request: BuildRequest = assets.request(inputs | ({} if reserve is None else {"reserved_tokens": reserve}))
            yield build_plan(begun(assets, request, ports, greeting), ports), assets


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


def _build_inputs(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _some(files: Sequence[str]) -> Sequence[str]:
    if not files:
        raise UsageError("no file is named")
    return files


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
