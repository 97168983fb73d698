"""The `innkeeper` command: the root of all others, and the one way in and out of a run."""

import io
import os
import sys
from collections.abc import Sequence

import click

from innkeeper import __version__
from innkeeper.cli.lazy import LazyGroup
from innkeeper.cli.options import Settings
from innkeeper.cli.report import report
from innkeeper.cli.table import COMMANDS

__all__ = ["main", "root"]

_DEBUG = "INNKEEPER_DEBUG"
_COMPLETE = "_INNKEEPER_COMPLETE"


@click.group(cls=LazyGroup, entries=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "as_json", is_flag=True, help="Answer with JSON, also when a command fails.")
@click.option("--debug", is_flag=True, envvar=_DEBUG, help="Show the traceback of an unexpected error.")
@click.version_option(__version__, "-V", "--version", prog_name="innkeeper")
@click.pass_context
def root(ctx: click.Context, *, as_json: bool, debug: bool) -> None:
    """Turn cards, lorebooks, presets and chats into prompts, and say why each token is there."""
    ctx.obj = Settings(as_json=as_json, debug=debug)


def main(args: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; no exception leaves this function.

    A command returns None or its exit code. Exit codes: 0 done; those of `innkeeper.prompt.errors`; 2 wrong usage;
    70 a defect; 130 Ctrl-C; 141 the reader of the output went away.

    Args:
        args: the words after ``innkeeper``; those of the process where left out.
    """
    words = sys.argv[1:] if args is None else list(args)
    _never_fail_to_print()
    try:
        code = _run(list(words))  # click takes words off the list that it is given
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last stop: whatever it is gets reported
        return report(error, _settings(words))
    return code


def _run(words: list[str]) -> int:
    if _COMPLETE in os.environ:
        root.main(words, prog_name="innkeeper", complete_var=_COMPLETE)
    try:
        with root.make_context("innkeeper", words) as ctx:
            result = root.invoke(ctx)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help(), err=True)
        return error.exit_code
    except click.exceptions.Exit as ended:
        return ended.exit_code
    return result if isinstance(result, int) else 0


def _settings(words: list[str]) -> Settings:
    """What the words ask of an error report. Read by eye, since the words may be what is wrong."""
    options = words[: words.index("--")] if "--" in words else words
    debug = os.environ.get(_DEBUG, "").lower() not in {"", "0", "false", "f", "no", "n", "off"}
    return Settings(as_json="--json" in options, debug=debug or "--debug" in options)


def _never_fail_to_print() -> None:
    """Print what the terminal's encoding lacks, and lone surrogates, as escapes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
