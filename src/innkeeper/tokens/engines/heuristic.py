"""Estimates: engines that need no vocabulary. They are fast, never fail, and are always reported as estimates.

`features` counts in one pass what a text is made of: words, letters by script, digits, signs, line breaks. An estimate is a
weight for each. Every feature grows with the text, so does every estimate.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Final

from innkeeper.prompt.errors import UnknownNameError
from innkeeper.prompt.typed.once import once
from innkeeper.tokens.engines.engine import CHUNK_CHARS, Tokenization, paced
from innkeeper.tokens.table.calibration import PROFILES, HeuristicProfile


class _Counted:
    """The base of engines that only count."""

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
    profile: HeuristicProfile

    def count(self, text: str) -> int:
        """Tokens of one text, rounded."""
        return max(1, round(sum(map(mul, features(text), self.profile.weights)))) if text else 0


@dataclass(frozen=True, slots=True)
class CharsPerToken(_Counted):
    """``ceil(characters / chars_per_token)``: TavernKit's heuristic, for registries that ask for it."""

    chars_per_token: float = 4.0

    @property
    def name(self) -> str:
        """The engine's name in cache keys."""
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
        """The engine's name in cache keys."""
        return f"bytes/{self.bytes_per_token!r}"

    def count(self, text: str) -> int:
        """Tokens of one text, rounded up."""
        return math.ceil(len(text.encode("utf-8", "surrogatepass")) / self.bytes_per_token)


def estimator(profile: str) -> Estimate:
    """The estimate for a family of vocabularies. Raises `UnknownNameError`."""
    if profile not in PROFILES:
        raise UnknownNameError("profile", profile, PROFILES)
    return Estimate(f"heuristic:{profile}", PROFILES[profile])


_SCRIPTS: Final = {
    # name: ranges of characters whose runs are counted
    "han": "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
    "kana": "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "hangul": "\uac00-\ud7af\u1100-\u11ff\u3130-\u318f",
    "cyrillic": "\u0400-\u052f",
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "hebrew": "\u0590-\u05ff",
    "arabic": "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefe",
    "devanagari": "\u0900-\u097f",
    "indic": "\u0980-\u0dff",  # Bengali, Gurmukhi, Gujarati, Tamil, Telugu, Kannada, Malayalam, Sinhala
    "thai": "\u0e00-\u0e7f",
    "mekong": "\u0e80-\u109f\u1780-\u17ff",  # Lao, Tibetan, Burmese, Khmer
    "caucasian": "\u0530-\u058f\u10a0-\u10ff",  # Armenian, Georgian
    "wide": "\u3000-\u303f\uff00-\uff65",  # signs of the width of a Chinese character
    "dash": "\u2010-\u205e\u00a0-\u00bf\u00d7\u00f7",  # typographic signs
    "emoji": "\u2060-\u206f\u20d0-\u20ff\u2190-\u2bff\u200b-\u200f\ufe00-\ufe0f\U0001f000-\U0001faff\U000e0000-\U000e007f",
}

_LATIN: Final = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0300-\u036f\u1e00-\u1eff"


@once
def _run() -> re.Pattern[str]:
    """The pattern of all runs; made when it is first used, since that takes longer than the rest of the import."""
    return re.compile(
        rf" ?(?P<latin>[{_LATIN}]+)"
        r"| ?(?P<digits>[0-9]+)"
        r"| ?(?P<sign>[!-/:-@\[-`{-~]+)"
        r"|(?P<line>[^\S\n]*\n\s*)"
        r"|(?P<gap>[^\S\n]{2,}|[^\S\n ])|[ ]|"
        + "|".join(rf"(?P<{name}>[{ranges}]+)" for name, ranges in _SCRIPTS.items())
        +
        # what no script above has: rare letters, controls, private use
        rf"|(?P<rare>[^\s!-~{_LATIN}{''.join(_SCRIPTS.values())}]+)"
    )


