"""The escape suite: every known way out of a Python sandbox, and every bomb, ends in a typed error or a harmless text."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from innkeeper.macros.smart import sandbox
from tests import shared
from tests.macros.smart.sandbox_host import TableHost
from tests.macros.smart.sandbox_probes import PROBES

CHILD = """
import json, resource, sys
from tests.macros.smart.sandbox_host import TableHost
from innkeeper.macros.smart.sandbox import SandboxError, run_text
import regex, _strptime
def used():
    return int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used() + 96 * 2**20,) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
def touched(event, details):
    if event == "open" and details[0] == "":
        return  # the parser looks for the file of a wrong line: the empty name is no file
    if event in {"open", "exec", "import", "os.system", "socket.connect", "subprocess.Popen", "marshal.loads", "ctypes.dlopen"}:
        print("TOUCHED", event, details, file=sys.stderr)
probes = json.load(sys.stdin)
sys.addaudithook(touched)
ends = []
for code in probes:
    try:
        ends.append("=" + run_text(code, TableHost({"x": {"y": 1}})))
    except SandboxError as error:
        ends.append(type(error).__name__)
print(json.dumps(ends))
"""


def ended(code: str) -> str:
    """The class of the error, or the text."""
    try:
        return "=" + sandbox.run_text(code, TableHost({"x": {"y": 1}}))
    except sandbox.SandboxError as error:
        return type(error).__name__


@pytest.mark.parametrize(("code", "end"), PROBES, ids=[f"{n}-{code[:30]}" for n, (code, _) in enumerate(PROBES)])
def test_probe(code: str, end: str) -> None:
    """The probe ends as it must, and nothing but a `SandboxError` comes out."""
    assert ended(code) == end


def test_there_are_enough() -> None:
    """More than a hundred probes, all different."""
    assert len({code for code, _ in PROBES}) == len(PROBES) > 300


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the size of the process where Linux tells it")
def test_all_in_a_small_process() -> None:
    """With 96 MB, no files or processes and a minute of CPU for all probes, each ends as it must; nothing is touched."""
    codes = [code for code, _ in PROBES if code.isascii() or "\ud800" not in code]
    # Measuring coverage in the child would need memory, and files that it may not open.
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(codes),
        capture_output=True,
        text=True,
        check=False,
        cwd=shared.ROOT,
        env={**unmeasured, "PYTHONPATH": f"{shared.ROOT / 'src'}{os.pathsep}{shared.ROOT}"},
        timeout=300,
    )
    assert done.stderr == ""
    wanted = [end for code, end in PROBES if code.isascii() or "\ud800" not in code]
    assert list(zip(codes, json.loads(done.stdout), strict=True)) == list(zip(codes, wanted, strict=True))


def test_errors_say_where() -> None:
    """Line, column, the line itself and a way to mend it are in the error."""
    with pytest.raises(sandbox.SandboxRuntimeError) as caught:
        sandbox.run("x = 1\nresult = '一' + round('x')", TableHost())
    error = caught.value
    assert error.where is not None
    assert (error.where.line, error.where.column) == (2, 16)
    assert error.where.excerpt == "result = '一' + round('x')"
    assert error.hint == "use legacy_num(...)"


def test_effects_before_a_failure_stay() -> None:
    """What was set before the failure is in the table afterwards."""
    host = TableHost()
    with pytest.raises(sandbox.SandboxRuntimeError, match="division by zero"):
        sandbox.run("setvar('x', 1) + 1/0", host)
    assert host.table == {"x": 1}


def test_refused_code_does_nothing() -> None:
    """Code that holds anything refused does not begin."""
    host = TableHost()
    with pytest.raises(sandbox.SandboxForbiddenError):
        sandbox.run("setvar('x', 1)\nopen('x')", host)
    assert host.table == {}
