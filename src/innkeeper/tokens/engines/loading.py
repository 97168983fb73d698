"""Reading vocabularies from the packages that carry them: one function per format, and one bounded cache."""

import hashlib
import io
import threading
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from innkeeper.lazy import install_line
from innkeeper.prompt.errors import FormatError, InnkeeperError, Where
from innkeeper.prompt.typed.once import decode
from innkeeper.tokens.engines.bytepair import BytePair, Clip
from innkeeper.tokens.engines.engine import Engine, Foreign, TokenizerUnavailableError
from innkeeper.tokens.engines.model_files import MAX_TOKENIZER_FILE_BYTES, check_size, sentence_pieces, tokenizer_of
from innkeeper.tokens.table.vocabulary import Carrier, Vocabulary

_LOADED: Final = 32
_lock = threading.Lock()  # two threads that want the same vocabulary load it once


def engine_of(vocabulary: Vocabulary) -> Engine:
    """The engine of a vocabulary, loaded once per process.

    Raises:
        TokenizerUnavailableError: no package that carries it is installed.
        FormatError: the file cannot be read, or is not the known one.
    """
    with _lock:
        return _load(vocabulary)


def available(vocabulary: Vocabulary) -> bool:
    """Whether a package that carries the vocabulary is installed; loads nothing."""
    return any(_carrier_path(carrier) is not None for carrier in vocabulary.carriers)


def forget() -> None:
    """Clear the cache, for callers that use each vocabulary once."""
    _load.cache_clear()


@lru_cache(maxsize=_LOADED)
def _load(vocabulary: Vocabulary) -> Engine:
    for carrier in vocabulary.carriers:
        path = _carrier_path(carrier)
        if path is not None:
            return _read(vocabulary, carrier, path)
    packages = " or ".join(dict.fromkeys(carrier.package for carrier in vocabulary.carriers))
    hint = install_line(vocabulary.install or packages)
    raise TokenizerUnavailableError(vocabulary.name, f"no package carries it here ({packages})", hint=hint)


def _carrier_path(carrier: Carrier) -> Path | None:
    """Return the path of the carrier's file, without importing its package."""
    try:
        spec = find_spec(carrier.package)
    except (ImportError, ValueError):
        return None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder, carrier.path)
        if path.exists():
            return path
    return None


def _read(vocabulary: Vocabulary, carrier: Carrier, path: Path) -> Engine:
    form, _, option = carrier.form.partition(":")
    if form in _LIBRARIES:
        return _LIBRARIES[form](vocabulary, option)
    data = _content(carrier, path)
    digest = hashlib.sha256(data).hexdigest()
    if digest != carrier.sha256:
        raise FormatError(
            f"unexpected vocabulary (sha256 {digest[:12]}…, expected {carrier.sha256[:12]}…)",
            where=Where(asset=str(path)),
            hint="reinstall the package that brings this file in a version that Innkeeper knows",
            expected=carrier.sha256,
            found=digest,
        )
    try:
        return _FORMS[form](vocabulary, data, str(path))
    except InnkeeperError:
        raise
    except Exception as error:
        raise FormatError(f"unreadable vocabulary: {error}", where=Where(asset=str(path))) from error


