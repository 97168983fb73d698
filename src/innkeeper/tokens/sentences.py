"""SentencePieces: SentencePiece models (the extra ``vocab-mistral``), as Mistral's older models and Llama 2 use."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from innkeeper.prompt.errors import Where
from innkeeper.tokens.engine import threads_for
from innkeeper.tokens.errors import TokenizerFileError, TokenizerUnavailableError
from innkeeper.tokens.tokenization import Tokenization

__all__ = ["SentencePieces", "sentence_pieces"]


@dataclass(frozen=True, slots=True)
class SentencePieces:
    """A SentencePiece model; no beginning-of-text token is counted."""

    name: str
    processor: Any

    backend: str = "sentencepiece"

    def count(self, text: str) -> int:
        """Tokens of one text."""
        return len(self.processor.encode(text))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        threads = threads_for(texts)
        if threads == 1:
            return [len(self.processor.encode(text)) for text in texts]
        return [len(ids) for ids in self.processor.encode(list(texts), num_threads=threads)]

    def tokenize(self, text: str) -> Tokenization:
        """Ids and pieces as the model writes them."""
        ids = self.processor.encode(text)
        pieces = tuple(self.processor.id_to_piece(list(ids)))
        return Tokenization(backend=self.backend, count=len(ids), ids=tuple(ids), tokens=pieces)


def sentence_pieces(name: str, data: bytes, *, path: str) -> SentencePieces:
    """An engine from the bytes of a model file.

    Raises:
        TokenizerUnavailableError: the library is not installed.
        TokenizerFileError: the bytes are no model.
    """
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError as error:
        hint = "pip install 'innkeeper[vocab-mistral]'"
        raise TokenizerUnavailableError(name, "the library sentencepiece is not installed", hint=hint) from error
    try:
        return SentencePieces(name, SentencePieceProcessor(model_proto=data))
    except (RuntimeError, ValueError) as error:
        raise TokenizerFileError("not a SentencePiece model", where=Where(asset=path)) from error
