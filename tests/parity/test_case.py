"""Case files: lists of cases, told by their keys or their folder; what cannot be read names its file."""

import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.prompt.errors import FormatError
from scripts.parity import load_cases


def written(path: Path, value: Any) -> Path:
    """A file with this JSON in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


@pytest.mark.parametrize(
    ("raw", "folder", "tavern", "area"),
    [
        ({"input": {}, "call": "macro.process"}, "x", "smart", "macro.process"),
        ({"input": {"api": "chat"}}, "x", "silly", "file"),
        ({"input": {"other": 1}, "area": "names"}, "smart", "smart", "names"),
        ({"input": "a text"}, "silly", "silly", "file"),
        ({"input": {}}, "x", "risu", "file"),
    ],
    ids=["a call", "keys of SillyTavern", "its folder", "a text", "what is left"],
)
def test_whose_case(raw: dict[str, Any], folder: str, tavern: str, area: str, tmp_path: Path) -> None:
    """A case belongs to the tavern that its keys or its folder say."""
    (case,) = load_cases([written(tmp_path / folder / "file.json", [raw])])
    assert (case.tavern, case.area, case.name) == (tavern, area, "file[0]")


def test_folders_are_read_whole(tmp_path: Path) -> None:
    """All files below a folder, in order; what is not a list of cases is passed over there; a base is shared."""
    written(tmp_path / "b.json", [{"input": 2, "name": "two", "expected": 3}])
    written(tmp_path / "a" / "a.json", [{"input": 1, "name": "one"}])
    written(tmp_path / "_base.json", {"shared": True})
    one, two = load_cases([tmp_path])
    assert [(case.name, case.input, case.expected, dict(case.base)) for case in (one, two)] == [
        ("one", 1, None, {}),
        ("two", 2, 3, {"shared": True}),
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "a JSON list of cases"),
        ([{"name": "x"}], "a name and an input"),
        ([3], "a name and an input"),
        ("{", "cannot read"),
    ],
)
def test_mistakes(value: Any, words: str, tmp_path: Path) -> None:
    """A file that is named and is not one of cases is an error that names it."""
    path = written(tmp_path / "cases.json", value)
    with pytest.raises(FormatError, match=words) as caught:
        list(load_cases([path]))
    assert caught.value.where is not None
    assert caught.value.where.asset == str(path)
    with pytest.raises(FormatError, match="no such file or folder"):
        list(load_cases([tmp_path / "nowhere"]))


def test_a_folder_without_cases(tmp_path: Path) -> None:
    """A folder in which there is nothing to compare is a mistake, so that nothing passes for agreement."""
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(FormatError, match="no case in this folder"):
        list(load_cases([tmp_path]))
