"""Check what a change touches: ``python scripts/quick.py [--base REV]``, or ``make quick``.

Style and types of the whole (both remember what they have seen), then the tests of the change: each changed test file, and for
each changed module its mirrored test file and those test files that import it. Slow tests are left out.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
MOST_FILES: Final = 40
"""Test files in one quick run; a change that touches more wants `make test`."""


def changed(base: str) -> list[Path]:
    """Files that differ from ``base``, untracked ones included, that are still there."""
    listed = (("diff", "--name-only", base), ("ls-files", "--others", "--exclude-standard"))
    names = [name for words in listed for name in _git(*words)]
    return [path for name in dict.fromkeys(names) if (path := ROOT / name).suffix == ".py" and path.exists()]


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S607 - any git
    return done.stdout.splitlines()


def tests_of(paths: Iterable[Path]) -> Iterator[Path]:
    """The test files of changed files: their own, the mirrored ones, then those that import a changed module."""
    everything = sorted((ROOT / "tests").rglob("test_*.py"))
    modules = []
    for path in paths:
        if path in everything:
            yield path
        elif path.is_relative_to(ROOT / "src" / "innkeeper"):
            below = path.relative_to(ROOT / "src" / "innkeeper")
            yield ROOT / "tests" / below.with_name(f"test_{path.name}")
            modules.append(re.escape(".".join(("innkeeper", *below.with_suffix("").parts)).removesuffix(".__init__")))
        elif path.is_relative_to(ROOT / "tests"):
            modules.append(re.escape(".".join(path.relative_to(ROOT).with_suffix("").parts)))
    imports = re.compile(rf"^(?:from|import) (?:{'|'.join(modules)})\b", re.MULTILINE)
    if modules:
        yield from (test for test in everything if imports.search(test.read_text(encoding="utf-8")))


def main() -> int:
    """Run the checks side by side with nothing else; the exit code is that of the first which fails."""
    parser = argparse.ArgumentParser(description="Check what a change touches.")
    parser.add_argument("--base", default="HEAD", help="what counts as changed is all since this revision")
    tests = [test for test in dict.fromkeys(tests_of(changed(parser.parse_args().base))) if test.exists()]
    python = [sys.executable, "-m"]
    commands = [["ruff", "check"], ["ruff", "format", "--check"], ["mypy"]]
    if len(tests) > MOST_FILES:
        print(f"{len(tests)} test files are touched: the first {MOST_FILES} run; `make test` runs all")
    if tests:
        commands.append(["pytest", "-q", "-x", "-n", "auto", "--dist", "loadfile", "-m", "not slow and not endurance"])
        commands[-1] += [str(test.relative_to(ROOT)) for test in tests[:MOST_FILES]]
    for command in commands:
        if code := subprocess.run([*python, *command], cwd=ROOT, check=False).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
