"""How long a user waits before anything happens: importing the package, asking for help, a word completed, a request made."""

import subprocess
import sys
from collections.abc import Callable, Iterator

from benchmarks.case import Case

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


def _python(code: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
