"""Parity: runs golden cases of the original systems and says where Innkeeper differs from them."""

from scripts.parity.case import Case, load_cases
from scripts.parity.run import CaseVerdict, Difference, Outcome, differences, run_case, run_cases

__all__ = ["Case", "CaseVerdict", "Difference", "Outcome", "differences", "load_cases", "run_case", "run_cases"]
