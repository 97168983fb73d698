"""Inspection: a plan as the page shows it: messages by origin, the budget, what was left out, what is to be known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from innkeeper.budget import accounting
from innkeeper.prompt.block import Block, BudgetGroup, InsertionPoint
from innkeeper.prompt.note import NoteKind
from innkeeper.service.inspector.inspection.origins import Origins
from innkeeper.service.inspector.inspection.trims import trims_of
from innkeeper.service.inspector.inspection.verdicts import verdict_views
from innkeeper.service.inspector.views.inspection import (
    InspectionView,
    LoreView,
    MessageView,
    PieceView,
    TokenGroup,
    Tokens,
)
from innkeeper.service.inspector.views.workspace import FindingView, Variation, view_of
from innkeeper.service.inspector.workspace.edits import text_path
from innkeeper.service.inspector.workspace.workspace import InspectionCache

if TYPE_CHECKING:
    from innkeeper.budget.accounting import Accounting
    from innkeeper.prompt import Note, Plan
    from innkeeper.service.inspector.workspace.working import WorkingFile
    from innkeeper.service.inspector.workspace.workspace import OpenWorkspace


def inspected(workspace: OpenWorkspace, plan: Plan, variation: Variation | None = None) -> InspectionView:
    """Return a plan as the page shows it. The plan is not changed."""
    origins = Origins(workspace, variation)
    cache = workspace.cache if variation is None else InspectionCache()
    figures = accounting(plan)
    messages = tuple(_messages(plan, figures, origins, cache))
    verdicts = verdict_views(workspace, plan, origins, cache, variation)
    lore, extra = plan.lore, () if workspace.turn_states.note is None else (workspace.turn_states.note,)
    return view_of(
        InspectionView,
        plan,
        fingerprint=plan.fingerprint(),
        dialect=plan.dialect or "openai",
        turns=workspace.turns,
        tokens=view_of(
            Tokens, figures, free=figures.free or 0, window=figures.window or 0, tokenizer=figures.tokenizer or ""
        ),
        groups=tuple([TokenGroup(name, tokens) for name, tokens in figures.groups.items()]),
        messages=messages,
        lore=LoreView(
            getattr(lore, "budget", None), bool(getattr(lore, "overflowed", False)), getattr(lore, "loops", 0)
        ),
        verdicts=verdicts,
        trims=trims_of(plan),
        notes=(*extra, *(note_finding(workspace, note) for note in (*plan.warnings, *plan.notes))),
        origins=tuple(origins.table),
    )


def _messages(plan: Plan, figures: Accounting, origins: Origins, cache: InspectionCache) -> Iterator[MessageView]:
    """The messages; those of ``cache`` whose block is the same one, as most of a long chat's are, are as they were."""
    blocks = plan.sent_blocks()
    after = sum([block.group == BudgetGroup.HISTORY for block in blocks])
    before, cache.messages = cache.messages, []
    for index, (block, line) in enumerate(zip(blocks, figures.lines, strict=True)):
        after -= block.group == BudgetGroup.HISTORY
        depth, view = _depth(block, after), None
        if index < len(before) and before[index][0] is block:
            view = before[index][1]
        if view is None or (view.tokens, view.depth) != (line.tokens, depth):
            view = view_of(
                MessageView,
                block,
                index=index,
                group=str(block.group),
                tokens=line.tokens,
                depth=depth,
                pieces=_pieces(block, origins),
                attachments=tuple(str(item.kind) for item in block.attachments),
            )
        cache.messages.append((block, view))
        yield view


def _depth(block: Block, after: int) -> int | None:
    """The number of messages of the chat that come after."""
    if block.insertion_point is InsertionPoint.IN_CHAT:
        return block.depth
    return after if block.group == BudgetGroup.HISTORY else None


def _pieces(block: Block, origins: Origins) -> tuple[PieceView, ...]:
    """The text of a block by origin; neighbours of one origin are one piece."""
    pieces: list[tuple[str, int | None]] = []
    for piece in block.ranges():
        number = origins.number(piece.origin)
        if pieces and pieces[-1][1] == number:
            pieces[-1] = (pieces[-1][0] + piece.text, number)
        else:
            pieces.append((piece.text, number))
    return tuple([PieceView(text, number) for text, number in pieces])


def note_finding(workspace: OpenWorkspace, note: Note) -> FindingView:
    """A note of a plan, beside the file that it is about where that is known."""
    severity: Any = "warning" if note.kind in _WARNINGS else "note"
    asset = note.where.asset if note.where is not None else None
    file = next((one for one in workspace.used_files() if asset and asset in _names(one)), None)
    path = text_path(note.where.path) if note.where is not None and note.where.path else ()
    path_shown = () if file is None else file.existing_path(path)
    where = str(note.where) if file is None and note.where is not None else None
    id_of = None if file is None else file.id
    return FindingView(severity, str(note.kind), note.message, note.hint, id_of, path_shown, where=where)


_WARNINGS: Final = frozenset(
    {NoteKind.WARNING, NoteKind.LOSS, NoteKind.EVICTED, NoteKind.LIMIT, NoteKind.MACRO, NoteKind.LORE}
)
_ASSETS: Final = {"ChatLog": "history", "PresetFile": "preset", "Persona": "user", "Character": "character"}


def _names(file: WorkingFile) -> tuple[str | None, ...]:
    """What a note may call a file."""
    return file.name, getattr(file.asset, "name", None), _ASSETS.get(type(file.asset).__name__)
