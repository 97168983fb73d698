"""Figures: the pictures that are sent with a scene's prompt, numbered in order, and texts that refer to them.

A picture that occurs twice is sent once. A scene may refer to figures by the document's numbers (1 the place, 2 the character,
3 the user's persona); in the prompt these become the numbers of the pictures that are really sent, or words for those that are
not. So no text refers to a figure that does not exist (dynamic-prompting reference 3.7, 9 item 22, 12 check 13).
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
    """What a picture shows, in sending order, which is also the document's numbering from 1."""

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
    """A picture that could be sent. ``picture`` is its address; ``name`` is the person it shows."""

    role: FigureRole
    picture: str
    name: str = ""


class Figure(msgspec.Struct, frozen=True):
    """A picture that is sent, with its number and all its roles."""

    number: int
    roles: tuple[FigureRole, ...]
    picture: str
    names: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data. The picture is named by its storage key, without the address's signature."""
        facts = {name: list(getattr(self, name)) for name in ("roles", "names")}
        return {"number": self.number, **facts, "key": storage_key(self.picture)}


class Rewrite(msgspec.Struct, frozen=True):
    """A figure reference that was rewritten: its range in the text, the text before and after, and why."""

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
    """The pictures to send, and those left out."""

    figures: tuple[Figure, ...] = ()
    dropped: tuple[DroppedFigure, ...] = ()

    @property
    def pictures(self) -> tuple[str, ...]:
        """The addresses in sending order, the first being number 1."""
        return tuple(figure.picture for figure in self.figures)

    def number(self, role: FigureRole) -> int | None:
        """Return the number of the picture for a role; None if there is none."""
        return next((figure.number for figure in self.figures if role in figure.roles), None)

    def renumbered(self, text: str) -> tuple[str, tuple[Rewrite, ...]]:
        """Replace the document's numbers in a text by those of the pictures that are sent; also return the rewrites."""
        rewrites = tuple(self._rewrites(text))
        for one in reversed(rewrites):
            text = text[: one.start] + one.after + text[one.end :]
        return text, rewrites

    def _rewrites(self, text: str) -> Iterator[Rewrite]:
        for mark in _MARK.finditer(text):
            roles = [_ORDER[number - 1] if 1 <= number <= len(_ORDER) else None for number in _numbers(mark)]
            numbers = [None if role is None else self.number(role) for role in roles]
            words = (
                f"Figure {number}" if number is not None else _WORDS[role] if role else "the picture"
                for role, number in zip(roles, numbers, strict=True)
            )
            after = " and ".join(dict.fromkeys(words))
            if after != mark[0]:
                yield Rewrite(mark.start(), mark.end(), mark[0], after, "not_sent" if None in numbers else "renumbered")


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
    """Return the numbers of all figures that a text mentions."""
    return tuple(number for mark in _MARK.finditer(text) for number in _numbers(mark))


def plan_figures(candidates: Iterable[FigureCandidate], most: int) -> FigurePlan:
    """Choose the pictures to send: each once, in the order of roles, at most ``most``."""
    figures: dict[str, Figure] = {}
    dropped: list[DroppedFigure] = []
    for candidate in sorted(candidates, key=lambda candidate: _ORDER.index(candidate.role)):
        key = storage_key(candidate.picture)
        names = (candidate.name,) if candidate.name else ()
        if key in figures:
            same = figures[key]
            roles = (*same.roles, candidate.role)
            figures[key] = msgspec.structs.replace(same, roles=roles, names=(*same.names, *names))
            dropped.append(DroppedFigure(candidate, "duplicate"))
        elif len(figures) >= most:
            dropped.append(DroppedFigure(candidate, "model_limit"))
        else:
            figures[key] = Figure(len(figures) + 1, (candidate.role,), candidate.picture, names)
    return FigurePlan(tuple(figures.values()), tuple(dropped))


_SIGNING: Final = re.compile(
    r"(?:x-(?:amz|goog)-.*|token|sig|signature|expires?|exp|policy|key-pair-id|awsaccesskeyid|googleaccessid|s[evprt]|sk[a-z]{2,3})",
    re.IGNORECASE,
)


def storage_key(picture: str) -> str:
    """Return the storage key of a picture: an address without its signature, or the hash of a data address."""
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
