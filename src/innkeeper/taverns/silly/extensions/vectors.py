"""Vectors: messages, files and lore entries that match the current messages (`sillytavern.md` E3).

A search says how near texts are to a query: `Ports.vectors`, or BM25 where there is none, which knows words and not
meanings. What is taken of its hits, and where it goes, are SillyTavern's rules.

Called by the step ``hooks`` after regex scripts and before the lore scan, and by ``lore`` for entries (`lore_keys`);
in neither for dry runs and quiet prompts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.prompt.run.extensions import Injection
from innkeeper.taverns.silly.extensions.injections import filled, injection_of
from innkeeper.taverns.silly.lines.line import Line
from innkeeper.text.javascript.values import strip, strip_start

if TYPE_CHECKING:
    from innkeeper.lore.compiled import CompiledEntry
    from innkeeper.prompt.run.state import PassageSearch


CHAT_KEY: Final = "3_vectors"
DATA_BANK_KEY: Final = "4_vectors_data_bank"
"""The key of matching passages among injections."""

KILOBYTE: Final = 1024


class VectorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """SillyTavern's ``extension_settings.vectors``, under its own names, without those for making embeddings.

    Sizes of chunks are in characters, those of files (``size_threshold``) in kilobytes.
    """

    enabled_chats: bool = False
    template: str = "Past events:\n{{text}}"
    position: int = 0
    depth: int = 2
    protect: int = 5
    insert: int = 3
    query: int = 2
    score_threshold: float = 0.25
    include_wi: bool = False
    enabled_files: bool = False
    size_threshold: float = 10
    chunk_size: int = 5000
    chunk_count: int = 2
    size_threshold_db: float = 5
    chunk_size_db: int = 2500
    chunk_count_db: int = 5
    file_template_db: str = "Related information:\n{{text}}"
    file_position_db: int = 0
    file_depth_db: int = 4
    file_depth_role_db: int = 0
    enabled_world_info: bool = False
    enabled_for_all: bool = False
    max_entries: int = 5

    @property
    def is_on(self) -> bool:
        """Whether anything is searched."""
        return self.enabled_chats or self.enabled_files or self.enabled_world_info


class BankFile(msgspec.Struct, frozen=True):
    """A file of the data bank: its name and its text."""

    name: str
    text: str


class Recalled(msgspec.Struct, frozen=True, kw_only=True):
    """The lines that stay in the history, and the matches among them, least relevant first; ``moved`` left the history."""

    lines: tuple[Line, ...]
    matches: tuple[Line, ...] = ()
    moved: tuple[Line, ...] = ()


_BREAKS: Final = re.compile(r"\n+")


def query_of(settings: VectorSettings, lines: Sequence[Line], expand: Callable[[str], str]) -> str:
    """The query: the last messages with a text, newest first."""
    texts = (expand(line.text) for line in reversed(lines) if strip(line.text))
    return strip("\n".join(text for text, _ in zip(texts, range(max(settings.query, 0)), strict=False)))


def recalled(
    settings: VectorSettings,
    lines: tuple[Line, ...],
    query: str,
    search: PassageSearch,
    *,
    neighbours_stay: bool = True,
) -> Recalled:
    """The messages that the query is about, taken out of the history but for the newest (``protect``). No score is too low.

    With ``neighbours_stay`` the second of two that stand together stays in the history, too, as in SillyTavern.
    """
    if not query or len(lines) < settings.protect:
        return Recalled(lines=lines)
    asked = [line for line in lines if strip(line.text) and not line.tool_calls]
    hits = search.search([line.text for line in asked], query)[: max(settings.insert, 0)]
    protected = {line.index for line in lines[-settings.protect :]} if settings.protect > 0 else set()
    recalled_lines = tuple(asked[index] for index, _ in hits if asked[index].index not in protected)
    indices, moved, stays = {line.index for line in recalled_lines}, list[Line](), False
    for line in lines:
        stays = line.index not in indices or (
            neighbours_stay and not stays and bool(moved) and lines[lines.index(line) - 1] is moved[-1]
        )
        if not stays:
            moved.append(line)
    gone = {line.index for line in moved}
    return Recalled(
        lines=tuple(line for line in lines if line.index not in gone), matches=recalled_lines[::-1], moved=tuple(moved)
    )


def chat_injection(settings: VectorSettings, recalled_lines: Sequence[Line]) -> Injection | None:
    """The matches in the chat, as an injection."""
    text = "\n\n".join(strip(f"{line.name}: {_BREAKS.sub(' ', line.text)}") for line in recalled_lines)
    return injection_of(
        CHAT_KEY,
        filled(settings.template, "text", text),
        position=settings.position,
        depth=settings.depth,
        scan=settings.include_wi,
    )


def bank_files(
    *listed: Any, disabled: Iterable[Any] = (), report: Callable[[str], None] = lambda _: None
) -> tuple[BankFile, ...]:
    """The files in lists as SillyTavern stores them (``{name, url}``, with ``text``), each once.

    ``report`` is told of those without a text.
    """
    off, files = {url for url in disabled if isinstance(url, str)}, dict[str, BankFile]()
    rows = (row for group in listed if isinstance(group, (list, tuple)) for row in group if isinstance(row, Mapping))
    for row in rows:
        name, text, url = str(row.get("name") or ""), row.get("text"), str(row.get("url") or "")
        if url and url in off:
            continue
        if isinstance(text, str):
            files.setdefault(url or name, BankFile(name, text))
        elif (url or name) not in files:
            report(name or url)
    return tuple(files.values())


def data_bank(
    settings: VectorSettings, files: Sequence[BankFile], query: str, search: PassageSearch
) -> Injection | None:
    """The passages of the data bank's files that the query is about, file by file, as an injection."""
    passages = [
        (index, text)
        for index, file in enumerate(files)
        for text in _pieces(file.text, settings.size_threshold_db, settings.chunk_size_db)
    ]
    hits = _above(settings, search, [text for _, text in passages], query, settings.chunk_count_db)
    by_file: dict[int, list[str]] = {}
    for number in sorted(hits):
        index, text = passages[number]
        by_file.setdefault(index, []).append(text)
    text = "\n\n".join("\n".join(texts) for texts in by_file.values())
    return injection_of(
        DATA_BANK_KEY,
        filled(settings.file_template_db, "text", text),
        position=settings.file_position_db,
        depth=settings.file_depth_db,
        role=settings.file_depth_role_db,
        scan=settings.include_wi,
    )


