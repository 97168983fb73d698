"""Decorators: the ``@@name arguments`` lines at the head of an entry, as RisuAI reads them.

A line ``@@@name`` stands in for the line before it where that was rejected. Every such line is cut from the text, rejected
ones too, and the first other line, even a blank one, ends the head. Arguments are parted by commas; macros in them are not
expanded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, Literal

import msgspec

from innkeeper.text.javascript.values import parse_int, strip

MARK: Final = "@@"
_FALLBACK: Final = "@@@"
_ROLES: Final = ("user", "assistant", "system")
_POSITIONS: Final = ("after_desc", "before_desc", "personality", "scenario")
_NO_UI_PROMPTS: Final = ("post_history_instructions", "system_prompt")
_LAST_PRIORITY: Final = -1000
_DEEPEST: Final = 2**31

Force = Literal["activate", "dont_activate", "keep", "leave"]
"""What decides about an entry before its keys: the decorators of these names, and the records of former matches."""


class Condition(msgspec.Struct, frozen=True, gc=False):
    """A decorator that switches an entry off: ``probability``, or a count that must fit the chat."""

    name: str
    number: float


class Query(msgspec.Struct, frozen=True, gc=False):
    """Keys to search for: any of them, or with ``every`` all of them in each text. One that ``excludes`` must not match."""

    name: str
    keys: tuple[str, ...]
    excludes: bool = False
    every: bool = False


class LoreInjection(msgspec.Struct, frozen=True, gc=False):
    """Where the text of an entry is merged: into the entry (``lore``) or the card of the template called ``location``."""

    operation: Literal["append", "prepend", "replace"] = "append"
    location: str = ""
    param: str = ""
    lore: bool = False

    def merged(self, text: str, addition: str) -> str:
        """Return ``text`` with the addition behind it, before it, or in the place of ``param``."""
        if self.operation == "replace":
            return text.replace(self.param, addition, 1)
        return f"{text} {addition}" if self.operation == "append" else f"{addition} {text}"


class Decorators(msgspec.Struct, kw_only=True, gc=False):
    """What the head of an entry says, and the text below it. ``None``: the setting that holds for all entries."""

    text: str = ""
    position: str = ""
    depth: int = 0
    role: str = "system"
    scan_depth: float | None = None
    priority: float | None = None
    full_words: bool | None = None
    feeds_recursion: bool | None = None
    searches_recursion: bool = True
    injection: LoreInjection | None = None
    conditions: list[Condition] = []
    queries: list[Query] = []
    forces: list[Force] = []


def read_decorators(content: str) -> Decorators:
    """Read the head of an entry's content."""
    lines = strip(content).split("\n")
    read = Decorators(conditions=[], queries=[], forces=[])
    rejected, count = False, 0
    for line in lines:
        if not line.startswith(MARK):
            break
        count += 1
        mark = _FALLBACK if line.startswith(_FALLBACK) else MARK
        name, _, rest = line[len(mark) :].partition(" ")
        if mark == _FALLBACK and not rejected and strip(name) != "end":
            continue
        rejected = not _read(read, strip(name), tuple(part for item in rest.split(",") if (part := strip(item))))
    read.text = strip("\n".join(lines[count:]))
    return read


def rejected_lines(content: str) -> dict[int, str]:
    """The lines of an entry's head that are rejected or unknown, by their number from 0, unless one stands in for them."""
    read, rejected = Decorators(conditions=[], queries=[], forces=[]), dict[int, str]()
    chain: list[int] = []
    for number, line in enumerate(strip(content).split("\n")):
        if not line.startswith(MARK):
            break
        name, _, rest = line.lstrip("@").partition(" ")
        arguments = tuple(part for item in rest.split(",") if (part := strip(item)))
        chain = chain if line.startswith(_FALLBACK) else []
        if _read(read, strip(name), arguments) or name in _FORCES:
            rejected = {other: text for other, text in rejected.items() if other not in chain}
        else:
            rejected[number] = line
            chain.append(number)
    return rejected


def _read(read: Decorators, name: str, arguments: Sequence[str]) -> bool:
    """Take one decorator; whether it is accepted."""
    first = arguments[0] if arguments else ""
    if name in _CONDITIONS:
        number = parse_int(first)
        is_taken = not math.isnan(number) or name == "probability"
        read.conditions += [Condition(name, number)] * is_taken
        return is_taken
    if name in _QUERIES:
        excludes, every = _QUERIES[name]
        read.queries.append(Query(name, tuple(arguments), excludes, every))
        return True
    if name in _FORCES:
        read.forces.append(_FORCES[name])
        return name in ("activate", "dont_activate")
    if name in ("scan_depth", "priority"):
        setattr(read, name, parse_int(first))
        return True
    if name in _INJECTIONS:
        text = " ".join(arguments)
        changes = {field: text if value is ... else value for field, value in _INJECTIONS[name].items()}
        read.injection = msgspec.structs.replace(read.injection or LoreInjection(), **changes)
        return True
    taken = _OTHERS.get(name)
    return taken is not None and taken(read, first)


_CONDITIONS: Final = frozenset({"activate_only_after", "activate_only_every", "is_greeting", "probability"})
_QUERIES: Final = {
    "additional_keys": (False, False),
    "exclude_keys": (True, False),
    "exclude_keys_all": (True, True),
}
_FORCES: Final[dict[str, Force]] = {
    "activate": "activate",
    "dont_activate": "dont_activate",
    "keep_activate_after_match": "keep",
    "dont_activate_after_match": "leave",
}


def _depth(kind: str) -> Callable[[Decorators, str], bool]:
    def take(read: Decorators, argument: str) -> bool:
        number = parse_int(argument)
        if not math.isnan(number):
            read.position, read.depth = kind, int(max(min(number, _DEEPEST), -_DEEPEST))
        return not math.isnan(number)

    return take


def _set(field: str, value: object = ..., known: Callable[[str], bool] = bool) -> Callable[[Decorators, str], bool]:
    """Set a field to a value, or to an argument that is ``known``."""

    def take(read: Decorators, argument: str) -> bool:
        if value is ... and not known(argument):
            return False
        setattr(read, field, argument if value is ... else value)
        return True

    return take


_INJECTIONS: Final[dict[str, dict[str, object]]] = {
    "inject_lore": {"location": ..., "lore": True},
    "inject_at": {"location": ..., "lore": False},
    "inject_prepend": {"operation": "prepend", "param": ...},
    "inject_replace": {"operation": "replace", "param": ...},
}
"""What each changes of the injection; a field that is ``...`` gets the arguments, with blanks for the commas."""


_OTHERS: Final[dict[str, Callable[[Decorators, str], bool]]] = {
    "end": lambda read, _argument: _depth("depth")(read, "0"),
    "depth": _depth("depth"),
    "reverse_depth": _depth("reverse_depth"),
    "position": _set("position", known=lambda name: name in _POSITIONS or name.startswith("pt_")),
    "role": _set("role", known=_ROLES.__contains__),
    "ignore_on_max_context": _set("priority", float(_LAST_PRIORITY)),
    "match_full_word": _set("full_words", value=True),
    "match_partial_word": _set("full_words", value=False),
    "recursive": _set("feeds_recursion", value=True),
    "unrecursive": _set("feeds_recursion", value=False),
    "no_recursive_search": _set("searches_recursion", value=False),
    "disable_ui_prompt": lambda _read, argument: argument in _NO_UI_PROMPTS,
}


NAMES: Final = frozenset({*_CONDITIONS, *_QUERIES, *_FORCES, *_INJECTIONS, *_OTHERS, "scan_depth", "priority"})
"""The decorators that have an effect."""
