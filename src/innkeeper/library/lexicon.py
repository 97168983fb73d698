"""Lexicon: the versioned list of what a detector looks for. It is a resource of its own, reviewed as one (S10).

The packaged list is small and neutral: words and settings of childhood, and plain words for sexual and romantic content.
Operators add lists of their own; what the packaged one finds stays found, whatever they add.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Final, Literal

import msgspec

from innkeeper.library.errors import LexiconError
from innkeeper.library.limits import MAX_LEXICON_BYTES
from innkeeper.prompt.errors import LimitError, Where

__all__ = ["Lexicon", "LexiconEntry", "builtin_lexicon", "load_lexicon"]


class LexiconEntry(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What to look for, and what finding it means.

    ``word`` and ``phrase`` stand between borders of words, in any of the ways folding sees through; ``regex`` is a regular
    expression of Python's on the folded plain text. ``allow_contexts`` are phrases around a find in which it means
    something else: the find they cover does not count, and no other find is touched.
    """

    id: str
    pattern: str
    category: str
    weight: float
    kind: Literal["word", "phrase", "regex"] = "word"
    languages: tuple[str, ...] = ()
    allow_contexts: tuple[str, ...] = ()


class Lexicon(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A list of entries with the version that decisions name."""

    name: str
    version: str
    entries: tuple[LexiconEntry, ...] = ()
    description: str = ""

    @property
    def label(self) -> str:
        """Name and version, as decisions and audit events write it."""
        return f"{self.name}@{self.version}"

    def checked(self) -> Lexicon:
        """The list itself, where it can be used.

        Raises:
            LexiconError: an id twice or empty, a pattern or context without a letter or digit, a weight out of range, an
                expression that is none.
            LimitError: too many entries, or too long a pattern.
        """
        from innkeeper.library.lexicon_check import check

        check(self)
        return self


_BUILTIN: Final = "detection-general.json"


@lru_cache(maxsize=1)
def builtin_lexicon() -> Lexicon:
    """The packaged list."""
    file = files("innkeeper.library").joinpath("builtins", _BUILTIN)
    return load_lexicon(file.read_bytes(), asset=_BUILTIN)


def load_lexicon(data: bytes | str, *, asset: str | None = None) -> Lexicon:
    """A list from its JSON.

    Raises:
        LexiconError: no such JSON, or as `Lexicon.checked` says.
        LimitError: too large.
    """
    if len(data) > MAX_LEXICON_BYTES:
        raise LimitError(
            "a detection list", limit="MAX_LEXICON_BYTES", allowed=MAX_LEXICON_BYTES, found=len(data), where=_at(asset)
        )
    try:
        return msgspec.json.decode(data, type=Lexicon).checked()
    except LexiconError as error:
        raise error.at(asset=asset) from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise LexiconError(f"not a detection list: {error}", where=_at(asset)) from error


def _at(asset: str | None) -> Where | None:
    return None if asset is None else Where(asset=asset)
