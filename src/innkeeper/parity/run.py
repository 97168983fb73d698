"""Outcome: what came of one case: agreed, different, crashed, or not to be had here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from innkeeper.parity.case import Case
from innkeeper.parity.compare import Difference, differences
from innkeeper.prompt.errors import InnkeeperError, UnavailableError

__all__ = ["Outcome", "Runner", "Verdict", "default_runners", "run_case", "run_cases"]


class Verdict(StrEnum):
    """How a case came out."""

    AGREED = "agreed"
    DIFFERENT = "different"
    CRASHED = "crashed"
    """Something other than a typed error was raised: a bug."""
    UNAVAILABLE = "unavailable"
    """The case needs something that may not be shipped (a vocabulary); never counted as agreed."""


class Outcome(msgspec.Struct, frozen=True):
    """A case, its verdict, the differences, and what is shown but not counted."""

    case: Case
    verdict: Verdict
    differences: tuple[Difference, ...] = ()
    error: str | None = None
    shown: Mapping[str, Any] = {}
    decided: str | None = None
    """Why the case was held to something else than what was recorded; said in every report."""


class Runner(msgspec.Struct, frozen=True):
    """How one tavern's cases are run: ``answer`` gives our result in the case's own terms, ``counted`` what must agree.

    ``decided`` gives the reason where a case is held to a document instead of the recording.
    """

    answer: Callable[[Case], Any]
    counted: Callable[[Case, Any], tuple[Any, Any]]
    decided: Callable[[Case], str | None] = lambda _case: None


def default_runners() -> dict[str, Runner]:
    """The runner of each tavern that has one."""
    from innkeeper.parity import silly
    from innkeeper.parity.smart import SmartCases

    smart = SmartCases()
    return {"silly": Runner(silly.answer, silly.counted), "smart": Runner(smart.answer, smart.counted, smart.decided)}


def run_case(case: Case, runners: Mapping[str, Runner] | None = None) -> Outcome:
    """Run one case. Never raises: a bug becomes `Verdict.CRASHED` with its text."""
    runner = (runners or default_runners()).get(case.tavern)
    if runner is None:
        return Outcome(case, Verdict.UNAVAILABLE, error=f"no runner for the {case.tavern} tavern")
    try:
        found = runner.answer(case)
    except UnavailableError as error:
        return Outcome(case, Verdict.UNAVAILABLE, error=error.render())
    except InnkeeperError as error:
        if isinstance(error.__cause__, UnavailableError):
            return Outcome(case, Verdict.UNAVAILABLE, error=error.__cause__.render())
        found = {"error": error.to_dict()}
    except Exception as error:  # noqa: BLE001 - a report must name every crash, whatever it is
        return Outcome(case, Verdict.CRASHED, error=f"{type(error).__name__}: {error}")
    expected, ours = runner.counted(case, found)
    different = tuple(differences(expected, ours))
    verdict = Verdict.DIFFERENT if different else Verdict.AGREED
    return Outcome(case, verdict, different, _error_text(found), _shown(found), runner.decided(case))


def _error_text(found: Any) -> str | None:
    error = found.get("error") if isinstance(found, dict) else None
    return error.get("message") if isinstance(error, dict) else None


_NOT_COUNTED: Final = ("toasts", "random_draws", "unavailable")


def _shown(found: Any) -> dict[str, Any]:
    return {key: found[key] for key in _NOT_COUNTED if key in found} if isinstance(found, dict) else {}


def run_cases(cases: Iterable[Case], runners: Mapping[str, Runner] | None = None) -> Iterator[Outcome]:
    """Run cases one after the other, in the order they were read."""
    known = default_runners() if runners is None else runners
    for case in cases:
        yield run_case(case, known)
