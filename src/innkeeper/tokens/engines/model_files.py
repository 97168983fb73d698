"""Tokenizers from model files: Hugging Face's ``tokenizer.json`` and SentencePiece models. Nothing is downloaded.

A user's ``tokenizer.json`` is read by the library `tokenizers` (the extra ``vocab``) and kept in a bounded store; SentencePiece
models (the extra ``vocab-mistral``) are what Mistral's older models and Llama 2 use.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from innkeeper.lazy import install_line
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.errors import FormatError, LimitError, Where
from innkeeper.tokens.engines.engine import (
    Tokenization,
    TokenizerUnavailableError,
    chunks,
    count_by,
    paced,
    paced_texts,
    threads_for,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer


MAX_TOKENIZER_FILE_BYTES: Final = 64 * 1024 * 1024
"""The largest tokenizer file that is read, in bytes (`LimitError`)."""


@dataclass(frozen=True, slots=True)
class FileTokenizer:
    """A `tokenizers.Tokenizer`. It adds no special tokens, and text that spells one is ordinary text."""

    name: str
    tokenizer: "Tokenizer"

    backend: str = "hf_tokenizers"

    def count(self, text: str) -> int:
        """Tokens of one text."""
        return sum(self._measure(chunks(text)))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; a large batch is shared among threads outside the interpreter lock."""
        return count_by(chunks, self._measure, texts)

    def tokenize(self, text: str) -> Tokenization:
        """Ids, tokens as the vocabulary writes them, and offsets."""
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        return Tokenization(
            backend=self.backend,
            count=len(encoding.ids),
            ids=tuple(encoding.ids),
            tokens=tuple(encoding.tokens),
            offsets=tuple((int(start), int(end)) for start, end in encoding.offsets),
        )

    def _measure(self, pieces: list[str]) -> list[int]:
        if threads_for(pieces) == 1:
            return [len(self.tokenizer.encode(piece, add_special_tokens=False).ids) for piece in paced_texts(pieces)]
        return [len(encoding.ids) for encoding in self.tokenizer.encode_batch_fast(pieces, add_special_tokens=False)]


def tokenizer_of(name: str, data: bytes, *, path: str) -> FileTokenizer:
    """An engine from the content of a ``tokenizer.json``.

    Raises:
        TokenizerUnavailableError: the library `tokenizers` is not installed.
        FormatError: the content is not a tokenizer.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        hint = install_line("'innkeeper[vocab]'")
        raise TokenizerUnavailableError(name, "the library tokenizers is not installed", hint=hint) from error
    try:
        tokenizer = Tokenizer.from_str(data.decode("utf-8"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
    except BaseException as error:  # a panic of the library is not an Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        raise FormatError(f"not a tokenizer file: {str(error)[:200]}", where=Where(asset=path)) from error
    return FileTokenizer(name, tokenizer)


class FileTokenizers:
    """The tokenizers of files, cached by path, size and modification time, least recently used ones dropped.

    Args:
        limit: how many stay loaded.
    """

    def __init__(self, limit: int = 16) -> None:
        self._loaded: BoundedCache[str, FileTokenizer] = BoundedCache(
            items=limit, size=limit * MAX_TOKENIZER_FILE_BYTES
        )

    def get(self, path: str | os.PathLike[str]) -> FileTokenizer:
        """The tokenizer of a file, loaded when it is new or has changed.

        Raises:
            TokenizerUnavailableError: there is no such file, or it may not be read, or the library is missing.
            LimitError: it is larger than `MAX_TOKENIZER_FILE_BYTES`.
            FormatError: it is not a tokenizer.
        """
        name = self.name(path)
        known = self._loaded.get(name)
        if known is not None:
            return known
        data = _read(Path(path))
        return self._loaded.put(name, tokenizer_of(name, data, path=str(path)), len(data))

    @staticmethod
    def name(path: str | os.PathLike[str]) -> str:
        """Return the engine's name: the path with the version of the file. Raises `TokenizerUnavailableError`."""
        try:
            facts = os.stat(path)  # noqa: PTH116 - on the hot path
        except (OSError, ValueError) as error:
            raise _missing(path, error) from error
        return f"hf:{os.fspath(path)}@{facts.st_mtime_ns}:{facts.st_size}"

    def __len__(self) -> int:
        return len(self._loaded)


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        check_size(size, str(path))
        with path.open("rb") as file:
            data = file.read(MAX_TOKENIZER_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _missing(path, error) from error
    check_size(len(data), str(path))
    return data


def check_size(size: int, path: str) -> None:
    """Raise `LimitError` for a tokenizer file of more than `MAX_TOKENIZER_FILE_BYTES`."""
    if size > MAX_TOKENIZER_FILE_BYTES:
        allowed = MAX_TOKENIZER_FILE_BYTES
        raise LimitError(
            "tokenizer file", limit="MAX_TOKENIZER_FILE_BYTES", allowed=allowed, found=size, where=Where(path)
        )


def _missing(path: str | os.PathLike[str], error: Exception) -> TokenizerUnavailableError:
    reason = getattr(error, "strerror", None) or str(error)
    return TokenizerUnavailableError(
        str(path), f"cannot read the file ({reason})", where=Where(asset=str(path)), hint="check tokenizer_path"
    )


_FILES: Final = FileTokenizers()


def file_tokenizer(path: str | os.PathLike[str]) -> FileTokenizer:
    """The tokenizer of a file from the process's bounded store; see `FileTokenizers.get`."""
    return _FILES.get(path)


_BEFORE: Final = 2


@dataclass(frozen=True, slots=True)
class SentencePieces:
    """A SentencePiece model; no beginning-of-text token is counted.

    A long text is counted in pieces, each but the first behind a line break: the space that the model puts before a text, and
    the line break, are a token each.
    """

    name: str
    processor: Any

    backend: str = "sentencepiece"

    def count(self, text: str) -> int:
        """Tokens of one text."""
        first, *others = chunks(text)
        behind = sum(len(self.processor.encode(f"\n{piece}")) - _BEFORE for piece in paced(others))
        return len(self.processor.encode(first)) + behind

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        threads = threads_for(texts)
        if threads == 1:
            return [self.count(text) for text in texts]
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
        FormatError: the bytes are not a model.
    """
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError as error:
        hint = install_line("'innkeeper[vocab-mistral]'")
        raise TokenizerUnavailableError(name, "the library sentencepiece is not installed", hint=hint) from error
    try:
        return SentencePieces(name, SentencePieceProcessor(model_proto=data))
    except (RuntimeError, ValueError) as error:
        raise FormatError("not a SentencePiece model", where=Where(asset=path)) from error
