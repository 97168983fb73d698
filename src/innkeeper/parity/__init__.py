"""Parity: runs golden cases of the original systems and says where Innkeeper differs from them."""

from typing import TYPE_CHECKING, Final

from innkeeper.lazy import lazy_names

if TYPE_CHECKING:
    from innkeeper.parity.case import Case as Case
    from innkeeper.parity.case import load_cases as load_cases
    from innkeeper.parity.run import CaseVerdict as CaseVerdict
    from innkeeper.parity.run import Difference as Difference
    from innkeeper.parity.run import Outcome as Outcome
    from innkeeper.parity.run import differences as differences
    from innkeeper.parity.run import run_case as run_case
    from innkeeper.parity.run import run_cases as run_cases

_HOMES: Final = {
    "Case": "case",
    "CaseVerdict": "run",
    "Difference": "run",
    "Outcome": "run",
    "differences": "run",
    "load_cases": "case",
    "run_case": "run",
    "run_cases": "run",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
