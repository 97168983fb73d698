"""The embedded model: how it is loaded, and, where its weights are installed, that it answers."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from innkeeper.inference.errors import HttpError
from innkeeper.inference.local import engine
from innkeeper.inference.local import model as local
from innkeeper.inference.local.engine import LocalEngine
from innkeeper.inference.local.gguf import read_gguf_head
from innkeeper.inference.local.model import CHATML, LocalModel, default_threads, measured_framing
from innkeeper.inference.local.shared import DEFAULT_MODEL
from innkeeper.inference.local.weights import list_models
from innkeeper.prompt import UsageError
from innkeeper.prompt.errors import UnavailableError
from innkeeper.prompt.machine import HOME_VARIABLE

# Looked up before any test hides the home of whoever runs them.
WEIGHTS = next(model for model in list_models(check=False) if model.name == DEFAULT_MODEL)
installed = pytest.mark.skipif(WEIGHTS.state == "absent", reason=f"the weights are not installed: {WEIGHTS.path}")

MESSAGES = [{"role": "user", "content": "Say hello."}]


@pytest.fixture(scope="module")
def model() -> Iterator[LocalModel]:
    """The real model, once for all tests here."""
    with LocalModel(LocalEngine.start(WEIGHTS.path, 512, 1, "key"), context_window=512) as opened:
        yield opened


@installed
def test_same_seed_same_answer(model: LocalModel) -> None:
    """With a seed, streamed or whole, asked again or after something else, the answer is the same."""
    options: dict[str, Any] = {"temperature": 0, "seed": 7, "max_tokens": 12}
    whole = model.chat("any", MESSAGES, **options)
    model.chat("any", [{"role": "user", "content": "Something else."}], max_tokens=3)
    heard: list[str] = []
    streamed = model.chat("any", MESSAGES, stream=True, include_usage=True, on_delta=heard.append, **options)
    assert whole.content == streamed.content == "".join(heard) != ""
    assert whole.usage == streamed.usage
    assert whole.finish_reason in {"stop", "length"}


@installed
def test_bare(model: LocalModel) -> None:
    """Loaded bare, the model reads nothing that was not sent; its own template would add a system message."""
    kind = [{"role": "system", "content": "Be kind."}, *MESSAGES]

    def read(one: LocalModel, messages: list[dict[str, str]]) -> int:
        usage = one.chat("any", messages, max_tokens=1).usage
        assert usage is not None
        return int(usage["prompt_tokens"])

    with LocalModel(LocalEngine.start(WEIGHTS.path, 512, 1, "key", bare=True), context_window=512) as bare:
        assert read(bare, MESSAGES) < read(model, MESSAGES) - 5
        assert read(bare, kind) == read(model, kind)


@installed
def test_its_own_tokenizer(model: LocalModel) -> None:
    """It counts with its own vocabulary; special tokens in a text are plain text; any text can be counted."""
    counter = model.counter()
    assert counter.count("") == 0
    assert counter.count("Hello world", "any name") == 2
    assert counter.count("<|im_start|>") > 1
    assert counter.count("half \ud800 a pair") > 0
    assert counter.describe("any name")["backend"] == "server"


@installed
def test_how_it_reads_messages(model: LocalModel) -> None:
    """In its own template, as tokens whose bytes are the text; as plain text a mark is no token of its own."""
    text = model.prompt_of([{"role": "user", "content": "Is the reef safe – 夜は?"}])
    pieces = model.pieces_of(text)
    assert b"".join(piece for _, piece in pieces).decode() == text
    assert "Is the reef safe – 夜は?" in text
    assert len(model.pieces_of(text, special=False)) > len(pieces)


@pytest.mark.parametrize("text", ["hi", " spaces ", "a line\n", "日本"])
def test_a_prompt_counts_as_the_engine_counts_it(model: LocalModel, text: str) -> None:
    """The measured framing gives the engine's own figure for whole prompts, the start of the reply among it."""
    framing, counter = measured_framing(_engine(model)), model.counter()
    for roles in (("system", "user"), ("system", "user", "assistant", "user")):
        messages = [{"role": role, "content": text} for role in roles]
        usage = model.chat("any", messages, max_tokens=1).usage
        assert usage is not None
        assert framing.count_messages(messages, counter, "any") == usage["prompt_tokens"]


def _engine(model: LocalModel) -> Any:
    return SimpleNamespace(post=model._ask_tokenizer)


