"""Byte-pair engines on tiktoken: OpenAI's vocabularies, others in its format, and the tokenizer of CLIP.

CLIP's is what the text encoders of Stable Diffusion and its relatives read prompts with. It cleans a text (broken encodings,
HTML entities, white space, case), splits it into words, and pairs bytes within each; the last byte of a word is a symbol of
its own. That end is written here as a NUL, which cleaned text never has, so that tiktoken's engine does the pairing: the end's
pairs have the lowest ranks and are made first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from innkeeper.lazy import install_line
from innkeeper.prompt.allowance import charge
from innkeeper.text.composed import composed, with_marks_in_order
from innkeeper.tokens.engines.engine import (
    Tokenization,
    TokenizerUnavailableError,
    chunks,
    count_by,
    paced,
    paced_texts,
    spans,
    threads_for,
)

if TYPE_CHECKING:
    from tiktoken import Encoding


@dataclass(frozen=True, slots=True)
class BytePair:
    """A tiktoken encoding. Text that spells a special token is ordinary text.

    ``nfc``: the vocabulary expects composed Unicode (Qwen).
    """

    name: str
    encoding: Encoding
    nfc: bool = False

    backend: str = "tiktoken"

    @classmethod
    def of(cls, name: str, pattern: str, ranks: Mapping[bytes, int], *, nfc: bool = False) -> BytePair:
        """An engine from a vocabulary's split pattern and its tokens' ranks. Raises what tiktoken raises."""
        import tiktoken

        return cls(name, tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=dict(ranks), special_tokens={}), nfc)

    def count(self, text: str) -> int:
        """Tokens of one text."""
        return sum([len(self.encoding.encode_ordinary(piece)) for piece in paced_texts(self._cut(text))])

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; a large batch is shared among threads, which tiktoken runs outside the interpreter lock."""
        return count_by(self._cut, self._measure, texts)

    def tokenize(self, text: str) -> Tokenization:
        """Ids, tokens and offsets (in the composed text where ``nfc``)."""
        ids = [token for piece in self._cut(text) for token in self.encoding.encode_ordinary(piece)]
        pieces = [self.encoding.decode_single_token_bytes(token) for token in ids]
        return Tokenization(
            backend=self.backend,
            count=len(ids),
            ids=tuple(ids),
            tokens=tuple(piece.decode("utf-8", "replace") for piece in pieces),
            offsets=spans(pieces),
        )

    def _cut(self, text: str) -> list[str]:
        return chunks(composed(text) if self.nfc else text)

    def _measure(self, pieces: list[str]) -> list[int]:
        threads = threads_for(pieces)
        if threads == 1:
            return self._lengths(paced_texts(pieces))
        # A task of many texts for each thread: one for each text, as tiktoken's own batches have, takes longer than the text.
        with ThreadPoolExecutor(threads) as pool:
            shares = [pieces[start::threads] for start in range(threads)]
            counts = [0] * len(pieces)
            for start, share in enumerate(pool.map(self._lengths, shares)):
                counts[start::threads] = share
        return counts

    def _lengths(self, pieces: Iterable[str]) -> list[int]:
        return [len(self.encoding.encode_ordinary(piece)) for piece in pieces]


MERGES: Final = 49_152 - 256 - 2
"""The number of lines of the merges file that CLIP uses, after the first."""

_END: Final = b"\x00"
_SUFFIX: Final = "</w>"
_MARKERS: Final = ("<|startoftext|>", "<|endoftext|>")
"""In the order of their numbers, which are the highest; a text that spells one contains it, as one token."""

_EMPTY_LINES: Final = re.compile(r"\n{2,}")
_STEPS_A_LINE: Final = 120
"""The steps charged for a merge line: they are repaired one by one."""

_WORDS: Final = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


@dataclass(frozen=True, slots=True)
class Clip:
    """CLIP's tokenizer. A marker that a text spells is one token, as for the original; those around a text are not counted."""

    name: str
    encoding: Encoding
    words: Any
    backend: str = "clip"

    @classmethod
    def of(cls, name: str, pattern: str, data: bytes, spelling: dict[str, int]) -> Clip:
        """An engine from the file of merges (unpacked) and the letters that spell bytes, in the order of their ranks.

        Raises `TokenizerUnavailableError` without ``ftfy``, which mends texts as CLIP's own tokenizer does.
        """
        import regex

        try:
            import ftfy  # noqa: F401 - asked for here, since counting falls back only where an engine cannot be made
        except ImportError as error:
            raise TokenizerUnavailableError(name, str(error), hint=install_line("ftfy")) from error
        lines = data.decode("utf-8").split("\n")[1 : MERGES + 1]
        pairs = BytePair.of(name, r"[^\x00]+\x00", _ranks(lines, spelling))
        return cls(name, pairs.encoding, regex.compile(pattern or _WORDS, regex.IGNORECASE))

    def count(self, text: str) -> int:
        """Tokens of one text, without the markers around it."""
        return sum(len(self.encoding.encode_ordinary(part)) for part in self._parts(text))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self.count(text) for text in texts]

    def tokenize(self, text: str) -> Tokenization:
        """Ids as CLIP numbers them, and tokens. There are no offsets, since the text was cleaned."""
        ids = [token for part in self._parts(text) for token in self.encoding.encode_ordinary(part)]
        pieces = [self.encoding.decode_single_token_bytes(token).replace(_END, b"") for token in ids]
        tokens = tuple(piece.decode("utf-8", "replace") for piece in pieces)
        return Tokenization(backend=self.backend, count=len(ids), ids=tuple(ids), tokens=tokens)

    def _parts(self, text: str) -> list[str]:
        """The words of a text, each with its end."""
        return ["".join(f"{word}\0" for word in self.words.findall(_cleaned(part))) for part in paced(chunks(text))]


def _ranks(lines: Iterable[str], spelling: dict[str, int]) -> dict[bytes, int]:
    """CLIP's own numbers: bytes, bytes that end a word, merges."""
    singles = [bytes((byte,)) for byte in spelling.values()]
    ranks = {token: rank for rank, token in enumerate([*singles, *(single + _END for single in singles)])}
    for line in lines:
        token = line.replace(" ", "", 1)
        body = token.removesuffix(_SUFFIX)
        ranks[bytes(spelling[letter] for letter in body) + (_END if body != token else b"")] = len(ranks)
    return ranks | {marker.encode() + _END: len(ranks) + index for index, marker in enumerate(_MARKERS)}


def _cleaned(text: str) -> str:
    """A text as CLIP cleans it; it holds no NUL."""
    import html

    import ftfy

    lines = _EMPTY_LINES.sub("\n", with_marks_in_order(text))
    charge("tokens", _STEPS_A_LINE * lines.count("\n"))
    plain = html.unescape(html.unescape(ftfy.fix_text(lines))).replace("\0", "")
    return " ".join(plain.split()).lower()
