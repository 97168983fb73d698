"""The examples: each is what it says, flawless by Innkeeper's own readers, and the picture is the one that the script draws."""

import importlib.util
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from innkeeper.content.files.formats import open_card, sniff
from innkeeper.content.files.loading import load_chat, load_lorebook, load_persona, load_preset_file
from innkeeper.content.validation import validate
from innkeeper.conversation import ConversationState, TurnInput, profile_turn
from innkeeper.data import BatchSettings, build_batch, open_rows
from innkeeper.taverns.profiles import open_profile
from tests.shared import ROOT

EXAMPLES = ROOT / "examples"
NOW = "2026-01-15T12:00:00Z"


@dataclass(frozen=True)
class Case:
    file: str
    kind: str
    read: Any


CASES = [
    Case("wenna.png", "character", open_card),
    Case("wenna.json", "character", open_card),
    Case("tobin.json", "character", open_card),
    Case("ansel.persona.json", "persona", load_persona),
    Case("wenna.chat.jsonl", "chat", load_chat),
    Case("larks.lorebook.json", "lorebook", load_lorebook),
    Case("skerrow.preset.json", "chat preset", load_preset_file),
    Case("plain.context.json", "context template", load_preset_file),
    Case("plain.instruct.json", "instruct template", load_preset_file),
]
PROFILE = "profile.toml"
ROWS = "rows.jsonl"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.file)
def test_flawless(case: Case) -> None:
    """Each file is recognised by its content and read without a finding."""
    path = EXAMPLES / case.file
    assert sniff(path).kind == case.kind
    assert case.read(path).findings == ()


def test_all_are_tested() -> None:
    """Every example is in the list above, and in the README beside it."""
    files = {path.name for path in EXAMPLES.iterdir() if path.is_file() and path.suffix not in {".py", ".md"}}
    assert files == {PROFILE, ROWS, *(case.file for case in CASES)}
    readme = (EXAMPLES / "README.md").read_text("utf-8")
    assert all(f"`{name}`" in readme for name in files)


def test_the_profile() -> None:
    """It is read, and builds a turn without a warning."""
    profile = open_profile(EXAMPLES)
    turn = profile_turn(
        profile, TurnInput.of([{"role": "user", "content": "Hello"}], now=NOW, seed=7), ConversationState()
    )
    assert profile.profile.name == "wenna"
    assert turn.plan.warnings == ()


@pytest.mark.parametrize("name", ["wenna.png", "tobin.json"])
def test_cards_keep_the_specification(name: str) -> None:
    """The cards break no rule of the card specifications."""
    assert validate(open_card(EXAMPLES / name).character) == ()


def test_the_picture_holds_the_card() -> None:
    """The card in the picture is the one beside it, in both places where applications look."""
    picture = open_card(EXAMPLES / "wenna.png")
    assert picture.character == open_card(EXAMPLES / "wenna.json").character
    raw = (EXAMPLES / "wenna.png").read_bytes()
    assert raw.count(b"tEXtchara\0") == raw.count(b"tEXtccv3\0") == 1


def test_the_card_has_something_of_everything() -> None:
    """The card shows what cards can do: lore of several kinds, greetings, instructions after the chat."""
    card = open_card(EXAMPLES / "wenna.png").character
    assert card.book is not None
    assert len(card.book.entries) >= 8
    assert len(card.greetings()) >= 3
    assert card.post_history_instructions
    assert card.depth_prompt
    assert card.tags


def script() -> ModuleType:
    """The script that draws."""
    spec = importlib.util.spec_from_file_location("make_picture", EXAMPLES / "make_picture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(raw: bytes, width: int) -> list[bytes]:
    """The rows of a PNG whose rows are differences to the row above."""
    data, place = b"", 8
    while place < len(raw):
        (length,) = struct.unpack(">I", raw[place : place + 4])
        if raw[place + 4 : place + 8] == b"IDAT":
            data += raw[place + 8 : place + 8 + length]
        place += length + 12
    flat, above, found = zlib.decompress(data), bytes(width * 3), []
    for start in range(0, len(flat), width * 3 + 1):
        row = flat[start + 1 : start + width * 3 + 1]
        above = bytes((value + over) & 255 for value, over in zip(row, above, strict=True))
        found.append(above)
    return found


@pytest.mark.parametrize("y", [0, 245, 300, 565, 767])
def test_the_picture_is_the_drawn_one(y: int) -> None:
    """Rows of the picture are as the script draws them: the picture is ours, and can be made again."""
    draw = script()
    drawn = bytes(channel for x in range(draw.WIDTH) for channel in draw.pixel(x + 0.5, y + 0.5))
    found = rows((EXAMPLES / "wenna.png").read_bytes(), draw.WIDTH)
    assert len(found) == draw.HEIGHT
    assert found[y] == drawn


def test_the_script_writes_a_picture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the script writes is a PNG that a card can be put into."""
    draw = script()
    monkeypatch.setattr(draw, "HEIGHT", 2)
    path = tmp_path / "picture.png"
    path.write_bytes(draw.png(draw.draw()))
    assert sniff(path).kind == "image"
    assert sniff(path).container == "png"


def test_rows() -> None:
    """Every row of the dataset is built, each with an id of its own."""
    source = open_rows([str(EXAMPLES / ROWS)])
    settings = BatchSettings(roots=source.roots, request={"tavern": "silly", "now": NOW})
    made = [row for table in source.shards(100) for row in build_batch(table, settings).to_pylist()]
    assert [row["error"] for row in made] == [None] * len(made)
    assert len({row["id"] for row in made}) == len(made) > 3
