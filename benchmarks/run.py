"""Run the benchmarks and print their ratios: ``python -m benchmarks.run [NAME...] [--rounds N] [--json]``.

Every module ``bench_*.py`` in this folder and those below has a function ``cases()`` that yields `Case` values. Each is
run in rounds; the best round counts, as wall time, since everything that makes a round slower is the machine's doing.
A ratio above 1 says how many times faster the case is than what it is held against.
"""

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks.case import Case

ROUND_SECONDS: Final = 0.05
"""A round repeats a quick case until it has taken about this long, so that the clock's grain does not matter."""


@dataclass(frozen=True, slots=True)
class Result:
    """One row of the table; times in seconds for one call."""

    group: str
    name: str
    seconds: float
    against: str
    against_seconds: float | None
    ratio: float | None
    note: str


def main(args: Sequence[str] | None = None) -> int:
    """Run what the words name (all where none do) and print the results."""
    options = _parser().parse_args(args)
    rows = list(_measure_all(options.names, options.rounds, quiet=options.json))
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    elif not rows:
        print("no benchmark has such a name", file=sys.stderr)
    return 0 if rows else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.run", description="Measure speed.")
    parser.add_argument("names", nargs="*", help="parts of the names of modules to run; all where none is given")
    parser.add_argument("--rounds", type=int, default=5, help="rounds per case, the best of which counts")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def _measure_all(names: Sequence[str], rounds: int, *, quiet: bool) -> Iterator[Result]:
    for group, case in _cases(names):
        result = measure(group, case, rounds)
        if not quiet:
            print(_line(result), flush=True)
        yield result


def _cases(names: Sequence[str]) -> Iterator[tuple[str, Case]]:
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("bench_*.py")):
        group = path.stem.removeprefix("bench_")
        if not names or any(name in group for name in names):
            module = ".".join(("benchmarks", *path.relative_to(folder).with_suffix("").parts))
            yield from ((group, case) for case in importlib.import_module(module).cases())


def measure(group: str, case: Case, rounds: int) -> Result:
    """Time one case and, where there is one, what it is held against."""
    seconds = least(case.run, rounds) if case.timed else best(case.run, rounds)
    against = best(case.against, rounds) if case.against else case.published
    ratio = against / seconds if against is not None else None
    return Result(group, case.name, seconds, case.against_name, against, ratio, case.note)


def least(run: Callable[[], object], rounds: int) -> float:
    """The fewest seconds that any of the rounds says it took."""
    return min(float(str(run())) for _ in range(rounds))


def best(run: Callable[[], object], rounds: int) -> float:
    """The wall time of one call in seconds: that of the best round, divided by its calls."""
    once = _time(run, 1)
    calls = max(1, int(ROUND_SECONDS / max(once, 1e-9)))
    return min([once, *(_time(run, calls) / calls for _ in range(rounds))])


def _time(run: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return time.perf_counter() - start


def _line(result: Result) -> str:
    row = f"{result.group + ': ' + result.name:<52} {_seconds(result.seconds):>10}"
    if result.ratio is not None and result.against_seconds is not None:
        row += f"   {result.ratio:>7.2f}x against {_seconds(result.against_seconds).strip()} {result.against}"
    return row + (f"   ({result.note})" if result.note else "")


def _seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.2f} {unit}"
    return f"{value * 1e9:.0f} ns"


if __name__ == "__main__":
    sys.exit(main())
