"""Run inputs each in a fresh process with limits on its memory and time, and say what each took.

A process that has imported everything once is forked for each input, so that hundreds take seconds rather than minutes.
``python -m tests.limits.isolated [NAME...]`` prints a line for each hostile request; names may be parts of names.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from innkeeper.cli.app.root import INTERNAL
from innkeeper.cli.app.root import main as command_line
from innkeeper.prompt import BuildRequest, InnkeeperError, PipelineError
from innkeeper.service import Request
from innkeeper.taverns import TAVERNS
from tests.limits.hostile import Hostile, hostile_requests
from tests.service.gateway.calls import gateway

__all__ = ["DOORS", "MEBIBYTES", "SECONDS", "Outcome", "apart", "command", "run_apart", "warm"]

ADDRESS_SPACE: Final = 1536 * 1024 * 1024
"""Bytes of addresses a process may have over those of the one it was forked from; what it uses is measured apart."""

CALM_SECONDS: Final = 2.0
"""Of the processor that an input may take where nothing else runs: what `main` marks."""

SECONDS: Final = 4.0
"""The same beside other work: a processor that is shared counts more time for the same."""

MEBIBYTES: Final = 300
"""Of memory that an input may take."""

KILLED_AFTER: Final = 8
"""Seconds of the processor after which the input is taken to hang."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an input came to: ``result`` is ``built``, an error's class, or how the process ended."""

    result: str
    typed: bool
    seconds: float
    """Of the processor, reading the request included."""
    mebibytes: float
    """The most memory held, over what the fresh process had."""


def _library(body: bytes, _path: str) -> str:
    request = BuildRequest.from_json(body)
    TAVERNS[request.tavern].build(request).to_messages()
    return "built"


def _command_line(body: bytes, _path: str) -> str:
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(body)
        file.flush()
        return command("build", file.name, "--json")


def command(*words: str) -> str:
    """What a command line comes to. Raises `AssertionError` where it is a defect that no error foresees."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = command_line(words)
    assert code != INTERNAL, words
    return "built" if code == 0 else f"exit {code}"


def _operation(body: bytes, path: str) -> str:
    reply = gateway().answer(Request.of("POST", f"/api/{path}", {"Content-Type": "application/json"}, body))
    return "built" if reply.status == 200 else f"status {reply.status}"


DOORS: Final[dict[str, Callable[[bytes, str], str]]] = {
    "library": _library,
    "command line": _command_line,
    "operation": _operation,
}


def run_apart(hostile: Hostile, door: str) -> Outcome:
    """The outcome of one input at one door."""
    body = hostile.body()
    return apart(lambda: DOORS[door](body, hostile.path))


def apart(work: Callable[[], str]) -> Outcome:
    """The outcome of work in a process of its own: of three runs the quickest, where the first takes more than `SECONDS`."""
    outcome = _apart(work)
    for _ in range(2):
        if outcome.seconds <= SECONDS:
            break
        outcome = min(outcome, _apart(work), key=lambda one: one.seconds)
    return outcome


def _apart(work: Callable[[], str]) -> Outcome:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(work, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status, usage = os.wait4(child, 0)
    seconds = usage.ru_utime + usage.ru_stime
    if not said:
        return Outcome(f"killed by {signal.Signals(os.WTERMSIG(status)).name}", False, seconds, -1)
    result = json.loads(said)
    return Outcome(result["result"], result["typed"], seconds, usage.ru_maxrss / 1024 - result["before"])


def _child(work: Callable[[], str], writing: int) -> None:
    """Never returns."""
    gc.freeze()  # what the tests hold is not this process's to walk through
    before = _resident()
    _limit()
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(), io.StringIO(), io.StringIO()
    try:
        facts: dict[str, Any] = {"result": work(), "typed": True}
    except PipelineError as error:  # of a step; what it stems from says whether anybody has foreseen it
        cause = error.__cause__ or error
        facts = {"result": type(cause).__name__, "typed": isinstance(cause, InnkeeperError)}
    except InnkeeperError as error:
        facts = {"result": type(error).__name__, "typed": True}
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is what is looked for
        facts = {"result": f"{type(error).__name__}: {error}"[:200], "typed": False}
    os.write(writing, json.dumps({**facts, "before": before}).encode())
    os._exit(0)


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def _limit() -> None:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    most = pages * resource.getpagesize() + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (KILLED_AFTER, KILLED_AFTER))


def main(parts: list[str]) -> None:
    """Print a line for each input whose name has one of the parts."""
    warm()
    for name, hostile in hostile_requests().items():
        if parts and not any(part in name for part in parts):
            continue
        outcome = run_apart(hostile, "operation" if hostile.path else "library")
        bad = not outcome.typed or outcome.seconds > CALM_SECONDS or outcome.mebibytes > MEBIBYTES
        mark = "!!" if bad else "  "
        numbers = f"{mark} {outcome.seconds:6.2f} s {outcome.mebibytes:6.0f} MiB"
        sys.__stdout__.write(f"{numbers} {name:60} {outcome.result}\n")  # type: ignore[union-attr]
        sys.__stdout__.flush()  # type: ignore[union-attr]


def warm() -> None:
    """Everything that a first build imports and compiles."""
    for tavern in ("silly", "vibe", "smart"):
        TAVERNS[tavern].build(BuildRequest.of({"tavern": tavern, "message": "{{user}} /a/"})).to_messages()
    _operation(b'{"text": "{{python:1}}"}', "modules/smarttavern/macro/process_text")


if __name__ == "__main__":
    main(sys.argv[1:])
