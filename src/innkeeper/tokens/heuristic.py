"""Estimates: engines that need no vocabulary. They are fast, never fail, and are always reported as estimates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from innkeeper.prompt.errors import UnknownNameError
from innkeeper.tokens.calibration import PROFILES, Profile
from innkeeper.tokens.features import features
from innkeeper.tokens.tokenization import Tokenization

__all__ = ["CharsPerToken", "Estimate", "Utf8Bytes", "estimator"]


class _Counted:
    """What engines share that only count."""

    __slots__ = ()
    backend = "heuristic"

    def count(self, text: str) -> int:
        """Tokens of one text."""
        raise NotImplementedError

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self.count(text) for text in texts]

    def tokenize(self, text: str) -> Tokenization:
        """Only the count: an estimate has no tokens."""
        return Tokenization(backend=self.backend, count=self.count(text))


@dataclass(frozen=True, slots=True)
class Estimate(_Counted):
    """An estimate by scripts, calibrated to a family of vocabularies (`PROFILES`). At least 1 for any text but ``""``."""

    name: str
    profile: Profile

    def count(self, text: str) -> int:
        """Tokens of one text, rounded."""
        return max(1, round(sum(map(mul, features(text), self.profile.weights)))) if text else 0


@dataclass(frozen=True, slots=True)
class CharsPerToken(_Counted):
    """``ceil(characters / chars_per_token)``: TavernKit's heuristic, for registries that ask for it."""

    chars_per_token: float = 4.0

    @property
    def name(self) -> str:
        """What memos tell it by."""
        return f"chars/{self.chars_per_token!r}"

    def count(self, text: str) -> int:
        """Tokens of one text, rounded up."""
        return math.ceil(len(text) / self.chars_per_token)


@dataclass(frozen=True, slots=True)
class Utf8Bytes(_Counted):
    """``ceil(UTF-8 bytes / bytes_per_token)``; with 3.35 SillyTavern's count for the tokenizer ``none``."""

    bytes_per_token: float = 3.35

    @property
    def name(self) -> str:
        """What memos tell it by."""
        return f"bytes/{self.bytes_per_token!r}"

    def count(self, text: str) -> int:
        """Tokens of one text, rounded up."""
        return math.ceil(len(text.encode("utf-8", "surrogatepass")) / self.bytes_per_token)


def estimator(profile: str) -> Estimate:
    """The estimate for a family of vocabularies. Raises `UnknownNameError`."""
    if profile not in PROFILES:
        raise UnknownNameError("profile", profile, PROFILES)
    return Estimate(f"heuristic:{profile}", PROFILES[profile])
