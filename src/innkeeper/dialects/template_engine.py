"""Renders one chat template. Also a program: a job as JSON on standard input, its outcome as JSON on standard output.

As a program it is started without site packages and must import nothing of this project; `innkeeper.dialects.chat_template`
starts it. The template language is Jinja as chat templates use it, by minijinja, which counts steps (*fuel*) but not memory:
that is why templates nobody vouches for are rendered in a process with a memory limit.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

_MAX_INDENT: Final = 8
_MAX_FORMAT: Final = 100


class _SlowError(Exception):
    """The template has had its time. Steps do not count what a value costs that becomes JSON."""


class _RefusedError(Exception):
    """The template called ``raise_exception``."""


def render(job: Mapping[str, Any]) -> dict[str, Any]:
    """``{text}``, or ``{error, kind, line}``: the job has template, variables, fuel, most (characters), seconds, now."""
    import minijinja

    refused: list[str] = []
    until = time.thread_time() + job["seconds"]

    def tojson(value: Any, indent: int | None = None, **_options: Any) -> str:
        if time.thread_time() > until:
            raise _SlowError
        spaces = None if indent is None else max(0, min(indent, _MAX_INDENT))
        return json.dumps(value, ensure_ascii=False, indent=spaces)

    def raise_exception(message: Any = "") -> None:
        refused.append(str(message))
        raise _RefusedError

    environment = minijinja.Environment(trim_blocks=True, lstrip_blocks=True, pycompat=True)
    environment.fuel = job["fuel"]
    environment.add_global("raise_exception", raise_exception)
    environment.add_filter("tojson", tojson)
    if job.get("now"):
        environment.add_global("strftime_now", lambda form: _formatted(job["now"], form))
    try:
        text = environment.render_str(job["template"], "chat_template", **job["variables"])
    except _SlowError:
        return {"error": "", "kind": "TooSlow", "line": None}
    except minijinja.TemplateError as error:
        kind = "TooSlow" if isinstance(error.__cause__, _SlowError) else "Refused" if refused else str(error.kind)
        return {"error": refused[0] if refused else str(error.message), "kind": kind, "line": error.line}
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
        _RefusedError,
    ) as error:
        return {
            "error": refused[0] if refused else str(error),
            "kind": "Refused" if refused else "Failed",
            "line": None,
        }
    return {"text": text} if len(text) <= job["most"] else {"error": str(len(text)), "kind": "TooLong", "line": None}


def _formatted(now: str, form: str) -> str:
    return datetime.fromisoformat(now).strftime(str(form)[:_MAX_FORMAT])


def main() -> None:
    """Limit this process, read the job, write the outcome."""
    job = json.load(sys.stdin)
    sys.path += job["path"]
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (job["memory"], job["memory"]))
        resource.setrlimit(resource.RLIMIT_CPU, (job["cpu"], job["cpu"]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        pass
    outcome = render(job)
    json.dump({**outcome, "spent": time.process_time()}, sys.stdout)


if __name__ == "__main__":
    main()
