"""Recall: what the extensions with a memory add to a build: the summary, passages of the chat, of the data bank, of lore.

The only module here that talks to a build: it asks the functions of `memory` and `vectors`, and says in the plan what they did.
Called by the step ``hooks`` (`recall`) and by ``lore`` (`searched_lore`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec

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
from innkeeper.taverns.silly.lines.line import Line

if TYPE_CHECKING:
    from innkeeper.lore.compiled import CompiledEntry
    from innkeeper.prompt.run.state import PassageSearch, State
    from innkeeper.taverns.silly.inputs import SillyInputs


Lines = tuple[Line, ...]


class Search(msgspec.Struct, frozen=True):
    """A search at work: by which rules, for what, in which ``lines``; these are without the texts of their files."""

    settings: VectorSettings
    finder: PassageSearch
    query: str
    lines: Lines


class Recall(msgspec.Struct, frozen=True):
    """The injections of extensions, and the search for lore; ``None`` without a search."""

    injections: tuple[Injection, ...] = ()
    search: Search | None = None


NOTHING: Final = Recall()
"""The recall of a build without such extensions."""


def search_of(state: State, inputs: SillyInputs, lines: Lines, expand: Callable[[str], str]) -> Search | None:
    """The search of a build by its port, or by BM25, which the plan notes; ``None`` without a search."""
    settings = inputs.vectors
    if settings is None or not settings.is_on or inputs.type == "quiet" or inputs.generation.dry_run:
        return None
    from innkeeper.text.bm25 import Bm25

    finder = state.inputs.ports.vectors or Bm25()
    state.note(NoteKind.FALLBACK, f"passages are found by {finder.name}", data={"search": finder.name})
    return Search(settings, finder, query_of(settings, lines, expand), lines)


def shortened(state: State, search: Search, text: str) -> str:
    """The sent part of an attached file; a note says that it is not all of it."""
    sent = file_passages(search.settings, text, search.query, search.finder)
    if len(sent) < len(text):
        message = (
            f"of an attached file {len(sent):,} of {len(text):,} characters are sent: the passages that were found"
        )
        state.note(NoteKind.LIMIT, message, data={"characters": len(text), "sent": len(sent)})
    return sent


def recall(
    state: State,
    inputs: SillyInputs,
    sent: Lines,
    lines: Lines,
    expand: Callable[[str], str],
    fits: Callable[[str], bool],
    search: Search | None = None,
) -> tuple[Lines, Recall]:
    """The lines that are sent, without those that are moved, and what is put in. ``lines`` is the whole chat.

    The request's own injections win over ours with the same key.
    """
    made = _summary(state, inputs, lines, expand, fits)
    if search is not None and search.settings.enabled_chats:
        stays = inputs.compat.neighbours_stay
        result = recalled(search.settings, search.lines, search.query, search.finder, neighbours_stay=stays)
        _note_moved(state, result.moved)
        gone = {line.index for line in result.moved}
        sent = tuple(line for line in sent if line.index not in gone)
        made.append(chat_injection(search.settings, result.matches))
    if search is not None and inputs.bank and search.settings.enabled_files:
        made.append(data_bank(search.settings, inputs.bank, search.query, search.finder))
    present = {item.id for item in state.request.injections}
    return sent, Recall(tuple(item for item in made if item is not None and item.id not in present), search)


def searched_lore(recall: Recall, entries: Iterable[CompiledEntry]) -> frozenset[str]:
    """The entries that a search makes fire, as ``book.uid``."""
    search = recall.search
    return frozenset() if search is None else lore_keys(search.settings, entries, search.query, search.finder)


def _summary(
    state: State, inputs: SillyInputs, lines: Lines, expand: Callable[[str], str], fits: Callable[[str], bool]
) -> list[Injection | None]:
    settings = inputs.memory
    if settings is None:
        if "memory" in inputs.rare:
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
