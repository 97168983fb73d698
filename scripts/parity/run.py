"""Running golden cases: our answer beside the original's, each `Difference` between them, and the `Outcome`.

A case agreed, differed, crashed, or could not be run here. Values are compared as JSON, lists element by element.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from innkeeper.prompt.errors import InnkeeperError, UnavailableError
from scripts.parity.case import Case


class CaseVerdict(StrEnum):
    """How a case came out."""

    AGREED = "agreed"
    DIFFERENT = "different"
    DELIBERATE = "deliberate"
    """It differs on purpose; the reason is said with it."""
    CRASHED = "crashed"
    """Something other than a typed error was raised: a bug."""
    UNAVAILABLE = "unavailable"
    """The case needs something that may not be shipped (a vocabulary); never counted as agreed."""


class Outcome(msgspec.Struct, frozen=True):
    """A case, its verdict, the differences, and the parts of our answer that are shown but not counted."""

    case: Case
    verdict: CaseVerdict
    differences: tuple[Difference, ...] = ()
    error: str | None = None
    uncounted: Mapping[str, Any] = {}
    decided: str | None = None
    """Why the case was held to something else than what was recorded; said in every report."""


class Runner(msgspec.Struct, frozen=True):
    """How one tavern's cases are run: ``answer`` gives our result in the case's own terms, ``counted`` what must agree.

    ``decided`` gives the reason where a case is held to a document instead of the recording, ``deliberate`` the one where
    a case that differs does so on purpose.
    """

    answer: Callable[[Case], Any]
    counted: Callable[[Case, Any], tuple[Any, Any]]
    decided: Callable[[Case], str | None] = lambda _case: None
    deliberate: Callable[[Case], str | None] = lambda _case: None


def default_runners() -> dict[str, Runner]:
    """The runner of each tavern that has one."""
    from scripts.parity import risu_prompts, silly
    from scripts.parity.deliberate import reason_for
    from scripts.parity.smart import SmartCases

    smart = SmartCases()
    return {
        "silly": Runner(silly.answer, silly.counted, deliberate=lambda case: reason_for(silly.input_of(case))),
        "smart": Runner(smart.answer, smart.counted, smart.decided),
        "risu": Runner(risu_prompts.answer, risu_prompts.counted, deliberate=risu_prompts.reason_for),
    }


def run_case(case: Case, runners: Mapping[str, Runner] | None = None) -> Outcome:
    """Run one case. Never raises: a bug becomes `CaseVerdict.CRASHED` with its text."""
    runner = (runners or default_runners()).get(case.tavern)
    if runner is None:
        return Outcome(case, CaseVerdict.UNAVAILABLE, error=f"no runner for the {case.tavern} tavern")
    try:
        answer = runner.answer(case)
    except UnavailableError as error:
        return Outcome(case, CaseVerdict.UNAVAILABLE, error=error.render())
    except InnkeeperError as error:
        if isinstance(error.__cause__, UnavailableError):
            return Outcome(case, CaseVerdict.UNAVAILABLE, error=error.__cause__.render())
        answer = {"error": error.to_dict()}
    except Exception as error:  # noqa: BLE001 - a report must name every crash, whatever it is
        return Outcome(case, CaseVerdict.CRASHED, error=f"{type(error).__name__}: {error}")
    different = tuple(differences(*runner.counted(case, answer)))
    reason = runner.deliberate(case) if different else None
    verdict = (CaseVerdict.DELIBERATE if reason else CaseVerdict.DIFFERENT) if different else CaseVerdict.AGREED
    facts = answer if isinstance(answer, dict) else {}
    message = facts["error"].get("message") if isinstance(facts.get("error"), dict) else None
    uncounted = {key: facts[key] for key in _NOT_COUNTED if key in facts}
    return Outcome(case, verdict, different, message, uncounted, reason or runner.decided(case))


_NOT_COUNTED: Final = ("toasts", "random_draws", "unavailable")


def run_cases(cases: Iterable[Case], runners: Mapping[str, Runner] | None = None) -> Iterator[Outcome]:
    """Run cases one after the other, in the order they were read."""
    known = default_runners() if runners is None else runners
    for case in cases:
        yield run_case(case, known)


_LONGEST: Final = 400
_MISSING: Final = "(missing)"


class Difference(msgspec.Struct, frozen=True):
    """One place (a path such as ``messages[3].content``) where ``found`` is not ``expected``."""

    path: str
    expected: Any
    found: Any

    def render(self) -> str:
        """A few lines: the path, then texts as a line diff and other values one over the other."""
        if isinstance(self.expected, str) and isinstance(self.found, str) and "\n" in self.expected + self.found:
            lines = difflib.unified_diff(
                self.expected.splitlines(), self.found.splitlines(), "expected", "found", lineterm="", n=2
            )
            return "\n".join([f"  {self.path}:", *("    " + line for line in list(lines)[2:40])])
        return f"  {self.path}:\n    - {_short(self.expected)}\n    + {_short(self.found)}"


def _short(value: Any) -> str:
    text = value if value == _MISSING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " …"


def differences(expected: Any, found: Any, path: str = "") -> Iterator[Difference]:
    """Every place where two JSON values differ, by value; lists are compared element by element, in order."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in expected | found:
            below = f"{path}.{key}" if path else str(key)
            yield from differences(expected.get(key, _MISSING), found.get(key, _MISSING), below)
    elif isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)):
        if len(expected) != len(found):
            yield Difference(f"{path}.length", len(expected), len(found))
        for index, (left, right) in enumerate(zip(expected, found, strict=False)):
            yield from differences(left, right, f"{path}[{index}]")
    elif expected != found or isinstance(expected, bool) is not isinstance(found, bool):  # 1 is not true
        yield Difference(path, expected, found)