_ENGLISH_WORDS: Final = (
    "the and of to you that it is was for with he she her his they this have not be are what your from my but at as on had would "
    "there their were all so if when who will no out up into them then could about can him its been did we"
)
_ENGLISH: Final = frozenset(_ENGLISH_WORDS.split())
"""Words that tell English, which tokenizers know best, from other languages in Latin letters."""

_VARIANTS: Final = {
    # a script: what its characters are counted as in the share of a text that these letters tell to be another language,
    # and how many of the script's characters there are to one of these
    "han": (
        "traditional",
        re.compile(
            "[們個來這說時會對學國過還後點開關見長間問現車讓給與從經進動應該為無書話語請謝愛樂歲歡聽買賣電腦網"
            "頭臉東西風飛馬鳥魚黃龍門閉遠邊誰麼樣種線練習覺視親認識讀寫課題類員場寶貴錯錢銀鐵陽陰隊難雙離響順須預頁願]"
        ),
        10,
    ),
    "cyrillic": ("not_russian", re.compile("[іїєґўІЇЄҐЎқғңүұһәөҚҒҢҮҰҺӘӨъЪјљњћџђЈЉЊЋЏЂ]"), 50),
    "arabic": ("persian", re.compile("[پچژگکیٹڈڑںھے]"), 12),
}

_LONG: Final = 5
"""Letters of a word above this many are counted apart."""

FEATURES: Final = (
    "english_word",
    "english_long",
    "foreign_word",
    "foreign_long",
    "accent",
    "capital",
    "digits_run",
    "digits",
    "sign_run",
    "sign",
    "line_run",
    "line",
    "gap_run",
    "gap",
    *(f"{name}_{part}" for name in _SCRIPTS for part in ("run", "char")),
    "rare_run",
    "rare_byte",
    *(variant for variant, _letters, _per in _VARIANTS.values()),
)
"""The features' names, in the order of `features` and of a heuristic's weights."""

_COLUMN: Final = {name: index for index, name in enumerate(FEATURES)}


def features(text: str) -> list[float]:
    """Count each of `FEATURES` in a text."""
    features = [0.0] * len(FEATURES)
    words = list(_count_runs(text, features))
    if words:
        _count_words(words, features)
    for script, (variant, letters, per) in _VARIANTS.items():
        index = _COLUMN[f"{script}_char"]
        if features[index]:
            share = min(1.0, per * len(letters.findall(text)) / features[index])
            features[_COLUMN[variant]], features[index] = share * features[index], (1 - share) * features[index]
    return features


_RUNS_AT_ONCE: Final = 20_000


def _count_runs(text: str, features: list[float]) -> Iterator[str]:
    """Count all runs but the Latin words, which are yielded."""
    runs = _run().finditer(text)
    for match in paced(runs, _RUNS_AT_ONCE) if len(text) > CHUNK_CHARS else runs:
        kind = match.lastgroup
        if kind == "latin":
            yield match[1]
        elif kind == "rare":
            features[_COLUMN["rare_run"]] += 1
            features[_COLUMN["rare_byte"]] += len(match[0].encode("utf-8", "surrogatepass"))
        elif kind is not None:
            index = _RUNS[kind]
            features[index] += 1
            features[index + 1] += match.end() - match.start(kind)


def _count_words(words: list[str], features: list[float]) -> None:
    known = sum(word.lower() in _ENGLISH for word in words if len(word) <= _LONG)
    english = min(1.0, (4 * known + 2) / (len(words) + 2))
    long = sum(max(0, len(word) - _LONG) for word in words)
    features[0], features[1] = english * len(words), english * long
    features[2], features[3] = (1 - english) * len(words), (1 - english) * long
    features[4] = sum(len(word.encode("utf-8", "surrogatepass")) - len(word) for word in words if not word.isascii())
    features[5] = sum(sum(map(str.isupper, word[1:])) for word in words if not word.islower())


_RUNS: Final = {
    "digits": _COLUMN["digits_run"],
    "sign": _COLUMN["sign_run"],
    "line": _COLUMN["line_run"],
    "gap": _COLUMN["gap_run"],
    **{name: _COLUMN[f"{name}_run"] for name in _SCRIPTS},
}
