"""Rules: what the operator has set in the database: the tier policy, detection lists, values for templates, what is stored.

They are read together with the catalogue, so that a change counts as soon as a publication does. What cannot be read never
allows anything: a broken policy or list leaves the general tier alone, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.gate.detector import Detector, default_detector
from innkeeper.gate.gate import TierGate, TierPolicy
from innkeeper.gate.words.lexicon import Lexicon
from innkeeper.library.errors import DatabaseCorruptError
from innkeeper.prompt.data import EMPTY, thaw
from innkeeper.prompt.errors import InputError
from innkeeper.prompt.typed.once import convert

if TYPE_CHECKING:
    from innkeeper.library.db.engine import Database


POLICY_NAME: Final = "default"
"""The document of ``tier_policies`` that counts, where it has an active version."""

OPERATOR_VALUES: Final = "operator_values"
"""The setting with values for variables whose source is ``operator``; what a request gives for those is left aside."""

STORE_CONTENT_DAYS: Final = "store_content_days"
"""The setting that has texts of requests stored, apart from the log, for so many days. Not set, or 0: they are not."""

_MOST_DAYS: Final = 3_650


@dataclass(frozen=True, slots=True)
class OperatorRules:
    """The operator's rules of one moment. ``problems`` are words for programs: what could not be read."""

    gate: TierGate = field(default_factory=TierGate.of)
    operator_values: Mapping[str, Any] = EMPTY
    store_content_days: int = 0
    problems: tuple[str, ...] = ()
    lexicons: tuple[Lexicon, ...] = ()
    """The operator's own lists, which the detector was made with."""

    @property
    def policy(self) -> TierPolicy:
        """The tier policy."""
        return self.gate.policy


def rules_of(
    db: Database,
    *,
    policy: TierPolicy | None = None,
    detector: Detector | None = None,
    before: OperatorRules | None = None,
) -> OperatorRules:
    """The rules in a database; ``policy`` and ``detector`` are taken instead of those there. Raises `DatabaseError`.

    ``before`` are the last ones: where the lists are the same, so is the detector, which takes a while to make.
    """
    from innkeeper.library.models.stores import SettingsStore

    problems: list[str] = []
    with db.snapshot():
        lists = _lexicons(db, problems) if detector is None else ()
        rule = _policy(db, problems) if policy is None else policy
        settings = {row.key: row.value for row in SettingsStore(db).list()}
    if problems:
        rule = TierPolicy(version="unreadable")
    if detector is None and before is not None and lists and before.lexicons == lists:
        detector = before.gate.detector
    gate = TierGate(rule, detector or (Detector(lists) if lists else default_detector()))
    values, days = _values(settings, problems), _days(settings, problems)
    return OperatorRules(gate, values, days, tuple(problems), lists)


def _policy(db: Database, problems: list[str]) -> TierPolicy:
    from innkeeper.library.tiers.documents import PolicyStore

    try:
        for row in PolicyStore(db).active(POLICY_NAME):
            policy = convert(thaw(row.body), TierPolicy)
            return msgspec.structs.replace(policy, version=f"{row.name}@{row.version}")
    except _UNREADABLE:
        problems.append("policy_unreadable")
    return TierPolicy()


def _lexicons(db: Database, problems: list[str]) -> tuple[Lexicon, ...]:
    """The active lists. One that cannot be read takes none of the others with it."""
    from innkeeper.library.tiers.documents import DetectionListStore

    store = DetectionListStore(db)
    try:
        return tuple(_lexicon(row.body) for row in store.active())
    except _UNREADABLE:
        problems.append("detection_list_unreadable")
    lexicons = []
    for name in sorted({row.name for row in store.all() if row.is_active}):
        with suppress(*_UNREADABLE):
            lexicons += [_lexicon(row.body) for row in store.active(name)]
    return tuple(lexicons)


def _lexicon(body: Any) -> Lexicon:
    return convert(thaw(body), Lexicon).checked()


_UNREADABLE: Final = (InputError, DatabaseCorruptError, msgspec.ValidationError, TypeError)
"""What a document may be wrong with; a database that is away is another matter."""


def _values(settings: Mapping[str, Any], problems: list[str]) -> Mapping[str, Any]:
    values = settings.get(OPERATOR_VALUES, EMPTY)
    if isinstance(values, Mapping):
        return values
    problems.append("operator_values_unreadable")
    return EMPTY


def _days(settings: Mapping[str, Any], problems: list[str]) -> int:
    days = settings.get(STORE_CONTENT_DAYS, 0)
    if type(days) is int and 0 <= days <= _MOST_DAYS:
        return days
    problems.append("store_content_days_unreadable")
    return 0
