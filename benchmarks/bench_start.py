"""How long a user waits before anything happens: importing the package, asking for help."""

import subprocess
import sys
from collections.abc import Callable, Iterator

from benchmarks.case import Case

HELP = "from innkeeper.cli import main; main(['--help'])"


def cases() -> Iterator[Case]:
    """Fresh interpreters, each against one that does nothing."""
    for name, code in (("import innkeeper", "import innkeeper"), ("innkeeper --help", HELP)):
        yield Case(name, _python(code), _python("pass"), "an empty interpreter", "whole processes")


def _python(code: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