def _content(carrier: Carrier, path: Path) -> bytes:
    """The file's bytes, unpacked, within `MAX_TOKENIZER_FILE_BYTES`."""
    import gzip
    import zipfile

    try:
        with path.open("rb") as file:
            data = file.read(MAX_TOKENIZER_FILE_BYTES + 1)
        if carrier.member:
            with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(carrier.member) as member:
                data = member.read(MAX_TOKENIZER_FILE_BYTES + 1)
        elif carrier.form.endswith(".gz"):
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
                data = packed.read(MAX_TOKENIZER_FILE_BYTES + 1)
    except (OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise FormatError(f"cannot read the file: {error}", where=Where(asset=str(path))) from error
    check_size(len(data), str(path))
    return data


# ---------------------------------------------------------------------------------------------------------- files


def _ranks(vocabulary: Vocabulary, data: bytes, _path: str) -> Engine:
    """Tiktoken's own format: a token in base64 and its rank, a line each."""
    lines = (line.split() for line in data.splitlines() if line)
    ranks = {a2b_base64(token): int(rank) for token, rank in lines}
    return BytePair.of(vocabulary.name, vocabulary.pattern, ranks, nfc=vocabulary.nfc)


def _merges(vocabulary: Vocabulary, data: bytes, _path: str) -> Engine:
    """GPT-2's ``vocab.bpe``: pairs of tokens, a line each, in the order of their ranks, after the 256 bytes."""
    spelling = _byte_letters()
    ranks = {bytes((byte,)): rank for rank, byte in enumerate(spelling.values())}
    for line in data.decode("utf-8").split("\n")[1:]:
        if line:
            ranks[bytes(spelling[letter] for letter in line.replace(" ", "", 1))] = len(ranks)
    return BytePair.of(vocabulary.name, vocabulary.pattern, ranks, nfc=vocabulary.nfc)


def _clip(vocabulary: Vocabulary, data: bytes, _path: str) -> Engine:
    """CLIP's merges: as GPT-2's, with the ends of words marked."""
    return Clip.of(vocabulary.name, vocabulary.pattern, data, _byte_letters())


def _byte_letters() -> dict[str, int]:
    """GPT-2's letters for bytes: printable ones as themselves, the rest from U+0100 on; in rank order."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = sorted(set(range(256)).difference(shown))
    return {chr(byte): byte for byte in shown} | {chr(256 + index): byte for index, byte in enumerate(hidden)}


class _TekkenToken(msgspec.Struct):
    token_bytes: str


class _TekkenConfig(msgspec.Struct):
    pattern: str
    default_vocab_size: int
    default_num_special_tokens: int


class _Tekken(msgspec.Struct):
    config: _TekkenConfig
    vocab: list[_TekkenToken]


def _tekken(vocabulary: Vocabulary, data: bytes, _path: str) -> Engine:
    """Mistral's ``tekken.json``: tokens in rank order, of which as many count as the model has."""
    file = decode(data, _Tekken)
    size = file.config.default_vocab_size - file.config.default_num_special_tokens
    ranks = {a2b_base64(token.token_bytes): rank for rank, token in enumerate(file.vocab[:size])}
    return BytePair.of(vocabulary.name, file.config.pattern, ranks, nfc=vocabulary.nfc)


def _tokenizer_json(vocabulary: Vocabulary, data: bytes, path: str) -> Engine:
    return tokenizer_of(vocabulary.name, data, path=path)


def _sentencepiece(vocabulary: Vocabulary, data: bytes, path: str) -> Engine:
    return sentence_pieces(vocabulary.name, data, path=path)


_FORMS: Final[Mapping[str, Callable[[Vocabulary, bytes, str], Engine]]] = MappingProxyType(
    {
        "clip.gz": _clip,
        "merges": _merges,
        "ranks": _ranks,
        "ranks.gz": _ranks,
        "sentencepiece": _sentencepiece,
        "tekken": _tekken,
        "tokenizer.json": _tokenizer_json,
    }
)

# ------------------------------------------------------------------------------------------------------ libraries


def _anthropic(vocabulary: Vocabulary, _option: str) -> Engine:
    """The vocabulary of Claude 2; the package's functions that are used here never touch the network."""
    try:
        from anthropic_tokenizer import count_tokens, encode
    except ImportError as error:
        raise TokenizerUnavailableError(vocabulary.name, str(error)) from error
    return Foreign(vocabulary.name, count_tokens, "anthropic_tokenizer", encode)


def _ctok(vocabulary: Vocabulary, version: str) -> Engine:
    """A reconstruction of the counts of Claude 3 and later from measurements, by Sander Land."""
    try:
        from ctok import token_count
    except ImportError as error:
        raise TokenizerUnavailableError(vocabulary.name, str(error)) from error
    frame = token_count("x", version) - 1  # the library counts the message around the text too

    def count(text: str) -> int:
        return max(0, token_count(text, version) - frame) if text else 0

    return Foreign(vocabulary.name, count, "ctok")


_LIBRARIES: Final[Mapping[str, Callable[[Vocabulary, str], Engine]]] = MappingProxyType(
    {"anthropic_tokenizer": _anthropic, "ctok": _ctok}
)