def file_passages(settings: VectorSettings, text: str, query: str, search: PassageSearch) -> str:
    """The sent part of a file attached to a message: all of a small one, else the passages that match the query."""
    if not settings.enabled_files or len(text.encode(errors="replace")) < settings.size_threshold * KILOBYTE:
        return text
    parts = list(chunks(text, settings.chunk_size))
    hits = _above(settings, search, parts, query, settings.chunk_count)
    return "\n".join(parts[index] for index in sorted(hits))


def lore_keys(
    settings: VectorSettings, entries: Iterable[CompiledEntry], query: str, search: PassageSearch
) -> frozenset[str]:
    """The entries that fire because the query is about them, as ``book.uid``; other rules than their keys still hold."""
    if not settings.enabled_world_info or not query:
        return frozenset()
    asked = [
        entry
        for entry in entries
        if entry.entry.enabled and strip(entry.entry.content) and (settings.enabled_for_all or entry.entry.vectorized)
    ]
    hits = _above(settings, search, [entry.entry.content for entry in asked], query, settings.max_entries)
    return frozenset(asked[index].key for index in hits)


def _above(settings: VectorSettings, search: PassageSearch, texts: list[str], query: str, most: int) -> list[int]:
    """The indexes of the nearest texts, up to a number, whose score is not below the threshold."""
    hits = search.search(texts, query)[: max(most, 0)] if texts and query else ()
    return [index for index, score in hits if score >= settings.score_threshold]


def _pieces(text: str, threshold: float, size: int) -> Iterator[str]:
    if len(text.encode(errors="replace")) <= threshold * KILOBYTE:
        if strip(text):
            yield text
    else:
        yield from chunks(text, size)


_SEPARATORS: Final = ("\n\n", "\n", " ")


def chunks(text: str, size: int) -> Iterator[str]:
    r"""A text in parts of at most ``size`` characters, cut between paragraphs where that goes, else lines, words, letters.

    >>> list(chunks("One two.\n\nThree four.", 12))
    ['One two.', 'Three four.']
    """
    rest, size = text, max(size, 1)
    while len(rest) > size:
        cut = next((at for mark in _SEPARATORS if (at := rest.rfind(mark, 0, size + 1)) > 0), size)
        if part := strip(rest[:cut]):
            yield part
        rest = strip_start(rest[cut:])
    if part := strip(rest):
        yield part
