"""One run of the command line: what it prints, where, and its exit code."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click
import pytest

from innkeeper import __version__
from innkeeper.cli.app.root import main, root
from innkeeper.lazy import install_line
from innkeeper.prompt.errors import InnkeeperError, InputError, Where


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Add a command ``act`` which does what the test says."""

    def add(action: Callable[[], Any]) -> None:
        act = click.Command("act", callback=action)
        monkeypatch.setattr(root, "commands", {"act": act})

    return add


def fail_with(error: BaseException) -> Callable[[], NoReturn]:
    """A command that raises ``error``."""

    def act() -> NoReturn:
        raise error

    return act


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """``--version`` prints the version and succeeds."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"innkeeper, version {__version__}\n"


def test_without_words_help_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """No command at all is wrong usage: the help, on stderr, and exit code 2."""
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Usage: innkeeper")


def test_words_default_to_those_of_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without an argument, `main` reads the command line of the process."""
    monkeypatch.setattr(sys, "argv", ["innkeeper", "--version"])
    assert main() == 0
    assert __version__ in capsys.readouterr().out


@dataclass(frozen=True)
class Case:
    name: str
    error: BaseException
    code: int
    kind: str
    text: str


FAILURES = [
    Case("ours", InnkeeperError("it broke"), 1, "innkeeper", "it broke"),
    Case(
        "ours with a place and a hint",
        InputError("not a number", where=Where(asset="a.json", line=3, column=7), hint="write a number"),
        InputError.exit_code,
        "input",
        "a.json:3:7: not a number\nhint: write a number",
    ),
    Case("click's", click.UsageError("no such option"), 2, "usage", "no such option"),
    Case(
        "missing library of an extra",
        ModuleNotFoundError("No module named 'xllamacpp'", name="xllamacpp"),
        69,
        "unavailable",
        "this needs the library xllamacpp, which is not installed\nhint: " + install_line("'innkeeper[local]'"),
    ),
    Case(
        "missing library of nobody",
        ModuleNotFoundError("No module named 'zoo'", name="zoo.lion"),
        69,
        "unavailable",
        "this needs the library zoo, which is not installed\nhint: pip install 'zoo'",
    ),
    Case(
        "missing module of our own",
        ModuleNotFoundError("No module named 'innkeeper.attic'", name="innkeeper.attic"),
        70,
        "internal",
        "internal error: ModuleNotFoundError: No module named 'innkeeper.attic'",
    ),
    Case("unexpected", ValueError("odd"), 70, "internal", "internal error: ValueError: odd"),
]


@pytest.mark.parametrize("case", FAILURES, ids=lambda case: case.name)
class TestFailure:
    """A command that fails."""

    def test_for_people(self, case: Case, command: Callable[[Any], None], capsys: pytest.CaptureFixture[str]) -> None:
        """People get a clean text on stderr, without a traceback, and the exit code of the error."""
        command(fail_with(case.error))
        assert main(["act"]) == case.code
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"innkeeper: {case.text}")
        assert "Traceback" not in err

    def test_for_machines(self, case: Case, command: Callable[[Any], None], capsys: pytest.CaptureFixture[str]) -> None:
        """With ``--json`` the same error is one line of JSON on stderr."""
        command(fail_with(case.error))
        assert main(["--json", "act"]) == case.code
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        facts = json.loads(err)["error"]
        assert (facts["kind"], facts["exit_code"]) == (case.kind, case.code)


