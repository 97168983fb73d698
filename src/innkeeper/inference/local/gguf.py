"""GgufHead: what the head of a GGUF file says about its model, read without loading the model.

The layout is that of the GGUF specification (versions 2 and 3): magic, version, number of tensors, number of facts, facts.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final, TypeVar

import msgspec

from innkeeper.inference.errors import MAX_GGUF_FACTS, MAX_GGUF_TEXT_BYTES, ModelFileError
from innkeeper.prompt import FrozenDict, LimitError, Where

MAGIC: Final = b"GGUF"

_VERSIONS: Final = (2, 3)
_SCALARS: Final = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"
}  # fmt: skip
_TEXT: Final = 8
_ARRAY: Final = 9
_VOCABULARY: Final = "tokenizer."
_PAIRS: Final = "tokenizer.ggml.merges"
_FIELDS: Final = {"tokenizer.ggml.model": "model", "tokenizer.ggml.pre": "split", _PAIRS: "pairs"}

Result = TypeVar("Result")


class GgufHead(msgspec.Struct, frozen=True):
    """The version of the format, the number of tensors, and the facts by key, lists and vocabulary left out."""

    version: int
    tensors: int
    facts: FrozenDict = FrozenDict()

    @property
    def architecture(self) -> str:
        """The family of the model: ``llama``."""
        return str(self.facts.get("general.architecture", ""))

    @property
    def title(self) -> str:
        """The model's own name for itself."""
        return str(self.facts.get("general.name", ""))

    @property
    def licence(self) -> str:
        """The licence it says it has."""
        return str(self.facts.get("general.license", ""))

    @property
    def context_window(self) -> int | None:
        """How many tokens it was trained to see at once."""
        length = self.facts.get(f"{self.architecture}.context_length")
        return length if isinstance(length, int) and length > 0 else None


class GgufVocabulary(msgspec.Struct, frozen=True):
    """A model's vocabulary: its kind, the rule that splits texts, and its pairs in the order of their ranks."""

    model: str = ""
    split: str = ""
    pairs: tuple[str, ...] = ()


def read_gguf_head(path: str | Path) -> GgufHead:
    """The head of a GGUF file, as far as the vocabulary begins. Raises `ModelFileError` and `LimitError`."""
    return _read(path, _head)


def read_gguf_vocabulary(path: str | Path) -> GgufVocabulary:
    """The vocabulary in the head of a GGUF file. Raises `ModelFileError` and `LimitError`."""
    return _read(path, _vocabulary)


def _read(path: str | Path, read: Callable[[IO[bytes]], Result]) -> Result:
    try:
        with Path(path).open("rb") as file:
            return read(file)
    except (OSError, struct.error, UnicodeDecodeError, ModelFileError, LimitError) as error:
        raise _placed(error, str(path)) from error


def _placed(error: Exception, name: str) -> ModelFileError | LimitError:
    if isinstance(error, (ModelFileError, LimitError)):
        return error.at(asset=name)
    reason = error.strerror if isinstance(error, OSError) else "it ends too early or is damaged"
    return ModelFileError(f"not a usable GGUF file: {reason}", where=Where(asset=name))


def _head(file: IO[bytes]) -> GgufHead:
    version, tensors, count = _counts(file)
    return GgufHead(version, tensors, _facts(file, count))


def _vocabulary(file: IO[bytes]) -> GgufVocabulary:
    facts: dict[str, Any] = {}
    for _ in range(_counts(file)[2]):
        key, (kind,) = _text(file), _numbers(file, "<I")
        facts[key] = _texts(file) if key == _PAIRS else _value(file, kind)
        if _FIELDS.keys() <= facts.keys():
            break
    return GgufVocabulary(**{name: facts[key] for key, name in _FIELDS.items() if key in facts})


def _texts(file: IO[bytes]) -> tuple[str, ...]:
    kind, count = _list_of(file)
    if kind != _TEXT:
        raise ModelFileError("the pairs of its vocabulary are no texts")
    return tuple([_text(file) for _ in range(count)])


def _counts(file: IO[bytes]) -> tuple[int, int, int]:
    """Read the version, the number of tensors, and the number of facts."""
    if file.read(len(MAGIC)) != MAGIC:
        raise ModelFileError("not a GGUF file: it begins with other bytes")
    (version,) = _numbers(file, "<I")
    if version not in _VERSIONS:
        raise ModelFileError(f"GGUF of version {version}; versions {_VERSIONS[0]} and {_VERSIONS[1]} are read")
    tensors, count = _numbers(file, "<QQ")
    if count > MAX_GGUF_FACTS:
        raise LimitError("the head of the model", limit="MAX_GGUF_FACTS", allowed=MAX_GGUF_FACTS, found=count)
    return version, tensors, count


def _facts(file: IO[bytes], count: int) -> FrozenDict:
    facts: dict[str, Any] = {}
    for _ in range(count):
        key = _text(file)
        if key.startswith(_VOCABULARY):  # many megabytes that only the engine needs
            break
        value = _value(file, _numbers(file, "<I")[0])
        if value is not None:
            facts[key] = value
    return FrozenDict(facts)


def _value(file: IO[bytes], kind: int) -> Any:
    if kind == _TEXT:
        return _text(file)
    if kind == _ARRAY:
        item, count = _list_of(file)
        for _ in range(count):
            _value(file, item)
        return None
    if kind not in _SCALARS:
        raise ModelFileError(f"a fact of an unknown type ({kind})")
    return _numbers(file, _SCALARS[kind])[0]


def _list_of(file: IO[bytes]) -> tuple[int, int]:
    """Read the type of a list's items and their number."""
    kind, count = _numbers(file, "<IQ")
    if count > MAX_GGUF_FACTS:
        raise LimitError("a list in the model's head", limit="MAX_GGUF_FACTS", allowed=MAX_GGUF_FACTS, found=count)
    if kind == _ARRAY:
        raise ModelFileError("a list of lists, which GGUF does not have")
    return kind, count


def _text(file: IO[bytes]) -> str:
    (size,) = _numbers(file, "<Q")
    if size > MAX_GGUF_TEXT_BYTES:
        raise LimitError(
            "a text in the model's head", limit="MAX_GGUF_TEXT_BYTES", allowed=MAX_GGUF_TEXT_BYTES, found=size
        )
    raw = file.read(size)
    if len(raw) < size:
        raise ModelFileError("it ends in the middle of its head")
    return raw.decode()


def _numbers(file: IO[bytes], layout: str) -> tuple[Any, ...]:
    return struct.unpack(layout, file.read(struct.calcsize(layout)))
