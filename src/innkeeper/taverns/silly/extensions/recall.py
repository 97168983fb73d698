"""Recall: what the extensions with a memory add to a build: the summary, passages of the chat, of the data bank, of lore.

The only module here that talks to a build: it asks the functions of `memory` and `vectors`, and says in the plan what they did.
Called by the step ``hooks`` (`recall`) and by ``lore`` (`searched_lore`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.prompt.block import Piece
from innkeeper.prompt.errors import Where
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.run.extensions import Injection
from innkeeper.taverns.silly.extensions.memory import due, summary_injection, summary_request
from innkeeper.taverns.silly.extensions.vectors import (
    VectorSettings,
    chat_injection,
    data_bank,
    file_passages,
    lore_keys,
    query_of,
    recalled,
)
from innkeeper.taverns.silly.line import Line

if TYPE_CHECKING:
    from innkeeper.lore.compiled import CompiledEntry
    from innkeeper.prompt.run.state import PassageSearch, State
    from innkeeper.taverns.silly.inputs import SillyInputs

__all__ = ["NOTHING", "Recall", "recall", "searched_lore"]

Lines = tuple[Line, ...]


class Recall(msgspec.Struct, frozen=True):
    """The injections that extensions make, and what passages are searched for; empty where nothing is searched."""

    injections: tuple[Injection, ...] = ()
    query: str = ""


NOTHING: Final = Recall()
"""What a build without such extensions recalls."""


def recall(
    state: State,
    inputs: SillyInputs,
    sent: Lines,
    lines: Lines,
    expand: Callable[[str], str],
    fits: Callable[[str], bool],
) -> tuple[Lines, Recall]:
    """The lines that are sent, without those that are moved, and what is put in. ``lines`` is the whole chat.

    The request's own injections win over ours with the same key.
    """
    made = _summary(state, inputs, lines, expand, fits)
    query = ""
    settings = inputs.vectors
    if settings is not None and settings.is_on and inputs.type != "quiet" and not inputs.generation.dry_run:
        search = search_of(state)
        query = query_of(settings, sent, expand)
        state.note(NoteKind.FALLBACK, f"passages are found by {search.name}", data={"search": search.name})
        if settings.enabled_files:
            sent = tuple(
                _with_passages(state, settings, line, query, search) if line.attached else line for line in sent
            )
        if settings.enabled_chats:
            found = recalled(settings, sent, query, search, neighbours_stay=inputs.compat.neighbours_stay)
            _note_moved(state, found.moved)
            sent = found.lines
            made.append(chat_injection(settings, found.found))
        if inputs.bank and settings.enabled_files:
            made.append(data_bank(settings, inputs.bank, query, search))
    given = {item.id for item in state.request.injections}
    injections = tuple(item for item in made if item is not None and item.id not in given)
    return sent, Recall(injections, query)


def _with_passages(state: State, settings: VectorSettings, line: Line, query: str, search: PassageSearch) -> Line:
    """A line with passages of its attached files where they are large; the rest of them is not sent, which is noted."""
    text = line.text[: line.attached].removesuffix("\n\n")
    found = file_passages(settings, text, query, search)
    if found is text:
        return line
    message = f"of attached files with {len(text):,} characters {len(found):,} are sent: the passages that were found"
    state.note(NoteKind.IGNORED, message, where=Where(asset="history", path=f"[{line.index}]"))
    before = f"{found}\n\n"
    pieces = (Piece(before, line.pieces[0].origin), *line.pieces[1:])
    said = line.text[line.attached :]
    return msgspec.structs.replace(line, text=before + said, pieces=pieces, attached=len(before))


def search_of(state: State) -> PassageSearch:
    """The search of a build: the port's, or BM25."""
    from innkeeper.text.bm25 import Bm25

    return state.inputs.ports.vectors or Bm25()


def searched_lore(
    state: State, inputs: SillyInputs, recall: Recall, entries: Iterable[CompiledEntry]
) -> frozenset[str]:
    """The entries that a search makes fire, as ``book.uid``."""
    if inputs.vectors is None or not recall.query or not inputs.vectors.enabled_world_info:
        return frozenset()
    return lore_keys(inputs.vectors, entries, recall.query, search_of(state))


def _summary(
    state: State, inputs: SillyInputs, lines: Lines, expand: Callable[[str], str], fits: Callable[[str], bool]
) -> list[Injection | None]:
    settings = inputs.memory
    if settings is None:
        if any([line.memory for line in inputs.lines]):  # noqa: C419 - quicker so
            message = "the chat keeps a summary, which is not sent: no settings of the extension memory are given"
            state.note(NoteKind.IGNORED, message, data={"input": "history.extra.memory"})
        return []
    since = due(settings, lines)
    if since is not None:
        _note_due(state, since, summary_request(settings, lines, expand, fits))
    return [summary_injection(settings, inputs.lines)]


def _note_due(state: State, since: tuple[int, int], request: Any) -> None:
    if request is not None:
        state.note(
            NoteKind.DUE,
            f"a summary of the chat is due: its last one is {since[0]} messages old",
            data={"extension": "memory", "messages": since[0], "words": since[1], "request": request.to_dict()},
        )


def _note_moved(state: State, moved: Lines) -> None:
    if moved:
        indices = tuple(line.index for line in moved)
        message = f"{len(moved)} messages stand among the passages that were found, not in the history"
        where = Where(asset="history", path=f"[{indices[0]}]")
        state.note(NoteKind.MOVED, message, where=where, data={"lines": indices})
