"""What is made when it is first wanted is made by one thread."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import msgspec
import pytest

from innkeeper.prompt.typed.once import convert, decode, once, unpack
from tests.shared import ROOT

THREADS = 8

RACE = """
import sys, threading
from innkeeper.gate.words.lexicon import builtin_lexicon
from innkeeper.gate.gate import TierPolicy
from innkeeper.prompt.typed.once import convert
sys.setswitchinterval(1e-6)
barrier = threading.Barrier(4)
said = []
def use():
    barrier.wait()
    said.append((builtin_lexicon().version, convert({}, TierPolicy).version))
threads = [threading.Thread(target=use) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(set(said)) == 1 and len(said) == 4, said
"""


class Inner(msgspec.Struct, frozen=True):
    number: int = 0


class Outer(msgspec.Struct, frozen=True):
    inner: tuple[Inner, ...] = ()


def test_made_once() -> None:
    """Threads that come together get the one value that the first of them made."""
    made, barrier = [], Barrier(THREADS)

    @once
    def make() -> object:
        """A new object."""
        made.append(1)
        return object()

    def use(_: int) -> object:
        barrier.wait()
        return make()

    with ThreadPoolExecutor(THREADS) as pool:
        values = set(pool.map(use, range(THREADS)))
    assert len(values) == len(made) == 1
    assert make.__doc__ == "A new object."


def test_a_failure_is_tried_again() -> None:
    """What could not be made is tried again by who asks next."""
    answers = iter([ValueError("no"), "yes"])

    @once
    def make() -> object:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(ValueError, match="no"):
        make()
    assert make() == "yes"
    assert make() == "yes"


def test_as_msgspec_does_it() -> None:
    """The same values and the same errors."""
    assert convert({"inner": [{"number": 1}]}, Outer) == Outer((Inner(1),))
    assert convert({"number": "1"}, Inner, strict=False) == Inner(1)
    assert convert(None, Inner | None) is None
    assert decode(b'{"inner":[{}]}', Outer) == Outer((Inner(),))
    assert unpack(msgspec.msgpack.encode(Outer()), Outer) == Outer()
    with pytest.raises(msgspec.ValidationError, match="number must be a whole number, not text"):
        convert({"number": "1"}, Inner)
    with pytest.raises(msgspec.DecodeError):
        decode("{", Outer)


def test_the_first_reader_of_a_type() -> None:
    """Four threads that read a type for the first time at once: the process lives."""
    subprocess.run([sys.executable, "-c", RACE], check=True)


def trees(word: str) -> Iterator[tuple[Path, ast.Module]]:
    """The syntax trees of our modules that hold a word."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_bytes()
        if word.encode() in text:
            yield path, ast.parse(text)


READERS = {
    "msgspec.convert",
    "msgspec.json.decode",
    "msgspec.json.Decoder",
    "msgspec.msgpack.decode",
    "msgspec.yaml.decode",
}


def test_nobody_else_reads_into_types() -> None:
    """Data becomes a type here alone: everywhere else a type could be read for the first time by two threads."""
    others, names = [], {name.rpartition(".")[2] for name in READERS}
    for path, tree in trees("msgspec"):
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func) if getattr(call.func, "attr", "") in names else ""
            untyped = (
                name in {"msgspec.json.decode", "msgspec.msgpack.decode"}
                and len(call.args) == 1
                and not {"type", "dec_hook", None} & {keyword.arg for keyword in call.keywords}
            )
            if name in READERS and not untyped and path.name != "once.py":
                others.append(f"{path.relative_to(ROOT)}:{call.lineno}: {name}")
    assert others == []


def test_what_takes_no_arguments_is_made_once() -> None:
    """`functools.cache` lets two threads make the same thing: a table, a registry, a packaged list is for `once`."""
    others = []
    for path, tree in trees("cache"):
        functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        for function in functions:
            cached = any("cache" in ast.unparse(name).partition("(")[0] for name in function.decorator_list)
            if cached and not ast.unparse(function.args):
                others.append(f"{path.relative_to(ROOT)}:{function.lineno}: {function.name}")
    assert others == []
