"""The one place where an exception becomes words on stderr and an exit code."""

import json
import os
import sys
import traceback
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import click

from innkeeper.cli.options import Settings

__all__ = ["BROKEN_PIPE", "INTERNAL", "INTERRUPTED", "UNAVAILABLE", "Failure", "describe", "report"]

UNAVAILABLE: Final = 69
"""Exit code: a library or service that is needed is missing."""

INTERNAL: Final = 70
"""Exit code: a defect of Innkeeper."""

INTERRUPTED: Final = 130
"""Exit code: stopped with Ctrl-C."""

BROKEN_PIPE: Final = 141
"""Exit code: whoever read the output went away, as `head` does."""

MESSAGE_CHARS: Final = 500
"""How much of an unexpected exception's text is shown, in characters."""

_EXTRAS: Final = MappingProxyType(
    {
        "alembic": "library",
        "anthropic_tokenizer": "vocab",
        "cryptography": "library",
        "dbos": "jobs",
        "pydantic_monty": "python",
        "ray": "ray",
        "sqlalchemy": "library",
        "starlette": "serve",
        "tokenizers": "vocab",
        "uvicorn": "serve",
        "websockets": "serve",
        "xllamacpp": "local",
        "yaml": "library",
    }
)
"""Which extra brings a library that is not always installed."""


class Failure(NamedTuple):
    """A failed run: its exit code, the text for people and the facts for machines."""

    exit_code: int
    text: str
    facts: dict[str, Any]


def report(error: BaseException, settings: Settings) -> int:
    """Say on stderr what went wrong, in the way that ``settings`` ask for, and return the exit code."""
    if isinstance(error, BrokenPipeError):
        _forget_stdout()
        return BROKEN_PIPE
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return INTERRUPTED
    failure = describe(error)
    if settings.debug:
        sys.stderr.write("".join(traceback.format_exception(error)))
    sys.stderr.write(_as_json(failure) if settings.as_json else f"innkeeper: {_printable(failure.text)}\n")
    return failure.exit_code


def describe(error: BaseException) -> Failure:
    """Put any exception into words: ours by their own account, click's by theirs, a missing library, or a defect."""
    # Imported here since a run that succeeds has no use for it.
    from innkeeper.prompt.errors import InnkeeperError

    if isinstance(error, InnkeeperError):
        return Failure(error.exit_code, error.render(), error.to_dict())
    if isinstance(error, click.ClickException):
        return _usage(error)
    if isinstance(error, ModuleNotFoundError) and not (error.name or "innkeeper").startswith("innkeeper"):
        return _missing(error.name or "")
    return _defect(error)


def _usage(error: click.ClickException) -> Failure:
    message, context = error.format_message(), getattr(error, "ctx", None)
    hint = f"try '{context.command_path} --help'" if context else ""
    facts = {"kind": "usage", "message": message} | ({"hint": hint} if hint else {})
    return Failure(error.exit_code, message + (f"\nhint: {hint}" if hint else ""), facts)


def _missing(module: str) -> Failure:
    library = module.partition(".")[0]
    extra = _EXTRAS.get(library)
    message = f"this needs the library {library}, which is not installed"
    hint = f"pip install '{f'innkeeper[{extra}]' if extra else library}'"
    facts = {"kind": "unavailable", "message": message, "hint": hint}
    return Failure(UNAVAILABLE, f"{message}\nhint: {hint}", facts)


def _defect(error: BaseException) -> Failure:
    message = f"{type(error).__name__}: {error}"[:MESSAGE_CHARS]
    hint = "this is a defect of Innkeeper; --debug before the command shows where"
    return Failure(INTERNAL, f"internal error: {message}\nhint: {hint}", {"kind": "internal", "message": message})


def _as_json(failure: Failure) -> str:
    # Escaped to ASCII, so that no terminal or pipe can stumble over it.
    return json.dumps({"error": {**failure.facts, "exit_code": failure.exit_code}}, default=str) + "\n"


def _printable(text: str) -> str:
    """Show control characters as escapes: an error may quote a card, and a card must not drive the terminal."""
    return "".join(c if c in "\n\t" or c.isprintable() else ascii(c)[1:-1] for c in text)


def _forget_stdout() -> None:
    """Point stdout at nothing, so that Python's own flush at exit does not complain about the broken pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
