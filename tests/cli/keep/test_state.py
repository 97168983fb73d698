"""``innkeeper admin backup`` and ``restore``: a home that is lost comes back whole, and nothing is ever written over."""

import json
import shutil
import stat
import zipfile
from pathlib import Path

import pytest

from innkeeper.inference import EchoServer
from tests.cli.running import Run
from tests.shared import ROOT

CARD = str(ROOT / "examples" / "wenna.png")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of `run`, with its own settings."""
    monkeypatch.delenv("INNKEEPER_CONFIG")
    monkeypatch.setenv("INNKEEPER_LOGGING", "on")
    return tmp_path / "home"


@pytest.fixture
def used(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run`, with settings, a key, secrets, templates, a picture and weights in its home."""
    assert run("config", "set", "context_window", "4096").code == 0
    assert run("keys", "set", "openrouter", input="sk-lantern").code == 0
    assert run("admin", "vault", "set", "fal", input="fal-lantern").code == 0
    assert run("admin", "template", "new", "hello", "--use-case", "chat", "--text", "Hello.").code == 0
    for name in ("assets/aa/one.png", "models/own.gguf"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(name.encode())
    return run


def test_a_lost_home_comes_back(used: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the home is destroyed one command brings it back: a conversation goes on, keys and secrets open."""
    archive = tmp_path / "all.zip"
    with EchoServer("Tea first.", "At noon.") as server:
        monkeypatch.setenv("INNKEEPER_BASE_URL", server.base_url)
        monkeypatch.setenv("INNKEEPER_MODEL", "m")
        assert used("ask", CARD, "Good evening.").code == 0
        written = used("admin", "backup", archive, "--json").data
        assert written["left_out"] == [f"models: {home / 'models'} (--with-models takes them along)"]
        assert stat.S_IMODE(archive.stat().st_mode) == 0o600
        shutil.rmtree(home)
        restored = used("admin", "restore", archive)
        assert (restored.code, restored.out) == (0, f"{archive}: {written['files']:,} files restored.\n")
        assert used("ask", "-c", "When is low water?").out == "At noon.\n"
        texts = [message["content"] for message in server.requests[-1].body["messages"]]
    assert [text for text in texts if text in {"Good evening.", "Tea first."}] == ["Good evening.", "Tea first."]
    assert used("config", "show", "context_window").out == "4096\n"
    assert used("admin", "vault", "check").code == 0
    assert used("admin", "template", "show", "hello").code == 0
    assert (home / "assets/aa/one.png").read_bytes() == b"assets/aa/one.png"
    assert not (home / "models").exists()
    findings = used("doctor", "--json").data["findings"]
    assert [one["message"] for one in findings if one["check"] == "keys"] == [
        f"openrouter opens ({home / 'keys.json'})"
    ]
    assert all(stat.S_IMODE(file.stat().st_mode) & 0o077 == 0 for file in home.rglob("*.json"))


def test_nothing_is_written_over(used: Run, home: Path, tmp_path: Path) -> None:
    """A backup does not replace a file, and a restore nothing in a home: neither changes anything then."""
    archive = tmp_path / "all.zip"
    assert used("admin", "backup", archive).code == 0
    before = archive.read_bytes()
    assert used("admin", "backup", archive, "--json").error["kind"] == "already_exists"
    assert archive.read_bytes() == before
    (home / "keys.json").unlink()
    assert used("admin", "restore", archive, "--json").error["kind"] == "already_exists"
    assert not (home / "keys.json").exists()


def test_a_library_is_not_written_over(used: Run, home: Path, tmp_path: Path) -> None:
    """A library with a draft that nobody has published is kept, too."""
    archive = tmp_path / "all.zip"
    assert used("admin", "backup", archive).code == 0
    shutil.rmtree(home)
    assert used("admin", "template", "new", "other", "--use-case", "chat", "--text", "Other.").code == 0
    assert used("admin", "restore", archive, "--json").error["kind"] == "already_exists"
    assert used("admin", "template", "show", "other").code == 0
    assert used("admin", "template", "show", "hello").code == 2


def test_models_go_along(used: Run, home: Path, tmp_path: Path) -> None:
    """Weights are in a backup that asks for them."""
    archive = tmp_path / "all.zip"
    assert used("admin", "backup", archive, "--with-models", "--json").data["left_out"] == []
    shutil.rmtree(home)
    assert used("admin", "restore", archive).code == 0
    assert (home / "models/own.gguf").read_bytes() == b"models/own.gguf"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("home/keys.json", b"{}"),
        ("home/../../outside", b"x"),
        ("/outside", b"x"),
        ("elsewhere", b"x"),
        ("manifest.json", b"{"),
    ],
)
def test_a_bad_archive_changes_nothing(used: Run, home: Path, tmp_path: Path, name: str, data: bytes) -> None:
    """What was changed after it was written, leads elsewhere, or is no archive, is refused before anything is restored."""
    good, bad = tmp_path / "good.zip", tmp_path / "bad.zip"
    assert used("admin", "backup", good).code == 0
    with zipfile.ZipFile(good) as before:
        parts = {each: before.read(each) for each in before.namelist()} | {name: data}
    if name not in {"home/keys.json", "manifest.json"}:
        manifest = json.loads(parts["manifest.json"])
        manifest["members"][name] = {
            "size": 1,
            "sha256": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
        }
        parts["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(bad, "w") as after:
        for each, content in parts.items():
            after.writestr(each, content)
    shutil.rmtree(home)
    refused = used("admin", "restore", bad, "--json")
    assert (refused.code, refused.error["kind"]) == (65, "format")
    assert not home.exists()
    assert not (tmp_path / "outside").exists()


def test_no_archive(run: Run, tmp_path: Path) -> None:
    """A file that is none, or not there, is named."""
    (tmp_path / "no.zip").write_bytes(b"PK")
    for name in ("no.zip", "none.zip"):
        assert name in run("admin", "restore", tmp_path / name).err
