"""Whether a detection list can be used: what `Lexicon.checked` asks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NoReturn

from innkeeper.library.errors import LexiconError
from innkeeper.library.folding import fold_word
from innkeeper.library.lexicon import Lexicon, LexiconEntry
from innkeeper.library.limits import MAX_LEXICON_ENTRIES, MAX_LEXICON_PATTERN
from innkeeper.macros.pyregex import PatternLimitError, PatternSyntaxError, compile_pattern
from innkeeper.prompt.errors import LimitError, Where

__all__ = ["check"]

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")


def check(lexicon: Lexicon) -> None:
    """Raise what `Lexicon.checked` raises."""
    size = sum(1 + len(entry.allow_contexts) for entry in lexicon.entries)
    if size > MAX_LEXICON_ENTRIES:
        raise LimitError("a detection list", limit="MAX_LEXICON_ENTRIES", allowed=MAX_LEXICON_ENTRIES, found=size)
    if not (lexicon.name.strip() and lexicon.version.strip()):
        raise LexiconError("a detection list needs a name and a version", hint="give it both")
    seen: set[str] = set()
    for number, entry in enumerate(lexicon.entries):
        where = Where(path=f"entries[{number}]")
        for wrong in _faults(entry, seen):
            raise LexiconError(f"{wrong} (entry {entry.id[:80]!r})", where=where)
        seen.add(entry.id)
        for text in (entry.pattern, *entry.allow_contexts):
            if len(text) > MAX_LEXICON_PATTERN:
                _too_long(text, where)


def _too_long(text: str, where: Where) -> NoReturn:
    limit = MAX_LEXICON_PATTERN
    raise LimitError(
        "a pattern of a detection list", limit="MAX_LEXICON_PATTERN", allowed=limit, found=len(text), where=where
    )


def _faults(entry: LexiconEntry, seen: set[str]) -> Iterator[str]:
    """What is wrong with an entry."""
    if not entry.id.strip() or entry.id in seen:
        yield "the id is empty" if entry.id.strip() == "" else "the id is given twice"
    if not _NAME.fullmatch(entry.category):
        yield "the category must be small letters, digits and underscores"
    if not 0 < entry.weight <= 1:
        yield f"the weight {entry.weight} is not above 0 and at most 1"
    words = entry.allow_contexts if entry.kind == "regex" else (entry.pattern, *entry.allow_contexts)
    if not all(fold_word(word) for word in words):
        yield "a pattern or context has no letter or digit"
    if entry.kind == "regex" and (fault := _fault_of(entry.pattern)):
        yield fault


def _fault_of(pattern: str) -> str:
    try:
        compile_pattern(pattern)
    except (PatternSyntaxError, PatternLimitError) as error:
        return error.message
    return ""
