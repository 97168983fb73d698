"""The card command, as people and as programs call it."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli.app.root import main
from innkeeper.cli.prompt.card import MAX_FULL_LINES
from innkeeper.content import blank_png, load_character, open_card
from tests.content.builders import archive, card_json, card_png, png, text_chunk

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Run ``innkeeper card …``: exit code, output, errors."""

    def call(*words: object) -> tuple[int, str, str]:
        code = main(["card", *map(str, words)])
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return call


@pytest.fixture
def card(tmp_path: Path) -> Path:
    """A card in an image."""
    path = tmp_path / "mira.png"
    path.write_bytes(card_png(card_json("v3", nickname="Mi", tags=["a"], extensions={"x": 1}), "ccv3"))
    return path


def test_show_for_people(run: Run, card: Path) -> None:
    """A table of what is in the card."""
    code, out, err = run("show", card)
    assert (code, err) == (0, "")
    assert "Mira (png, V3)" in out
    assert "A clockmaker." in out


def test_show_for_programs(run: Run, card: Path) -> None:
    """All facts, and the card itself."""
    code, out, _ = run("show", card, "--json")
    facts = json.loads(out)
    assert code == 0
    assert (facts["name"], facts["display_name"], facts["version"], facts["kind"]) == ("Mira", "Mi", "v3", "png")
    assert facts["card"]["data"]["extensions"] == {"x": 1}


def test_a_card_cannot_drive_the_terminal(run: Run, tmp_path: Path) -> None:
    """Control characters and markup of a card are shown, not obeyed."""
    path = tmp_path / "evil.json"
    path.write_bytes(card_json(name="[red]x\x1b[31m", description="\x1b]0;title\x07[bold]y", tags=5))
    code, out, _ = run("show", path)
    assert code == 0
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "[bold]y" in out
    assert "\x1b" not in run("check", path)[1]


def test_validate(run: Run, card: Path, tmp_path: Path) -> None:
    """Each file has its own verdict; one that is broken decides the exit code."""
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    code, out, _ = run("check", card, bad)
    assert code == 65
    assert f"{card}: not ok" in out
    assert "  error: data.personality: personality is missing" in out
    assert f"{bad}: not ok" in out
    code, out, _ = run("check", card, bad, "--json")
    reports = json.loads(out)["cards"]
    assert [report["ok"] for report in reports] == [False, False]
    assert reports[1]["error"]["kind"] == "json"


def test_validate_a_sound_card(run: Run, tmp_path: Path) -> None:
    """A sound card is ok; strictly, a warning is not."""
    good, odd = tmp_path / "good.json", tmp_path / "odd.json"
    good.write_bytes(load_character(b'{"name": "x", "description": "y"}').to_version("v3").to_json())
    odd.write_bytes(good.read_bytes().replace(b'"3.0"', b'"3.1"'))
    assert run("check", good) == (0, f"{good}: ok\n", "")
    assert run("check", odd)[0] == 0
    assert run("check", "--strict", odd)[0] == 65


def test_extract_to_standard_output(run: Run, card: Path) -> None:
    """The JSON as it stands in the image."""
    code, out, _ = run("extract", card)
    assert code == 0
    assert out.encode() == load_character(card).to_json() + b"\n"
    assert json.loads(run("extract", card, "--json")[1])["card"]["data"]["name"] == "Mira"


def test_extract_to_files(run: Run, tmp_path: Path) -> None:
    """The JSON and the files inside; nothing is overwritten unasked."""
    source = tmp_path / "a.charx"
    source.write_bytes(archive({"card.json": card_json("v3"), "assets/a b.bin": b"data"}))
    out, folder = tmp_path / "out.json", tmp_path / "files"
    code, told, _ = run("extract", source, "--out", out, "--assets", folder, "--json")
    assert code == 0
    assert json.loads(told)["written"] == [str(out), str(folder / "assets" / "a b.bin")]
    assert (folder / "assets" / "a b.bin").read_bytes() == b"data"
    code, _, err = run("extract", source, "--out", out)
    assert code == 2
    assert "exists already" in err
    assert run("extract", source, "--out", out, "--force")[0] == 0


def test_names_of_files_inside_do_not_leave_the_folder(run: Run, tmp_path: Path) -> None:
    """A chunk may be called anything; its file stays below the folder."""
    source, folder = tmp_path / "a.png", tmp_path / "x" / "files"
    names = ["../../evil", "/abs/evil", "..", "a/../../evil", "C:\\evil", ""]
    source.write_bytes(
        png(text_chunk("chara", card_json()), *[text_chunk(f"chara-ext-asset_:{n}", b"eHh4") for n in names])
    )
    code, told, err = run("extract", source, "--assets", folder, "--force", "--json")
    assert (code, err) == (0, "")
    written = [Path(name) for name in json.loads(told)["written"]]
    assert len(set(written)) == len(names)
    assert all(path.resolve().is_relative_to(folder.resolve()) for path in written)
    assert not (tmp_path / "evil").exists()


