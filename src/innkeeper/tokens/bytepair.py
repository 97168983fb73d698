"""BytePair: byte-pair encoding by tiktoken, the exact engine of OpenAI's vocabularies and of others in its format."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from innkeeper.tokens.chunk import chunks
from innkeeper.tokens.engine import count_by, threads_for
from innkeeper.tokens.tokenization import Tokenization, spans

if TYPE_CHECKING:
    from tiktoken import Encoding

__all__ = ["BytePair"]


@dataclass(frozen=True, slots=True)
class BytePair:
    """A tiktoken encoding. Text that spells a special token is ordinary text.

    ``nfc``: the vocabulary expects composed Unicode (Qwen).
    """

    name: str
    encoding: "Encoding"
    nfc: bool = False

    backend: str = "tiktoken"

    @classmethod
    def of(cls, name: str, pattern: str, ranks: Mapping[bytes, int], *, nfc: bool = False) -> "BytePair":
        """An engine from a vocabulary's split pattern and its tokens' ranks. Raises what tiktoken raises."""
        import tiktoken

        return cls(name, tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=dict(ranks), special_tokens={}), nfc)

    def count(self, text: str) -> int:
        """Tokens of one text."""
        return sum(len(self.encoding.encode_ordinary(piece)) for piece in self._cut(text))

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
        return chunks(unicodedata.normalize("NFC", text) if self.nfc else text)

    def _measure(self, pieces: list[str]) -> list[int]:
        threads = threads_for(pieces)
        if threads == 1:
            return [len(self.encoding.encode_ordinary(piece)) for piece in pieces]
        return [len(ids) for ids in self.encoding.encode_ordinary_batch(pieces, num_threads=threads)]
