"""Fuzz the parsers: ``python scripts/fuzz.py [TARGET...] [--seconds N] [--seed N]``.

Each target runs in a process of its own, for 600 seconds unless told otherwise, two at a time on two cores. Inputs that
crash, hang or take too much memory are written to a folder, one file each with the traceback beside it; the exit code is
then 1. A folder ``--corpus`` with one folder for each target gives more inputs to begin with and, with ``--keep``, gets
those that led somewhere new.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.fuzz.engine import Crash, Fuzzer  # noqa: E402 - the checkout must be on the path first
from tests.fuzz.targets import TARGETS  # noqa: E402

SECONDS: Final = 600.0


def main(args: Sequence[str] | None = None) -> int:
    """Run the targets that the words name, all where none does."""
    options = _parser().parse_args(args)
    unknown = set(options.targets) - TARGETS.keys()
    if unknown:
        print(f"no target {min(unknown)!r}; there are: {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    if options.alone:
        return _run_here(options.targets[0], options)
    names = options.targets or list(TARGETS)
    with ThreadPoolExecutor(options.jobs or os.cpu_count() or 1) as pool:
        return max(pool.map(lambda name: _run_apart(name, options), names), default=0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Fuzz the parsers.")
    parser.add_argument("targets", nargs="*", help=f"what to fuzz, all by default: {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time for each target (default 600)")
    parser.add_argument("--seed", type=int, default=None, help="repeat a run; drawn from the clock by default")
    parser.add_argument("--jobs", type=int, default=None, help="targets at a time; one a core by default")
    parser.add_argument("--corpus", type=Path, default=None, help="a folder with more inputs, one folder a target")
    parser.add_argument("--keep", action="store_true", help="write inputs that led somewhere new to the corpus")
    parser.add_argument("--findings", type=Path, default=ROOT / "fuzz-findings", help="where crashes are written to")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    return parser


def _run_apart(name: str, options: argparse.Namespace) -> int:
    """Run one target in a process of its own, so that a crash of the interpreter is found too."""
    words = [name, "--alone", "--seconds", str(options.seconds), "--findings", str(options.findings)]
    words += ["--seed", str(options.seed)] if options.seed is not None else []
    words += ["--corpus", str(options.corpus)] if options.corpus else []
    words += ["--keep"] if options.keep else []
    done = subprocess.run([sys.executable, __file__, *words], check=False)
    if done.returncode not in {0, 1}:
        print(f"{name}: the process ended with {done.returncode}", file=sys.stderr)
    return min(abs(done.returncode), 1)


def _run_here(name: str, options: argparse.Namespace) -> int:
    seed = int(time.time()) if options.seed is None else options.seed  # noqa: TID251 - printed, and can be given
    folder = options.corpus / name if options.corpus else None
    corpus = [path.read_bytes() for path in sorted(folder.glob("*"))] if folder and folder.is_dir() else []
    fuzzer = Fuzzer(TARGETS[name], seed, corpus)
    known = set(fuzzer.kept)
    report = fuzzer.run(seconds=options.seconds)
    print(report, flush=True)
    for crash in report.crashes:
        _write_crash(options.findings, crash)
    if options.keep and folder:
        _write_corpus(folder, [data for data in fuzzer.kept if data not in known])
    return int(bool(report.crashes))


def _write_crash(folder: Path, crash: Crash) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{crash.name}.bin").write_bytes(crash.data)
    (folder / f"{crash.name}.txt").write_text(crash.detail)
    print(f"  {crash.kind}: {folder / crash.name}.bin\n{crash.detail}", flush=True)


def _write_corpus(folder: Path, inputs: list[bytes]) -> None:
    from hashlib import sha256

    folder.mkdir(parents=True, exist_ok=True)
    for data in inputs:
        (folder / sha256(data).hexdigest()[:16]).write_bytes(data)


if __name__ == "__main__":
    sys.exit(main())
