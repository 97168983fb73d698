"""How long a user waits before anything happens: importing the package, asking for help, a word completed, a request made."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing

from benchmarks.case import Case
from benchmarks.provider import Provider

HELP = "from innkeeper.cli import main; main(['--help'])"
COMPLETION = (
    "import os; os.environ.update(_INNKEEPER_COMPLETE='bash_complete', COMP_WORDS='innkeeper ask --tavern s', COMP_CWORD='3'); "
    "from innkeeper.cli import main; main([])"
)
ASK = (
    "from innkeeper.cli import main; "
    "main(['ask', 'examples/wenna.png', 'Hello', '--model', 'm', '--base-url', 'http://localhost:1', '--dry-run'])"
)
STARTS = (
    ("import innkeeper", "import innkeeper"),
    ("innkeeper --help", HELP),
    ("a word completed", COMPLETION),
    ("a request made", ASK),
)


def cases() -> Iterator[Case]:
    """Fresh interpreters, each against one that does nothing."""
    for name, code in STARTS:
        yield Case(name, _python(code), _python("pass"), "an empty interpreter", "whole processes")
    with closing(Provider(thinking=0)) as provider, tempfile.TemporaryDirectory() as home:
        words = (
            "ask",
            "examples/wenna.png",
            "Hello",
            "--model",
            "m",
            "--base-url",
            f"http://127.0.0.1:{provider.port}",
        )
        environ = {**os.environ, "INNKEEPER_HOME": home, "INNKEEPER_CONFIG": os.devnull}

        def asked() -> float:
            start = time.perf_counter()
            command = [sys.executable, "-m", "innkeeper", *words]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environ)
            return provider.asked - start

        yield Case("a request on the wire", asked, note="from the start of the process", timed=True)


def _python(code: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
