"""The command mcp: how it ends, and what it says where it cannot begin."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from innkeeper.cli.app.root import main
from innkeeper.cli.mcp import server as server_module

COMMAND = [sys.executable, "-m", "innkeeper", "mcp"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    """Ctrl-C ends a server that waits for its input."""
    with subprocess.Popen([*COMMAND, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert b'"id":1' in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == -signal.SIGINT


def test_where_it_cannot_be_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the folder, or without the library, the command says what is missing and how to get it."""
    assert main(["mcp", str(tmp_path / "nowhere")]) == 69
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setattr(server_module, "require", _missing)
    assert main(["mcp", str(tmp_path)]) == 69
    assert "[mcp]" in capsys.readouterr().err


def _missing(module: str) -> None:
    from innkeeper.lazy import _for_users

    raise _for_users(ModuleNotFoundError(name=module))