@pytest.mark.parametrize("how", ["option", "environment"])
def test_debug_shows_the_traceback(
    how: str, command: Callable[[Any], None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ``--debug`` or ``INNKEEPER_DEBUG`` the traceback comes before the message."""
    command(fail_with(ValueError("odd")))
    if how == "environment":
        monkeypatch.setenv("INNKEEPER_DEBUG", "1")
    assert main(["act"] if how == "environment" else ["--debug", "act"]) == 70
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert err.index("Traceback") < err.index("internal error")


@pytest.mark.parametrize("value", ["", "0", "false", "no"])
def test_debug_can_be_said_to_be_off(
    value: str, command: Callable[[Any], None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty or negative ``INNKEEPER_DEBUG`` shows no traceback."""
    command(fail_with(ValueError("odd")))
    monkeypatch.setenv("INNKEEPER_DEBUG", value)
    assert main(["act"]) == 70
    assert "Traceback" not in capsys.readouterr().err


def test_json_after_double_dash_is_no_option(
    command: Callable[[Any], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """A word after ``--`` is an argument, even if it looks like ``--json``."""
    command(fail_with(ValueError("odd")))
    assert main(["act", "--", "--json"]) == 2
    assert capsys.readouterr().err.startswith("innkeeper: ")


def test_control_characters_of_an_error_do_not_reach_the_terminal(
    command: Callable[[Any], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """An error that quotes escape sequences shows them instead of sending them."""
    command(fail_with(InnkeeperError("name \x1b[31mred\x07 \u202eback \ud800 船")))
    main(["act"])
    err = capsys.readouterr().err
    assert "name \\x1b[31mred\\x07 \\u202eback \\ud800 船" in err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()], ids=["ctrl-c", "abort"])
def test_interrupted(error: BaseException, command: Callable[[Any], None], capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C ends quietly with 130."""
    command(fail_with(error))
    assert main(["act"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("result", "code"), [(None, 0), (3, 3), ("text", 0)])
def test_a_command_may_return_its_exit_code(result: object, code: int, command: Callable[[Any], None]) -> None:
    """An integer that a command returns is the exit code; anything else is success."""
    command(lambda: result)
    assert main(["act"]) == code


def test_context_exit_is_the_exit_code(command: Callable[[Any], None]) -> None:
    """``ctx.exit(4)`` in a command gives exit code 4."""
    command(lambda: click.get_current_context().exit(4))
    assert main(["act"]) == 4


def test_lone_surrogates_can_be_printed(command: Callable[[Any], None], capsys: pytest.CaptureFixture[str]) -> None:
    """Text that no encoding can carry comes out as an escape and fails nothing."""
    command(lambda: print("a\ud800b"))  # noqa: T201 - the command's own output
    assert main(["act"]) == 0
    assert capsys.readouterr().out == "a\\ud800b\n"


CLOSED_PIPE = """
import sys, click
from innkeeper.cli.app.root import main, root
root.add_command(click.Command("flood", callback=lambda: [print("x" * 1000) for _ in range(1000)] and None))
sys.exit(main(["flood"]))
"""


def test_closed_pipe_is_quiet() -> None:
    """When the reader of the output goes away, the run ends without a word."""
    with subprocess.Popen(
        [sys.executable, "-c", CLOSED_PIPE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        err = run.stderr.read()
    assert (run.returncode, err) == (141, "")


def test_shell_completion_lists_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The shell's completion protocol answers instead of running a command."""
    monkeypatch.setenv("_INNKEEPER_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "innkeeper --ver")
    monkeypatch.setenv("COMP_CWORD", "1")
    with pytest.raises(SystemExit):
        main([])
    assert "--version" in capsys.readouterr().out


def test_stdout_closed(command: Callable[[Callable[[], Any]], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A command whose stdout was closed beforehand still runs to its end."""
    command(lambda: 3)
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["act"]) == 3


def test_what_the_system_refuses_is_not_a_defect(
    command: Callable[[Callable[[], Any]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """An error of the operating system is told in its own words."""
    command(fail_with(OSError(28, "No space left on device")))
    assert main(["act"]) == 69
    assert capsys.readouterr().err == "innkeeper: the system refuses: [Errno 28] No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_stdout_full() -> None:
    """A full disk behind stdout is said once, and Python's flush at exit adds nothing."""
    with Path("/dev/full").open("wb") as full:
        code = "import sys; from innkeeper.cli.app.root import main; sys.exit(main(['--version']))"
        run = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, check=False)
    assert run.returncode == 69
    assert run.stderr.decode() == "innkeeper: the system refuses: [Errno 28] No space left on device\n"
