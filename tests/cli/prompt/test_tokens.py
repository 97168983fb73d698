"""``innkeeper tokens``: counting what is given, by every way it can be given."""

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from innkeeper.cli import main
from innkeeper.cli.prompt import tokens
from innkeeper.cli.prompt.tokens import COMPARED
from innkeeper.prompt.allowance import BuildLimits
from innkeeper.tokens import FAMILIES, MODELS
from innkeeper.tokens.engines import loading


@pytest.fixture
def out(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    """What was printed."""
    return capsys


def _stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))


def test_a_text(out: pytest.CaptureFixture[str]) -> None:
    """One model gives one sentence: the count, the tokenizer, how sure it is."""
    assert main(["tokens", "hello world", "--model", "gpt-4o"]) == 0
    assert out.readouterr().out == "2 tokens for gpt-4o (o200k_base, exact) in 11 characters\n"


def test_an_estimate_says_so(out: pytest.CaptureFixture[str]) -> None:
    """A model without a vocabulary is said to be estimated, with the error."""
    assert main(["tokens", "hello world", "-m", "gemini-2.5-pro"]) == 0
    printed = out.readouterr()
    assert "estimate ± 25 %" in printed.out
    assert printed.err == "note: not measured: counted as its nearest relative\n"


def test_a_name_without_a_version(out: pytest.CaptureFixture[str]) -> None:
    """Its vocabulary cannot be known, which is said."""
    assert main(["tokens", "hello world", "-m", "mistral-large"]) == 0
    assert "does not say which version" in out.readouterr().err


def test_a_file(tmp_path: Path, out: pytest.CaptureFixture[str]) -> None:
    """The name of a file counts its content, unless the words themselves are meant."""
    file = tmp_path / "a.txt"
    file.write_text("lamp " * 100, "utf-8")
    assert main(["tokens", str(file), "--json"]) == 0
    assert json.loads(out.readouterr().out)["characters"] == 500
    assert main(["tokens", str(file), "--text", "--json"]) == 0
    assert json.loads(out.readouterr().out)["characters"] == len(str(file))


@pytest.mark.parametrize("words", [["-"], []])
def test_standard_input(words: list[str], monkeypatch: pytest.MonkeyPatch, out: pytest.CaptureFixture[str]) -> None:
    """``-`` and nothing read what comes in."""
    _stdin(monkeypatch, "lamp é".encode())
    assert main(["tokens", *words, "--json"]) == 0
    assert json.loads(out.readouterr().out)["characters"] == 6


def test_several_models(out: pytest.CaptureFixture[str]) -> None:
    """Several models give a table with a row each."""
    assert main(["tokens", "hello", "-m", "gpt-4o", "-m", "claude-[/x]"]) == 0
    lines = out.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["gpt-4o", "claude-[/x]"]


def test_all(out: pytest.CaptureFixture[str]) -> None:
    """``--all`` compares models of the families, each with its own."""
    assert main(["tokens", "hello", "--all", "--json"]) == 0
    rows = json.loads(out.readouterr().out)["counts"]
    assert [row["model"] for row in rows] == list(COMPARED)
    assert {"o200k", "claude-3", "unknown"} <= {row["family"] for row in rows}


def test_all_names_current_families() -> None:
    """The compared models are one of each family that people still chat with."""
    compared = {match.family.name for model in COMPARED if (match := MODELS.find(model))}
    aside = {"llama-2", "mistral-any", "yi", "jamba", "nova", "gpt-2", "gpt-3", "clip", "unknown"}
    assert compared == {family.name for family in FAMILIES} - aside


def test_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: pytest.CaptureFixture[str]) -> None:
    """A file above the limit is refused with the exit code for bad input."""
    monkeypatch.setattr(tokens, "MAX_TEXT_BYTES", 10)
    (tmp_path / "a.txt").write_text("x" * 11, "utf-8")
    assert main(["tokens", str(tmp_path / "a.txt")]) == 65
    assert "MAX_TEXT_BYTES" in out.readouterr().err


@pytest.mark.parametrize("text", ["x" * 5000, "."])
def test_what_is_no_file_name_is_text(text: str, out: pytest.CaptureFixture[str]) -> None:
    """Words too long for a name, and a folder, are counted as words."""
    assert main(["tokens", text, "--json"]) == 0
    assert json.loads(out.readouterr().out)["characters"] == len(text)


def test_what_is_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A picture is refused by its first byte that is no text, instead of counted as if it were one."""
    file = tmp_path / "picture.png"
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    assert main(["tokens", str(file)]) == 65
    assert "not UTF-8: byte 0x89" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "warned"),
    [("nofile.txt", True), ("folder/no_such", False), ("C:\\x\\no.png", True), ("Stop. Go", False), ("etc...", False)],
)
def test_a_file_that_is_not_there(text: str, warned: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """Words that look like a file's name are counted, and that is said, unless one says that they are meant."""
    assert main(["tokens", text]) == 0
    assert ("there is no file" in capsys.readouterr().err) is warned
    assert main(["tokens", text, "--text"]) == 0
    assert capsys.readouterr().err == ""


def test_a_vocabulary_is_read_once() -> None:
    """Who counts again in one process finds it; of several, the one before is let go."""
    limits = BuildLimits()
    tokens.counted("hi", ["gpt-4o", "gpt-4"], limits)
    before = loading._load.cache_info()
    tokens.counted("ho", ["gpt-4"], limits)
    assert (before.currsize, loading._load.cache_info().misses) == (1, before.misses)


def test_models_that_no_time_is_left_for(out: pytest.CaptureFixture[str]) -> None:
    """They have a row without a count, and it is said; a single one is an error; more seconds can be given."""
    text, models = "seldom seen " * 20_000, ["-m", "gpt-4o", "-m", "another-model"]
    tiny = ["--limit", "seconds=1e-9"]
    assert main(["tokens", text, *models, *tiny, "--json"]) == 0
    rows = json.loads(out.readouterr().out)["counts"]
    assert [row["tokens"] for row in rows] == [None, None]
    assert main(["tokens", text, *models, *tiny]) == 0
    shown = out.readouterr()
    assert shown.out.count("not counted") == 2
    assert "--limit" in shown.err
    assert main(["tokens", text, "-m", "gpt-4o", *tiny]) == 65
    assert main(["tokens", text, *models, "--limit", "seconds=9"]) == 0
    assert "not counted" not in out.readouterr().out
