"""Parity: runs golden cases of the original systems and says where Innkeeper differs from them."""

from innkeeper.parity.case import Case, load_cases
from innkeeper.parity.compare import Difference, differences
from innkeeper.parity.run import Outcome, Verdict, run_case, run_cases

__all__ = ["Case", "Difference", "Outcome", "Verdict", "differences", "load_cases", "run_case", "run_cases"]