def test_embed(run: Run, card: Path, tmp_path: Path) -> None:
    """A card goes into another picture."""
    image, out = tmp_path / "picture.png", tmp_path / "out.png"
    image.write_bytes(blank_png(3, 3))
    assert run("embed", card, image, "-o", out) == (0, f"wrote {out}\n", "")
    assert out.read_bytes().startswith(blank_png(3, 3)[:33])
    assert load_character(out).to_json() == load_character(card).to_json()
    assert run("embed", card, image, "-o", out)[0] == 2
    assert run("embed", card, image, "-o", out, "--force", "--form", "v2", "--json")[0] == 0
    assert load_character(out).version == "v2"
    assert run("embed", card, card.with_name("none.png"), "-o", out, "--force")[0] == 69


@pytest.mark.parametrize(("name", "version"), [("a.json", "v2"), ("a.png", "v3"), ("a.charx", "v3")])
def test_convert(name: str, version: str, run: Run, card: Path, tmp_path: Path) -> None:
    """Every format, with nothing lost on the way."""
    code, out, _ = run("convert", card, "-o", tmp_path / name, "--to", version, "--json")
    assert code == 0
    assert json.loads(out) == {"written": [str(tmp_path / name)]}
    made = open_card(tmp_path / name).character
    assert (made.version, made.nickname, made.extensions) == (version, "Mi", {"x": 1})


def test_convert_to_a_file_of_no_kind(run: Run, card: Path, tmp_path: Path) -> None:
    """An extension that no card has is wrong usage."""
    code, _, err = run("convert", card, "-o", tmp_path / "a.txt")
    assert code == 2
    assert ".charx" in err


def test_diff(run: Run, card: Path, tmp_path: Path) -> None:
    """No difference is 0, a difference 1, with each place."""
    other = tmp_path / "other.json"
    other.write_bytes(load_character(card).replace(description="Other.").to_json())
    assert run("diff", card, card) == (0, "no difference\n", "")
    code, out, _ = run("diff", card, other)
    assert (code, out) == (1, 'changed data.description\n  - "A clockmaker."\n  + "Other."\n')
    assert json.loads(run("diff", card, other, "--json")[1])["differences"][0]["path"] == "data.description"


def test_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A card may come through a pipe."""
    stream: Any = io.TextIOWrapper(io.BytesIO(card_png()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert json.loads(run("show", "-", "--json")[1])["name"] == "Mira"


@pytest.mark.parametrize(
    ("words", "code"),
    [(("show", "nowhere.png"), 69), (("show",), 2), (("convert", "x"), 2), (("nothing",), 2)],
)
def test_failures(words: tuple[str, ...], code: int, run: Run) -> None:
    """A missing file and wrong usage have their exit codes, and say what is wrong."""
    found, out, err = run(*words)
    assert (found, out) == (code, "")
    assert err.startswith(("innkeeper: ", "Usage:"))


def test_a_damaged_image(run: Run, tmp_path: Path) -> None:
    """A wrong checksum is refused, or tolerated on demand, and said."""
    path = tmp_path / "a.png"
    data = bytearray(card_png())
    data[-15] ^= 1
    path.write_bytes(data)
    code, _, err = run("show", path, "--json")
    assert (code, json.loads(err)["error"]["kind"]) == (65, "damaged_file")
    code, out, _ = run("show", "--lenient", path)
    assert code == 0
    assert "checksum" in out


def test_a_full_card_is_shown_in_full(run: Run, tmp_path: Path) -> None:
    """Greetings, lorebook and assets have their rows; texts are cut unless asked for."""
    path = tmp_path / "a.json"
    book = {"entries": [{"keys": [], "constant": True, "content": "x", "enabled": True}]}
    path.write_bytes(card_json("v3", alternate_greetings=["Hm?"], character_book=book, description="long " * 50))
    code, out, _ = run("show", path)
    assert code == 0
    assert "1 entry, 1 of them constant" in out
    assert "greeting 1" in out
    assert out.count("long") < 20
    assert run("show", "--full", path)[1].count("long") == 50


def test_show_lists_regex_scripts(run: Run, tmp_path: Path) -> None:
    """A card's scripts are named, with what they look for and put in its place."""
    script = {
        "scriptName": "Bows",
        "findRegex": "/bow/g",
        "replaceString": "nod",
        "trimStrings": [],
        "placement": [2, 1],
    }
    path = tmp_path / "scripts.json"
    path.write_bytes(card_json(extensions={"regex_scripts": [script, {**script, "disabled": True}]}))
    out = run("show", path)[1]
    assert "Bows: /bow/g -> nod" in out
    assert "Bows (off)" in out
    [first, _] = json.loads(run("show", path, "--json")[1])["regex_scripts"]
    assert (first["name"], first["placement"]) == ("Bows", [1, 2])


def test_a_huge_card_is_cut(run: Run, tmp_path: Path) -> None:
    """Of a text of megabytes the beginning is shown, of thousands of greetings the first; what is missing is said."""
    data = {"name": "A", "description": "a" * 1_000_000, "alternate_greetings": ["Hi"] * 1_500}
    path = tmp_path / "huge.json"
    path.write_text(json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": data}))
    out = run("show", "--full", path)[1]
    assert 100_000 <= out.count("a") < 101_000
    assert "more; --json has them all" in out
    path.write_bytes(card_json(description="a\n" * 100_000))
    out = run("show", "--full", path)[1]
    assert MAX_FULL_LINES <= out.count("\n") < MAX_FULL_LINES + 100
    assert "…" in out
