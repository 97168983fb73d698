"""Figures: the pictures that go with a scene's prompt, numbered as they are sent, and texts whose numbers are those.

A picture that is there twice is sent once. Whoever writes a scene may speak of figures by the document's numbers (1 the place,
2 the character, 3 the user's persona); in the prompt these become the numbers of the pictures that are really sent, and words
where a picture is not. So no text speaks of a figure that there is not (dynamic-prompting reference 3.7, 9 item 22, 12 check 13).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import msgspec


class FigureRole(StrEnum):
    """What a picture shows. In the order in which they are sent, and by which the document numbers them from 1."""

    ENVIRONMENT = "environment"
    CHARACTER = "character"
    USER = "user"


_ORDER: Final = tuple(FigureRole)
_WORDS: Final = {
    FigureRole.ENVIRONMENT: "the place",
    FigureRole.CHARACTER: "the character",
    FigureRole.USER: "the user's character",
}


class FigureCandidate(msgspec.Struct, frozen=True):
    """A picture that could be sent. ``picture`` is its address; ``name`` is whom it shows."""

    role: FigureRole
    picture: str
    name: str = ""


class Figure(msgspec.Struct, frozen=True):
    """A picture that is sent, with its number; ``roles`` are all that it stands for."""

    number: int
    roles: tuple[FigureRole, ...]
    picture: str
    names: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready. The picture is named by where it is stored, without what an address was signed with."""
        facts = {name: list(getattr(self, name)) for name in ("roles", "names")}
        return {"number": self.number, **facts, "key": storage_key(self.picture)}


class Rewrite(msgspec.Struct, frozen=True):
    """A mark of a figure that was put right: from where to where it stood, what it was and is, and why."""

    start: int
    end: int
    before: str
    after: str
    reason: Literal["renumbered", "not_sent"]


class DroppedFigure(msgspec.Struct, frozen=True):
    """A picture that is not sent, and why."""

    candidate: FigureCandidate
    reason: Literal["duplicate", "model_limit"]


class FigurePlan(msgspec.Struct, frozen=True):
    """The pictures as they are sent, and those that are not."""

    figures: tuple[Figure, ...] = ()
    dropped: tuple[DroppedFigure, ...] = ()

    @property
    def pictures(self) -> tuple[str, ...]:
        """Their addresses, the first of them number 1."""
        return tuple(figure.picture for figure in self.figures)

    def number(self, role: FigureRole) -> int | None:
        """The number of the picture that stands for a role."""
        return next((figure.number for figure in self.figures if role in figure.roles), None)

    def renumbered(self, text: str) -> tuple[str, tuple[Rewrite, ...]]:
        """A text with the document's numbers, with those of the pictures that are sent; and what was changed."""
        rewrites = tuple(self._rewrites(text))
        for one in reversed(rewrites):
            text = text[: one.start] + one.after + text[one.end :]
        return text, rewrites

    def _rewrites(self, text: str) -> Iterator[Rewrite]:
        for mark in _MARK.finditer(text):
            numbers = _numbers(mark)
            words = [self._words(number) for number in numbers]
            after = " and ".join(dict.fromkeys(words))
            if after != mark[0]:
                gone = not all(word.startswith(_OURS) for word in words)
                yield Rewrite(mark.start(), mark.end(), mark[0], after, "not_sent" if gone else "renumbered")

    def _words(self, said: int) -> str:
        """What is written for a number of the document's."""
        role = _ORDER[said - 1] if 1 <= said <= len(_ORDER) else None
        number = None if role is None else self.number(role)
        return f"{_OURS}{number}" if number is not None else _WORDS[role] if role else "the picture"


_OURS: Final = "Figure "
_DIGITS: Final = 9
_SPACE: Final = r"[\s#_:\-\u00ad\u200b-\u200f\u2060\ufeff]{0,4}"
_MARK: Final = re.compile(
    rf"(?<![^\W_])(?:figures{_SPACE}(?P<several>\d+(?:{_SPACE}(?:,|and|&|or|to){_SPACE}\d+)*)|fig(?:ure|\.)?{_SPACE}(?P<one>\d+))",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"\d+")


def _numbers(mark: re.Match[str]) -> tuple[int, ...]:
    listed = mark["several"] or mark["one"]
    return tuple(int(number[-_DIGITS:]) for number in _NUMBER.findall(listed))


def numbers_in(text: str) -> tuple[int, ...]:
    """The numbers of all figures that a text speaks of, as they stand there."""
    return tuple(number for mark in _MARK.finditer(text) for number in _numbers(mark))


def plan_figures(candidates: Iterable[FigureCandidate], most: int) -> FigurePlan:
    """The pictures that are sent: each once, in the order of their roles, ``most`` of them at most."""
    figures: list[Figure] = []
    dropped: list[DroppedFigure] = []
    known: dict[str, int] = {}
    for one in sorted(candidates, key=lambda one: _ORDER.index(one.role)):
        key = storage_key(one.picture)
        names = (one.name,) if one.name else ()
        if key in known:
            at = known[key]
            same = figures[at]
            figures[at] = msgspec.structs.replace(same, roles=(*same.roles, one.role), names=(*same.names, *names))
            dropped.append(DroppedFigure(one, "duplicate"))
        elif len(figures) >= most:
            dropped.append(DroppedFigure(one, "model_limit"))
        else:
            known[key] = len(figures)
            figures.append(Figure(len(figures) + 1, (one.role,), one.picture, names))
    return FigurePlan(tuple(figures), tuple(dropped))


_SIGNING: Final = re.compile(
    r"(?:x-(?:amz|goog)-.*|token|sig|signature|expires?|exp|policy|key-pair-id|awsaccesskeyid|googleaccessid|s[evprt]|sk[a-z]{2,3})",
    re.IGNORECASE,
)


def storage_key(picture: str) -> str:
    """What names a picture where it is stored: of an address all but its signature, of a data address a hash of it."""
    if picture.startswith("data:"):
        return f"data:{hashlib.sha256(picture.encode('utf-8', 'surrogatepass')).hexdigest()}"
    if not picture.startswith(("https://", "http://")):
        return picture
    try:
        parts = urlsplit(picture)
    except ValueError:
        return picture
    match = sorted((name, value) for name, value in parse_qsl(parts.query) if not _SIGNING.fullmatch(name))
    query = f"?{urlencode(match)}" if match else ""
    return f"{parts.netloc.lower()}{unquote(parts.path)}{query}"
