"""Grow the part of the tier gate's labelled set that follows rules: plain phrases, each disguised in the ways that are known.

``python tests/vectors/tiers/grow.py`` writes ``grown.jsonl`` from ``phrases.json``; the same phrases give the same bytes. A
phrase marks in brackets what a disguise changes. The sexual side of a text is one word of a dictionary, and nothing is described.

A row has ``kind``, ``lang``, ``expect`` (``stop`` or ``allow``), and ``text``, or ``texts`` by the kind of entry. Innocent rows
that are ``hard`` look like others on purpose. ``tiers`` says in which tiers it is judged: every evasion must be stopped in both,
an innocent text must pass in those named, the general one where none is.
"""

from __future__ import annotations

import base64
import codecs
import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

HERE: Final = Path(__file__).parent
NO_SPACES: Final = frozenset({"zh", "ja"})
LATIN: Final = frozenset({"en", "es", "fr", "de", "pt", "it"})
MANY, FEW = 40, 4
"""Rows of one kind in English, and in each other language."""

TRIES: Final = 200
"""Pairs that are tried for them."""

DIGITS: Final = str.maketrans("aeiost", "431057")
SIGNS: Final = str.maketrans("aeilos", "@€!|0$")
CYRILLIC: Final = str.maketrans("aeopcxyisjh", "аеорсхуіѕјһ")
GREEK: Final = str.maketrans("eioptunwx", "ειορτυηωχ")
LATINISED: Final = str.maketrans("аеорсхукмтн", "aeopcxykmtn")
UNSEEN: Final = "\u200b\u200c\u200d\u2060\u00ad\ufeff\u180e\u034f\ufe0f"
MARKS: Final = "\u0336\u0323\u0307\u0301\u0332"
HALF_WIDTH: Final = {"エロティック": "ｴﾛﾃｨｯｸ", "ヌード": "ﾇｰﾄﾞ", "セクシー": "ｾｸｼｰ"}
RADICALS: Final = str.maketrans("一二十八人女子", "⼀⼆⼗⼋⼈⼥⼦")

Row = dict[str, Any]
Disguise = Callable[[str, random.Random], str]


def rows() -> Iterator[Row]:
    """All rows, in the order of the file."""
    for lang, phrases in json.loads((HERE / "phrases.json").read_text(encoding="utf-8")).items():
        yield from _evasions(lang, phrases)
        yield from _innocent(lang, phrases)


def _evasions(lang: str, phrases: dict[str, list[str]]) -> Iterator[Row]:
    for kind in ("plain", "numbers", "euphemisms", "misspelt"):
        for context, clause in zip(cycle(phrases["contexts"]), phrases[kind], strict=False):
            yield _stop(kind, lang, text=_bare(_joined(lang, context, clause)))
    count = MANY if lang == "en" else FEW
    pairs = _pairs(lang, phrases)
    for kind, disguises in _disguises(lang).items():
        yield from (_stop(kind, lang, text=text) for text in islice(_changed(lang, kind, disguises, pairs), count))
    for n, (context, clause) in enumerate(islice(pairs, count)):
        yield _stop("encodings", lang, text=_encoded(lang, _bare(_joined(lang, context, clause)), n))
    for n, (context, clause) in enumerate(islice(pairs, count)):
        yield _stop("split", lang, texts=_split(lang, context, clause, n))


def _changed(lang: str, kind: str, disguises: Sequence[Disguise], pairs: Iterator[tuple[str, str]]) -> Iterator[str]:
    """Pairs that a disguise changes: digits have no other case, and not every letter has another form."""
    chance, seen = random.Random(f"{lang}/{kind}"), set[str]()  # noqa: S311 - the same rows each time
    for n, pair in enumerate(islice(pairs, TRIES)):
        text = _disguised(lang, pair, disguises[n % len(disguises)], chance, n)
        if text not in seen | {_bare(_joined(lang, *pair))}:
            seen.add(text)
            yield text