class SilentEngine:
    """An engine whose tokenizer answers something else, or nothing."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def post(self, *_: Any) -> Any:
        """Answer, or raise."""
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [{}, [], {"tokens": 3}, UnavailableError("gone")])
def test_a_template_that_cannot_be_measured(answer: Any) -> None:
    """An engine that does not say what its template adds is counted as ChatML."""
    engine: Any = SilentEngine(answer)
    assert measured_framing(engine) is CHATML


@installed
def test_too_long(model: LocalModel) -> None:
    """A prompt beyond the window is refused, not cut."""
    with pytest.raises(HttpError, match="exceeds the available context size"):
        model.chat("any", [{"role": "user", "content": "word " * 1200}])


@installed
def test_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """`open` finds the weights, cuts the window to what the model knows, and closes cleanly."""
    monkeypatch.setattr(local, "find_model", lambda _name: WEIGHTS)
    with LocalModel.open(context_window=256, threads=1) as opened:
        assert opened.context_window == 256
        usage = opened.chat("any", MESSAGES, max_tokens=2).usage
        assert usage is not None
        assert usage["completion_tokens"] == 2
    assert (WEIGHTS.context_window or read_gguf_head(WEIGHTS.path).context_window) == 8192


def test_open_without_weights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without weights, the error is the command that brings them."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    with pytest.raises(UnavailableError) as caught:
        LocalModel.open("no-such-model")
    assert (caught.value.hint or "").startswith("innkeeper models install")


def test_window_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window that holds nothing is refused before anything is loaded."""
    monkeypatch.setattr(local, "find_model", lambda _name: WEIGHTS)
    monkeypatch.setattr(local, "read_gguf_head", lambda _path: SimpleNamespace(context_window=8192))
    with pytest.raises(UsageError, match="too small"):
        LocalModel.open(context_window=10)


class Broken:
    """An import that fails as told."""

    def __init__(self, error: ImportError) -> None:
        self.error = error

    def find_spec(self, name: str, *_: object) -> None:
        if name == "xllamacpp":
            self.fail()

    def fail(self) -> NoReturn:
        raise self.error


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (ModuleNotFoundError("No module named 'xllamacpp'"), "[local]"),
        (ImportError("libgomp.so.1: cannot open shared object file"), "libgomp1"),
        (ImportError("something else"), None),
    ],
    ids=["not installed", "no OpenMP", "other"],
)
def test_library_missing(monkeypatch: pytest.MonkeyPatch, error: ImportError, hint: str | None) -> None:
    """What is missing is said with the way to get it."""
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(error), *sys.meta_path])
    with pytest.raises(UnavailableError) as caught:
        engine._library()
    assert hint is None if caught.value.hint is None else hint and hint in caught.value.hint


@installed
def test_not_a_model(tmp_path: Path) -> None:
    """A file that the engine cannot load is a typed error."""
    (tmp_path / "x.gguf").write_bytes(b"GGUFnonsense")
    with pytest.raises(UnavailableError, match="cannot be loaded"):
        LocalEngine.start(tmp_path / "x.gguf", 256, 1, "key")


@pytest.mark.parametrize(
    ("environ", "cores", "threads"),
    [({"CI": "true"}, 8, 1), ({}, 1, 1), ({}, 2, 1), ({}, 4, 3), ({}, 64, local.MOST_THREADS)],
)
def test_threads(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], cores: int, threads: int) -> None:
    """One core is left to others, more than a few bring nothing, and CI gets one."""
    monkeypatch.setattr(local, "_cores", lambda: cores)
    assert default_threads(environ) == threads


@pytest.mark.parametrize(
    ("quota", "cores"), [("200000 100000", 2), ("50000 100000", 1), ("max 100000", None), ("", None)]
)
def test_cores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quota: str, cores: int | None) -> None:
    """A container's share of the processor counts, where there is one."""
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(local, "_CGROUP", tmp_path / "cpu.max")
    allowed = local._cores()
    assert allowed >= 1
    assert cores is None or allowed <= cores


def test_tokenizer_silent() -> None:
    """A tokenizer that does not answer is a typed error, not a number."""
    process = subprocess.Popen([sys.executable, "-c", ""], text=True)
    process.wait()
    with pytest.raises(UnavailableError, match="does not answer"):
        LocalEngine(process, "http://127.0.0.1:1", "key").post("/tokenize", {}, 1.0)


@installed
def test_the_engine_dies() -> None:
    """Where the other process is killed, a request is a typed error, and nothing waits."""
    opened = LocalEngine.start(WEIGHTS.path, 512, 1, "key")
    with LocalModel(opened, context_window=512) as model:
        opened._process.kill()
        opened._process.wait()
        with pytest.raises(HttpError, match="does not answer"):
            model.chat("any", MESSAGES)
        with pytest.raises(UnavailableError):
            opened.post("/tokenize", {"content": "x"}, 5.0)


@installed
@pytest.mark.parametrize("tries", [3, pytest.param(40, marks=pytest.mark.endurance)])
def test_interrupted_while_it_loads(tries: int) -> None:
    """Ctrl-C ends a command at once, whenever it comes, and leaves no process behind."""
    code = (
        "import sys; from pathlib import Path; from innkeeper.inference.local.engine import LocalEngine\n"
        "print('x', flush=True); engine = LocalEngine.start(Path(sys.argv[1]), 512, 1, 'key'); "
        "print(engine._process.pid, flush=True); sys.stdin.read()"
    )
    for number in range(tries):
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(WEIGHTS.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(number / tries)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        assert "KeyboardInterrupt" in err
        if out.strip():
            assert not _lives(int(out))


def _lives(pid: int) -> bool:
    """Whether a process is there, a while after its input has ended."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    return True
