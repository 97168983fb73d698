"""The `innkeeper` command: the root of all others, and the only entry and exit of a run.

Every exception that ends a run becomes a message on stderr and an exit code here, and nowhere else.
"""

import gc
import io
import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import click

from innkeeper import __version__
from innkeeper.cli.app.commands import CliSettings, LazyGroup, asks_for_json, examples
from innkeeper.cli.app.table import BRIEF, MOVED, SECTIONS
from innkeeper.lazy import missing_library

_DEBUG = "INNKEEPER_DEBUG"
COMPLETE: Final = "_INNKEEPER_COMPLETE"
"""The environment variable with which a shell requests completions."""
WIDEST: Final = 120
"""Maximum columns of help; fewer on a narrower terminal."""


@click.group(
    cls=LazyGroup,
    sections=SECTIONS,
    brief=BRIEF,
    moved=MOVED,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples("innkeeper demo", 'innkeeper ask wenna.png "Is the reef safe?"'),
)
@click.option("--json", "as_json", is_flag=True, help="Answer with JSON, also when a command fails.")
@click.option("--debug", is_flag=True, envvar=_DEBUG, help="Show the traceback of an unexpected error.")
@click.version_option(__version__, "-V", "--version", prog_name="innkeeper")
@click.pass_context
def root(ctx: click.Context, *, as_json: bool, debug: bool) -> None:
    """Turn cards, lore and chats into prompts, and say why each token is there."""
    ctx.obj = CliSettings(as_json=as_json, debug=debug)


def main(args: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; no exception leaves this function.

    A command returns None or its exit code. Exit codes: 0 done; those of `innkeeper.prompt.errors`; 2 wrong usage;
    70 a defect; 130 Ctrl-C; 141 the reader of the output went away.

    Args:
        args: the words after ``innkeeper``; by default those of the process.
    """
    if args is None:  # a process of its own: a start makes much and throws little away
        gc.set_threshold(GARBAGE)
    words = sys.argv[1:] if args is None else list(args)
    _never_fail_to_print()
    try:
        code = _run(list(words))  # click takes words off the list that it is given
        if sys.stdout is not None:  # closed by whoever started us
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last stop: whatever it is gets reported
        return report(error, _settings(words))
    return code


def _run(words: list[str]) -> int:
    if COMPLETE in os.environ:
        root.main(words, prog_name="innkeeper", complete_var=COMPLETE)
    try:
        width = min(shutil.get_terminal_size().columns, WIDEST) - 2
        with root.make_context("innkeeper", words, terminal_width=width) as ctx:
            result = root.invoke(ctx)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help(), err=True)
        return error.exit_code
    except click.exceptions.Exit as ended:
        return ended.exit_code
    return result if isinstance(result, int) else 0


def _settings(words: list[str]) -> CliSettings:
    """Read the options for an error report without the parser, since the words themselves may be wrong."""
    options = words[: words.index("--")] if "--" in words else words
    debug = os.environ.get(_DEBUG, "").lower() not in {"", "0", "false", "f", "no", "n", "off"}
    return CliSettings(as_json=asks_for_json(options), debug=debug or "--debug" in options)


def _never_fail_to_print() -> None:
    """Print characters outside the terminal's encoding, and lone surrogates, as escapes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


UNAVAILABLE: Final = 69
"""Exit code: a required library or service is missing."""

INTERNAL: Final = 70
"""Exit code: a defect of Innkeeper."""

INTERRUPTED: Final = 130
"""Exit code: stopped with Ctrl-C."""

GARBAGE: Final = 250_000
"""Allocations before Python's garbage collector runs, in a process of the command line."""

BROKEN_PIPE: Final = 141
"""Exit code: the reader of the output closed it, as `head` does."""

MESSAGE_CHARS: Final = 500
"""Characters of an unexpected exception's text that are shown."""


class FailedRun(NamedTuple):
    """A failed run: its exit code, the text for people and the facts for machines."""

    exit_code: int
    text: str
    facts: dict[str, Any]


def report(error: BaseException, settings: CliSettings) -> int:
    """Report an error on stderr as ``settings`` request, and return the exit code."""
    if isinstance(error, BrokenPipeError):
        _forget_stdout()
        return BROKEN_PIPE
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return INTERRUPTED
    if isinstance(error, OSError) and not _flushes():
        _forget_stdout()
    failure = describe(error)
    if settings.debug:
        import traceback

        sys.stderr.write("".join(traceback.format_exception(error)))
    if settings.as_json:
        import json

        # Escaped to ASCII, so that no terminal or pipe can stumble over it.
        sys.stderr.write(json.dumps({"error": {**failure.facts, "exit_code": failure.exit_code}}, default=str) + "\n")
    else:
        # Control characters as escapes: an error may quote a card, and a card must not drive the terminal.
        text = "".join(c if c in "\n\t" or c.isprintable() else ascii(c)[1:-1] for c in failure.text)
        sys.stderr.write(f"innkeeper: {text}\n")
    return failure.exit_code


def describe(error: BaseException) -> FailedRun:
    """Describe any exception: one of ours, one of click's, a missing library, or a defect."""
    # Imported here since a run that succeeds has no use for it.
    from innkeeper.prompt.errors import InnkeeperError

    if isinstance(error, InnkeeperError):
        return FailedRun(error.exit_code, error.render(), error.to_dict())
    if isinstance(error, click.ClickException):
        return _usage(error)
    if isinstance(error, ModuleNotFoundError) and not (error.name or "innkeeper").startswith("innkeeper"):
        return _missing(error.name or "")
    if isinstance(error, OSError) and error.errno is not None:
        message = f"the system refuses: {error}"[:MESSAGE_CHARS]
        return FailedRun(UNAVAILABLE, message, {"kind": "unavailable", "message": message})
    message = f"{type(error).__name__}: {error}"[:MESSAGE_CHARS]
    hint = "this is a defect of Innkeeper; --debug before the command shows where"
    return FailedRun(INTERNAL, f"internal error: {message}\nhint: {hint}", {"kind": "internal", "message": message})


def _usage(error: click.ClickException) -> FailedRun:
    message, context = error.format_message(), getattr(error, "ctx", None)
    hint = f"try '{context.command_path} --help'" if context else ""
    facts = {"kind": "usage", "message": message} | ({"hint": hint} if hint else {})
    return FailedRun(error.exit_code, message + (f"\nhint: {hint}" if hint else ""), facts)


def _missing(module: str) -> FailedRun:
    message, hint = missing_library(module)
    facts = {"kind": "unavailable", "message": message, "hint": hint}
    return FailedRun(UNAVAILABLE, f"{message}\nhint: {hint}", facts)


def _flushes() -> bool:
    """Whether the rest of the output can be flushed; a closed stdout has nothing to flush."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        return False
    return True


def _forget_stdout() -> None:
    """Redirect stdout to nothing, so that Python's flush at exit does not fail on a broken pipe or a full disk."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
