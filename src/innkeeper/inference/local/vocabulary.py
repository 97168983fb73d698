"""Vocabulary: a local model's own counts from its file, for processes that have not loaded the model.

The file has the pairs of a byte-level vocabulary in the order of their ranks, and the name of the rule by which a text is split
before. Rules are those of llama.cpp that are known here; with any other, tokens are estimated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from innkeeper.inference.errors import ModelFileError
from innkeeper.inference.local.gguf import read_gguf_vocabulary
from innkeeper.inference.local.model import CHATML
from innkeeper.inference.local.shared import DEFAULT_MODEL, LOCAL
from innkeeper.inference.local.weights import find_model
from innkeeper.prompt import Ports, ReplayBundle
from innkeeper.prompt.errors import LimitError, UnavailableError, UsageError
from innkeeper.tokens.counter import Counter
from innkeeper.tokens.engines.bytepair import BytePair


@dataclass(frozen=True, slots=True)
class FileVocabulary(BytePair):
    """A byte-pair engine of a model's own vocabulary, which is exact."""

    error_percent: float = 0.0


_SPLITS: Final = MappingProxyType(
    {
        "smollm": r"\p{N}|'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?=\p{N})|\s+(?!\S)|\s+",
        "gpt-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    }
)
"""How a text is split into words, by the file's ``tokenizer.ggml.pre``."""

_PLAIN: Final = (*range(33, 127), *range(161, 173), *range(174, 256))
"""Bytes that byte-level vocabularies write as the character of the same number; all others follow from 256 on."""


def local_counter(name: str | None = None) -> Counter | None:
    """Return what counts as an installed local model does, framing included; None where its file cannot say it."""
    try:
        file = find_model(DEFAULT_MODEL if name in (None, LOCAL) else name, check=False)
        return _counter(str(file.path), file.path.stat().st_mtime_ns, f"{LOCAL}:{file.name}")
    except (OSError, UnavailableError, UsageError, ModelFileError, LimitError):
        return None


def counting_ports(adapter: str, model: str | None, ports: Ports) -> Ports:
    """Return ports that count as the model on this machine does, where that is who answers; else ``ports`` as they are."""
    return replace(ports, token_counter=local_counter(model)) if adapter == LOCAL else ports


def replay_ports(bundle: ReplayBundle) -> Ports:
    """Return the ports with the counter that a bundle names, where its model is installed."""
    adapter, _, model = bundle.counter.partition(":")
    return counting_ports(adapter, model, Ports())


@lru_cache(maxsize=4)
def _counter(path: str, _changed: int, source: str) -> Counter | None:
    vocabulary = read_gguf_vocabulary(path)
    split = _SPLITS.get(vocabulary.split) if vocabulary.model == "gpt2" else None
    if split is None:
        return None
    engine = FileVocabulary.of(f"gguf:{Path(path).stem}", split, _ranks(vocabulary.pairs))
    return Counter(lambda _hint: engine, default="heuristic:generic", framing=CHATML, source=source)


def _ranks(pairs: Iterable[str]) -> dict[bytes, int]:
    """Return the rank of each token: that of its pair. The bytes come first."""
    others = [byte for byte in range(256) if byte not in _PLAIN]
    codes = {**{chr(byte): byte for byte in _PLAIN}, **{chr(256 + at): byte for at, byte in enumerate(others)}}
    ranks = {bytes([byte]): byte for byte in range(256)}
    for at, pair in enumerate(pairs, 256):
        ranks.setdefault(bytes([codes[code] for code in pair.replace(" ", "")]), at)
    return ranks
