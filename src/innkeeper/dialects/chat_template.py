"""Chat templates: the Jinja text that comes with a model and says how it was trained to read a conversation.

A template is somebody's program. It is rendered in a process of its own with limits on memory and time, unless the caller
vouches for it (``trusted_template=True``), which is some sixty milliseconds faster; steps are limited either way.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from innkeeper.dialects import template_engine
from innkeeper.lazy import install_line
from innkeeper.prompt.allowance import allowed, charge
from innkeeper.prompt.errors import FormatError, LimitError, UnavailableError, Where

MAX_TEMPLATE_CHARS: Final = 262_144
"""The longest chat template that is read, in characters (`LimitError`). The longest published ones have some 30,000."""

MAX_TEMPLATE_OUTPUT_CHARS: Final = 64 * 1024 * 1024
"""The longest prompt a chat template may make, in characters (`LimitError`)."""

MAX_TEMPLATE_FUEL: Final = 2_000_000
"""Steps of the template engine a rendering may take whatever the chat's length: at most some 60 ms (`LimitError`).

From minijinja 3.1 on, 64 characters that are printed are a step, and what a filter or a sum makes of as many three.
"""

FUEL_PER_MESSAGE: Final = 5_000
"""Further steps for each message. ChatML takes about 30, templates with tools a few hundred."""

MAX_TEMPLATE_MEMORY_BYTES: Final = 300 * 1024 * 1024
"""Address space, in bytes, of the process that renders an untrusted template, where the system can limit it (`LimitError`)."""

MAX_TEMPLATE_CPU_SECONDS: Final = 3
"""Seconds of the processor that process may take, where the system can limit it, or less as the build has (`LimitError`)."""

MAX_TEMPLATE_SECONDS: Final = 60.0
"""Seconds on the wall that process may take, also on a busy machine (`LimitError`)."""


SECONDS_A_STEP: Final = 1e-7
"""Seconds that one step of the allowance is worth, for the time of a child process."""

_ENGINE: Final = "templates"
_OUT_OF_TIME: Final = {-getattr(signal, name) for name in ("SIGXCPU", "SIGKILL") if hasattr(signal, name)}


def render_chat_template(
    template: str, variables: Mapping[str, Any], *, messages: int, now: str | None = None, trusted: bool = False
) -> str:
    """The text a template makes of ``variables`` (plain data). ``messages``, how many there are, sets how much it may do.

    ``now`` is the moment that ``strftime_now`` tells; without it the template has no such function. Raises
    `FormatError` with the line, `LimitError`, `AllowanceError`, and `UnavailableError` without the library.
    """
    if len(template) > MAX_TEMPLATE_CHARS:
        _limit("MAX_TEMPLATE_CHARS", MAX_TEMPLATE_CHARS, len(template))
    fuel = MAX_TEMPLATE_FUEL + FUEL_PER_MESSAGE * messages
    with allowed() as allowance:
        charge(_ENGINE, len(template))
        allowance.check_time(_ENGINE)
        job = {
            "template": template,
            "variables": variables,
            "fuel": fuel,
            "most": min(MAX_TEMPLATE_OUTPUT_CHARS, allowance.output),
            "seconds": allowance.seconds_left(),
            "now": now,
        }
        folder = _library()
        outcome = template_engine.render(job) if trusted else _apart(job, folder)
        if "text" in outcome:
            charge(_ENGINE, made=len(outcome["text"]))
            return str(outcome["text"])
        if outcome["kind"] == "TooLong" and int(outcome["error"]) <= MAX_TEMPLATE_OUTPUT_CHARS:
            charge(_ENGINE, made=int(outcome["error"]))
        return _failed(outcome, fuel)


def _library() -> str:
    spec = importlib.util.find_spec("minijinja")
    if spec is None or spec.origin is None:
        msg = "chat templates need the library minijinja"
        raise UnavailableError(msg, hint=install_line("'innkeeper[templates]'"))
    return str(Path(spec.origin).parent.parent)


def _apart(job: Mapping[str, Any], folder: str) -> dict[str, Any]:
    from innkeeper.processes.child import run_once

    cpu = min(MAX_TEMPLATE_CPU_SECONDS, math.ceil(job["seconds"]) + 1)  # its own start takes some of them
    limits = {"memory": MAX_TEMPLATE_MEMORY_BYTES, "cpu": cpu, "path": [folder]}
    command = [sys.executable, "-I", "-S", template_engine.__file__]
    # The command is this interpreter and a file of ours; what comes from outside goes through standard input.
    done = run_once(command, json.dumps({**job, **limits}).encode(), MAX_TEMPLATE_SECONDS)
    if done is None:
        _limit("MAX_TEMPLATE_SECONDS", MAX_TEMPLATE_SECONDS)
    code, output = done
    with contextlib.suppress(ValueError):
        outcome = json.loads(output)
        if isinstance(outcome, dict):
            charge(_ENGINE, int(outcome.pop("spent") / SECONDS_A_STEP))
            return outcome
    if code in _OUT_OF_TIME:
        return {"error": "", "kind": "TooSlow", "line": None}
    return {"error": "", "kind": "Died", "line": None}


def _failed(outcome: Mapping[str, Any], fuel: int) -> NoReturn:
    kind, line = outcome["kind"], outcome["line"]
    if kind == "OutOfFuel":
        _limit("MAX_TEMPLATE_FUEL", fuel)
    if kind == "TooLong":
        _limit("MAX_TEMPLATE_OUTPUT_CHARS", MAX_TEMPLATE_OUTPUT_CHARS, int(outcome["error"]))
    if kind == "TooSlow":
        _limit("MAX_TEMPLATE_CPU_SECONDS", MAX_TEMPLATE_CPU_SECONDS)
    if kind == "Died":
        _limit("MAX_TEMPLATE_MEMORY_BYTES", MAX_TEMPLATE_MEMORY_BYTES)
    where = Where(asset="chat_template", line=line)
    if kind == "Refused":
        message = f"the chat template refuses the messages: {outcome['error']}"
        hint = "repair=True lets roles alternate, system='leading' leaves one system message at the top"
        raise FormatError(message, where=where, hint=hint)
    raise FormatError(f"the chat template does not render: {outcome['error']}", where=where)


def _limit(name: str, allowed: float, actual: float | None = None) -> NoReturn:
    what = "the chat template"
    raise LimitError(what, limit=name, allowed=allowed, found=actual, where=Where(asset="chat_template"))
