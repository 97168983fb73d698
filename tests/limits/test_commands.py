"""Commands over hostile files: reading, checking, converting and showing them ends soon, whatever is in them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.limits.hostile import Hostile, hostile_requests
from tests.limits.isolated import MEBIBYTES, SECONDS, apart, command, warm

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits on a process's memory are read from /proc here")

SOME: Final = 150
"""In the usual run, one of so many; every one of them in `make endurance`."""

FILE: Final = "FILE"
COMMANDS: Final[dict[str, tuple[list[str], ...]]] = {
    "request": (
        ["build", FILE],
        ["build", FILE, "--explain"],
        ["build", FILE, "--dialect", "anthropic"],
        ["lint", FILE],
    ),
    "card": (
        *(["card", "show", FILE, *options] for options in ([], ["--full"], ["--json"])),
        *(["card", name, FILE] for name in ("validate", "extract")),
        ["card", "convert", FILE, "--out", "OUT.png", "--force"],
        ["card", "diff", FILE, FILE],
        ["lint", FILE],
        ["lore", "test", FILE],
        ["build", FILE],
        ["chat", FILE, "--model", "m", "--base-url", "http://127.0.0.1:1"],
    ),
    "book": (["lint", FILE], ["lore", "test", FILE, "--message", "a key0x"], ["lore", "test", FILE, "--json"]),
    "preset": (["lint", FILE], ["build", FILE, "--message", "a"]),
    "chat": (["build", "--chat", FILE], ["lint", FILE], ["tokens", FILE], ["tokens", FILE, "-m", "gpt-4o"]),
}
"""Commands by the kind of file that they are handed."""


def _files(request: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "request", request
    yield "card", request.get("character")
    yield "book", next(iter(request.get("lorebooks", ())), None)
    yield "preset", request.get("preset")
    yield "chat", request.get("history")


REQUESTS: Final = [hostile for hostile in hostile_requests().values() if not hostile.path]


def _check(hostile: Hostile, number: int, folder: Path) -> None:
    """One command of each kind of file, another for each input."""
    for kind, value in _files(hostile.make()):
        if value is not None:
            _check_command(value, kind, COMMANDS[kind][number % len(COMMANDS[kind])], folder)


def _check_command(value: Any, kind: str, chosen: list[str], folder: Path) -> None:
    (folder / f"{kind}.json").write_text(json.dumps(value))
    names = {FILE: str(folder / f"{kind}.json"), "OUT.png": str(folder / "out.png")}
    words = [names.get(word, word) for word in chosen]
    outcome = apart(lambda: command(*words))
    assert outcome.typed, (words, outcome)
    assert outcome.seconds <= SECONDS, (words, outcome)
    assert outcome.mebibytes <= MEBIBYTES, (words, outcome)


@pytest.fixture(scope="module", autouse=True)
def _warm(tmp_path_factory: pytest.TempPathFactory) -> None:
    warm()
    file = tmp_path_factory.mktemp("warm") / "card.json"
    file.write_text(json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "A"}}))
    for words in (
        ["build", "--explain"],
        ["card", "show"],
        ["card", "validate"],
        ["lint"],
        ["lore", "test"],
        ["tokens"],
    ):
        command(*words, str(file))


@pytest.mark.parametrize("number", range(0, len(REQUESTS), SOME))
def test_some_hostile_files(number: int, tmp_path: Path) -> None:
    """A sample of all families, each with one command for each of its files."""
    _check(REQUESTS[number], number, tmp_path)


FOUND: Final = {
    "a card of new lines, shown in full": (
        "plain/new lines/text prompt/4000000",
        "card",
        ["card", "show", FILE, "--full"],
    ),
    "a greeting and a prompt of picks": ("silly/many picks/first message/400000", "card", ["build", FILE]),
    "a greeting of trims": ("silly/trims/first message/4000000", "card", ["chat", FILE, "--model", "m"]),
    "a greeting of brackets": ("plain/angle brackets/first message/4000000", "card", ["chat", FILE, "--model", "m"]),
    "a chat of short lines": ("shape/many messages/4000000", "request", ["build", FILE]),
    "a book of many keys": ("shape/many keys/4000000", "request", ["build", FILE, "--explain"]),
    "a card of new lines, converted": (
        "plain/new lines/examples/4000000",
        "card",
        ["card", "convert", FILE, "--out", "OUT.png"],
    ),
    "a text of lines, counted": (
        "plain/new lines/text prompt/4000000",
        "card",
        ["tokens", FILE, "-m", "deepseek-chat"],
    ),
}
"""Files that took too long once, each with its command."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.endurance if number % 3 else ()) for number, name in enumerate(FOUND)]
)
def test_what_took_long_once(name: str, tmp_path: Path) -> None:
    """The rule behind each holds: one allowance a command, what is shown is bounded, what is counted is paced."""
    hostile, kind, words = FOUND[name]
    made = next(one for one in REQUESTS if one.name == hostile).make()
    _check_command(dict(_files(made))[kind], kind, words, tmp_path)


@pytest.mark.endurance
@pytest.mark.parametrize("number", range(len(REQUESTS)))
def test_every_hostile_file(number: int, tmp_path: Path) -> None:
    """All of them, with every command in turn."""
    _check(REQUESTS[number], number, tmp_path)
