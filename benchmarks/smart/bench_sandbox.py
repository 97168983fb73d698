"""Python in macros: a condition kept and met for the first time, statements, a pattern, and bombs, which must be cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

from benchmarks.case import Case
from innkeeper.macros.smart import sandbox
from innkeeper.macros.smart.sandbox.compiler import program
from innkeeper.macros.smart.sandbox.limits import SANDBOX_LIMITS, SandboxLimits

CONDITION: Final = "legacy_num(getvar('stat_data.心.醋意值[0]'),0) >= 30"
CODES: Final = {
    "condition": CONDITION,
    "statements": "x = getvar('n')\nif x > 3:\n  x += 1\nelse:\n  x = 0\nresult = '%s of %d' % (x, 5)",
    "pattern": "re.sub('[0-9]+', '#', 'a1b22c333')",
}
BOMBS: Final = {
    "9**9**8": "9**9**8",
    "[0]*10**9": "[0]*10**9",
    "'%1000000000d' % 1": "'%1000000000d' % 1",
    "60 doublings": "x=[1]\n" + "x=[x,x]\n" * 60,
    "5,000 brackets": "(" * 5000 + ")" * 5000,
    "(a|aa)+$, 0.25 s": "re.match('(a|aa)+$', 'a'*60 + 'b')",
}
_ANEW: Final = SandboxLimits(work=SANDBOX_LIMITS.work + 1)
"""Other limits than the usual ones: code is compiled each time."""


class _Host:
    now = datetime(2026, 1, 15, tzinfo=UTC)
    random = Random(1)  # noqa: S311 - not for secrets

    def getvar(self, path: str) -> Any:
        return 35

    def setvar(self, path: str, value: Any) -> None:
        """Nothing is kept."""


def cases() -> Iterator[Case]:
    """Each code kept and anew, and what one that is refused costs."""
    for name, code in CODES.items():
        yield Case(f"{name}, kept", _run(code))
        yield Case(f"{name}, anew", _run(code, _ANEW))
    yield Case("condition, compiled only", lambda: program(CONDITION, _ANEW))
    for name, code in BOMBS.items():
        yield Case(f"refused: {name}", _refused(code))


def _run(code: str, limits: SandboxLimits = SANDBOX_LIMITS) -> Callable[[], object]:
    host = _Host()
    return lambda: sandbox.run_text(code, host, limits=limits)


def _refused(code: str) -> Callable[[], object]:
    def run() -> str:
        try:
            return sandbox.run_text(code, _Host())
        except sandbox.SandboxLimitError as error:
            return error.limit

    return run
