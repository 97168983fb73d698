"""Chat templates: the Jinja text that comes with a model and says how it was trained to read a conversation.

A template is somebody's program. It is rendered in a process of its own with limits on memory and time, unless the caller
vouches for it (``trusted_template=True``), which is some sixty milliseconds faster; steps are limited either way.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from innkeeper.dialects import template_engine
from innkeeper.prompt.errors import FormatError, LimitError, UnavailableError, Where

__all__ = ["render_chat_template"]

MAX_TEMPLATE_CHARS: Final = 262_144
"""The longest chat template that is read, in characters. The longest published ones have some 30,000."""

MAX_TEMPLATE_OUTPUT_CHARS: Final = 64 * 1024 * 1024
"""The longest prompt a chat template may make, in characters."""

TEMPLATE_FUEL: Final = 200_000
"""Steps of the template engine a rendering may take whatever the chat's length."""

TEMPLATE_FUEL_PER_MESSAGE: Final = 5_000
"""Further steps for each message. ChatML takes about 30, templates with tools a few hundred."""

TEMPLATE_MEMORY_BYTES: Final = 1024 * 1024 * 1024
"""Address space of the process that renders an untrusted template, where the system can limit it."""

TEMPLATE_CPU_SECONDS: Final = 10
"""Processor time of that process, where the system can limit it."""

TEMPLATE_SECONDS: Final = 20.0
"""Wall time of that process."""


def render_chat_template(
    template: str, variables: Mapping[str, Any], *, messages: int, now: str | None = None, trusted: bool = False
) -> str:
    """The text a template makes of ``variables`` (plain data). ``messages``, how many there are, sets how much it may do.

    ``now`` is the moment that ``strftime_now`` tells; without it the template has no such function. Raises
    `FormatError` with the line, `LimitError`, and `UnavailableError` without the library.
    """
    if len(template) > MAX_TEMPLATE_CHARS:
        _limit("MAX_TEMPLATE_CHARS", MAX_TEMPLATE_CHARS, len(template))
    fuel = TEMPLATE_FUEL + TEMPLATE_FUEL_PER_MESSAGE * messages
    job = {
        "template": template,
        "variables": variables,
        "fuel": fuel,
        "most": MAX_TEMPLATE_OUTPUT_CHARS,
        "now": now,
    }
    folder = _library()
    outcome = template_engine.render(job) if trusted else _apart(job, folder)
    if "text" not in outcome:
        _failed(outcome, fuel)
    return str(outcome["text"])


def _library() -> str:
    found = importlib.util.find_spec("minijinja")
    if found is None or found.origin is None:
        msg = "chat templates need the library minijinja"
        raise UnavailableError(msg, hint="pip install 'innkeeper[templates]'")
    return str(Path(found.origin).parent.parent)


def _apart(job: Mapping[str, Any], folder: str) -> dict[str, Any]:
    limits = {"memory": TEMPLATE_MEMORY_BYTES, "cpu": TEMPLATE_CPU_SECONDS, "path": [folder]}
    command = [sys.executable, "-I", "-S", template_engine.__file__]
    try:
        # The command is this interpreter and a file of ours; what comes from outside goes through standard input.
        done = subprocess.run(  # noqa: S603
            command,
            input=json.dumps({**job, **limits}).encode(),
            capture_output=True,
            timeout=TEMPLATE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        _limit("TEMPLATE_SECONDS", TEMPLATE_SECONDS)
    with contextlib.suppress(ValueError):
        outcome = json.loads(done.stdout)
        if isinstance(outcome, dict):
            return outcome
    return {"error": "", "kind": "Died", "line": None}


def _failed(outcome: Mapping[str, Any], fuel: int) -> NoReturn:
    kind, line = outcome["kind"], outcome["line"]
    if kind == "OutOfFuel":
        _limit("TEMPLATE_FUEL", fuel)
    if kind == "TooLong":
        _limit("MAX_TEMPLATE_OUTPUT_CHARS", MAX_TEMPLATE_OUTPUT_CHARS, int(outcome["error"]))
    if kind == "Died":
        _limit("TEMPLATE_MEMORY_BYTES", TEMPLATE_MEMORY_BYTES)
    where = Where(asset="chat_template", line=line)
    if kind == "Refused":
        message = f"the chat template refuses the messages: {outcome['error']}"
        hint = "repair=True lets roles alternate, system='leading' leaves one system message at the top"
        raise FormatError(message, where=where, hint=hint)
    raise FormatError(f"the chat template does not render: {outcome['error']}", where=where)


def _limit(name: str, allowed: float, found: float | None = None) -> NoReturn:
    what = "the chat template"
    raise LimitError(what, limit=name, allowed=allowed, found=found, where=Where(asset="chat_template"))
