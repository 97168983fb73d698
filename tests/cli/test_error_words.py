"""Errors of commands: whatever a file holds, a sentence that says where it is wrong, in the words of JSON."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from innkeeper.cli.app.root import main

FILES: Final[dict[str, bytes]] = {
    "cut.json": b'{"a":',
    "number.json": b"5",
    "list.json": b"[1]",
    "card.json": b'{"spec":"chara_card_v2","data":5}',
    "fields.json": b'{"name":5,"description":[1]}',
    "book.json": b'{"entries":5}',
    "request.json": b'{"message":5,"history":7,"seed":"a"}',
    "preset.json": b'{"prompts":{"a":1},"prompt_order":5}',
    "bundle.json": b'{"innkeeper_replay":1,"request":[]}',
    "lines.jsonl": b"a\n{",
    "bytes.png": bytes(range(256)),
    "profile.toml": b"tavern = 5",
    "empty.json": b"",
}
COMMANDS: Final = (
    ("build", "--message", "hi"), ("lint",), ("card", "show"), ("card", "convert", "--out", "out.png"), ("lore", "test"),
    ("diff", "number.json"), ("replay",), ("regress",), ("build", "--persona"), ("build", "--preset"), ("build", "--lorebook"),
    ("build", "--card"), ("build", "--chat"), ("admin", "db", "import"), ("admin", "db", "restore"),
)  # fmt: skip
PYTHON: Final = re.compile(r"Traceback|NoneType|<class|\b(str|int|dict|bool|tuple|FrozenDict|[A-Z]\w+Error)\b|\('|', '")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_wrong_is_named_without_words_of_python(
    command: tuple[str, ...],
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each reader of each command: a known exit code, the file's name, and nothing of how it is read."""
    monkeypatch.chdir(tmp_path)
    for file, data in FILES.items():
        (tmp_path / file).write_bytes(data)
    code = main([*command, name])
    shown = "".join(capsys.readouterr()) if code else ""
    assert code in {0, 1, 2, 65, 69}, shown
    assert PYTHON.search(shown) is None, shown
    assert code != 65 or any(file in shown for file in (name, command[-1]))