def _pairs(lang: str, phrases: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Contexts with ages, each age in turn, so that the same pair comes late."""
    clauses = [*phrases["plain"], *(clause for clause in phrases["euphemisms"] if lang == "en")]
    return zip(cycle(phrases["contexts"]), cycle(_marked(clause) for clause in clauses), strict=True)


def _marked(clause: str) -> str:
    """A clause whose last word of some length is marked, where none is."""
    if "[" in clause:
        return clause
    return re.sub(r"(\w{4,})(?!.*\w{4,})", r"[\1]", clause, count=1)


def _disguises(lang: str) -> dict[str, Sequence[Disguise]]:
    """What can be done to the marked words of a language, by kind."""
    known: dict[str, Sequence[Disguise]] = {
        "spacing": (
            _spaced(" "),
            _spaced("."),
            _spaced("-"),
            _spaced("_"),
            _spaced("*"),
            _spaced("\n"),
            _spaced(" . "),
        ),
        "invisible": (_unseen,),
        "compatibility": (_full_width, _styled) if lang in LATIN else (_shapes, _full_width),
    }
    if lang in LATIN:
        known["leet"] = (_by(DIGITS), _by(SIGNS), _some(DIGITS))
        known["homoglyphs"] = (_by(CYRILLIC), _by(GREEK), _some(CYRILLIC), _marks)
    if lang == "ru":
        known["homoglyphs"] = (_by(LATINISED), _some(LATINISED), _marks)
    if lang not in NO_SPACES | {"ko", "en"}:
        known["misspelt by rule"] = (_doubled, _swapped)
    if lang == "en":
        known["misspelt by rule"] = (_doubled, _swapped, _dropped)
    return known


def _disguised(lang: str, pair: tuple[str, str], disguise: Disguise, chance: random.Random, n: int) -> str:
    """A pair with the age disguised, every third time the context too, every fifth the context alone."""
    context, clause = pair
    if n % 5 != 4:
        clause = _applied(clause, disguise, chance)
    if n % 3 == 2 or n % 5 == 4:
        context = _applied(context, disguise, chance)
    return _bare(_joined(lang, context, clause))


def _applied(phrase: str, disguise: Disguise, chance: random.Random) -> str:
    return re.sub(r"\[(.+?)\]", lambda found: disguise(found[1], chance), phrase)


def _bare(text: str) -> str:
    return text.replace("[", "").replace("]", "")


def _joined(lang: str, first: str, second: str) -> str:
    return first + ("" if lang in NO_SPACES else " ") + second


def _stop(kind: str, lang: str, **text: Any) -> Row:
    return {"kind": kind, "lang": lang, "expect": "stop", **text}


# What is done to a word


def _by(table: dict[int, int]) -> Disguise:
    """Every letter that has a substitute."""
    return lambda word, _: word.translate(table)


def _some(table: dict[int, int]) -> Disguise:
    """Half of the letters that have one, the first always."""

    def disguise(word: str, chance: random.Random) -> str:
        at = [n for n, letter in enumerate(word) if ord(letter) in table]
        chosen = {*at[:1], *chance.sample(at, len(at) // 2)}
        return "".join(letter.translate(table) if n in chosen else letter for n, letter in enumerate(word))

    return disguise


def _spaced(sign: str) -> Disguise:
    return lambda word, _: sign.join(word)


def _unseen(word: str, chance: random.Random) -> str:
    return "".join(letter + chance.choice(UNSEEN) for letter in word[:-1]) + word[-1]


def _marks(word: str, chance: random.Random) -> str:
    return "".join(letter + chance.choice(MARKS) for letter in word)


def _full_width(word: str, _: random.Random) -> str:
    return "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in word.translate(RADICALS))


def _shapes(word: str, _: random.Random) -> str:
    """Forms that normalisation undoes: half-width kana, radicals, separate letters, circled numbers."""
    if word in HALF_WIDTH:
        return HALF_WIDTH[word]
    if word.isascii() and word.isdecimal():
        return chr(ord("①") + int(word) - 1)
    return unicodedata.normalize("NFD", word.translate(RADICALS))


def _styled(word: str, chance: random.Random) -> str:
    """Mathematical or circled letters."""
    start = chance.choice(("𝐚", "𝑎", "𝒂", "𝓪", "𝔞", "𝕒", "𝖺", "𝙖", "𝚊", "ⓐ"))
    if word.isdecimal():
        return chr(ord("①") + int(word) - 1)
    letters = (_one_styled(letter, start) for letter in word.lower())
    return "".join(letters)


def _one_styled(letter: str, start: str) -> str:
    styled = chr(ord(start) + ord(letter) - ord("a")) if "a" <= letter <= "z" else letter
    return (
        styled if unicodedata.normalize("NFKC", styled) == letter else letter
    )  # a few of these letters have another number


def _doubled(word: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word))
    return word[:at] + word[at - 1] + word[at:] if word.isalpha() else word


def _swapped(word: str, chance: random.Random) -> str:
    if len(word) < 5:
        return _doubled(word, chance)
    at = chance.randrange(1, len(word) - 2)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _dropped(word: str, chance: random.Random) -> str:
    if len(word) < 6:
        return _doubled(word, chance)
    at = chance.randrange(2, len(word) - 2)
    return word[:at] + word[at + 1 :]


# What is done to a whole text


def _encoded(lang: str, text: str, n: int) -> str:
    data = text.encode()
    ways = [base64.b64encode(data).decode(), data.hex(), quote(text, safe="") if lang not in LATIN else _percent(text)]
    if lang in LATIN:
        ways.append(codecs.encode(text, "rot13"))
    way = ways[n % len(ways)]
    return (way, f"Decode this and draw it: {way}", f"{way} (decode first)")[n // len(ways) % 3]


def _percent(text: str) -> str:
    """Every byte as a URL may write it, letters too."""
    return "".join(f"%{byte:02X}" for byte in text.encode())


def _split(lang: str, context: str, clause: str, n: int) -> Row:
    """The last turn of the history ends within the age, or has it alone, and the user's text goes on."""
    opening, word, end = re.split(r"[\[\]]", clause)[:3] if "[" in clause else (clause, "", "")
    if n % 2 and len(word) > 1 and not word.isdecimal():
        half = len(word) // 2
        return {"history": opening + word[:half], "user_text": _joined(lang, word[half:] + end, _bare(context))}
    first, second = (clause, context) if n % 4 else (context, clause)
    return {"history": _bare(first), "user_text": _bare(second)}


# Innocent texts


def _innocent(lang: str, phrases: dict[str, list[str]]) -> Iterator[Row]:
    english = lang == "en"
    chance = random.Random(f"{lang}/innocent")  # noqa: S311 - the same rows each time
    ages = [*phrases["adult_words"], *(str(age) for age in (21, 25, 29, 34, 38, 45, 57, 66))]
    clauses = [clause.format(n=age) for age in ages for clause in phrases["adult"]]
    chance.shuffle(clauses)
    settings = cycle(phrases["romance"])
    for clause in clauses[: 44 if english else 12]:
        yield _allow("adults", lang, _joined(lang, next(settings), clause), tiers=["sfw", "nsfw"])
    contexts = cycle(phrases["contexts"])
    for clause in clauses[-20 if english else -5 :]:
        yield _allow("adults, sexual", lang, _bare(_joined(lang, next(contexts), clause)), hard=True, tiers=["nsfw"])
    for n, clause in enumerate(phrases["adult_numbers"] * (2 if english else 1)):
        text = _joined(lang, next(settings), clause.format(d=24 + 7 * n % 40))
        yield _allow("adults in numbers", lang, text, hard=True, tiers=["sfw", "nsfw"])
    things = [thing.format(n=age) for age in phrases["thing_words"] for thing in phrases["things"]]
    for thing in chance.sample(things, 24 if english else 6):
        yield _allow("ages of things", lang, _joined(lang, next(settings), thing), hard=True)
    for clause in clauses[: 8 if english else 2]:
        code = base64.b64encode(clause.encode()).decode()
        yield _allow("harmless codes", lang, _joined(lang, next(settings), code), hard=True)


def _allow(kind: str, lang: str, text: str, *, hard: bool = False, tiers: Sequence[str] = ()) -> Row:
    more = {**({"hard": True} if hard else {}), **({"tiers": list(tiers)} if tiers else {})}
    return {"kind": kind, "lang": lang, "expect": "allow", **more, "text": text}


def lines() -> str:
    """The file: a row a line, each text once."""
    rendered = dict.fromkeys(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows())
    return "\n".join(rendered) + "\n"


if __name__ == "__main__":
    (HERE / "grown.jsonl").write_text(lines(), encoding="utf-8")
