"""Recorded cases of RisuAI: each with its settings, card and chat laid over those that all cases begin with."""

import json
from copy import deepcopy
from typing import Any, NamedTuple

from tests.shared import VECTORS

FOLDER = VECTORS / "risu"
BASE: dict[str, Any] = json.loads((FOLDER / "_base.json").read_text("utf-8"))


class Case(NamedTuple):
    """One case. ``db``, ``char`` and ``chat`` are RisuAI's own objects; ``variables`` those of the chat before the build."""

    name: str
    input: dict[str, Any]
    expected: dict[str, Any]
    db: dict[str, Any]
    char: dict[str, Any]
    chat: dict[str, Any]
    variables: dict[str, Any]

    def __str__(self) -> str:
        return self.name


def cases(file: str) -> list[Case]:
    """The cases of a file."""
    return [_case(each) for each in json.loads((FOLDER / file).read_text("utf-8"))]


def _case(stored: dict[str, Any]) -> Case:
    given = stored["input"]
    options = {**given, **given.get("options", {})}
    db, char, chat = ({**deepcopy(BASE[part]), **options.get(part, {})} for part in ("db", "char", "chat"))
    db["globalChatVariables"] = {**db["globalChatVariables"], **options.get("globals", {})}
    variables = options.get("vars", {name.removeprefix("$"): value for name, value in chat["scriptstate"].items()})
    return Case(stored["name"], given, stored["expected"], db, char, chat, variables)


class Draws:
    """A source of chance that gives recorded numbers, and fails behind the last."""

    def __init__(self, numbers: list[float]) -> None:
        self._numbers = iter(numbers)

    def random(self) -> float:
        return next(self._numbers)


def char4(text: str) -> int:
    """The tokenizer of the cases: a token for each four units of UTF-16, or fewer at the end."""
    return -(-len(text.encode("utf-16-le", "surrogatepass")) // 8)
