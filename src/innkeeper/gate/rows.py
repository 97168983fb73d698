"""Rows: what an age beside a context means, as a table by kind of age, context, state, distance and tier.

The first row that fits decides about a relation, and of several relations the gravest. No setting of a policy is asked here:
a minor beside content that depicts is blocked in every tier (dynamic-prompting reference, S1); in the adult tier an age is
enough. What a row holds is for a classifier or a person; until one of them lifts it, it does not pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from innkeeper.gate.tier import Decision, Relation, Tier

BESIDE: Final = 300
"""Characters within which two finds are of one passage."""

NEAR: Final = 1_000
"""Characters within which a certain age is still that of who is depicted."""

_FAR: Final = 2**31


class DecisionRow(NamedTuple):
    """A decision for kinds of age, a context in some states, up to a distance in characters."""

    ages: frozenset[str]
    context: str
    states: frozenset[str]
    within: int
    decision: Decision


_MINOR, _SETTING, _FAMILY = frozenset({"minor"}), frozenset({"setting"}), frozenset({"family"})
_KIN: Final = frozenset({"kin"})
_HINT: Final = frozenset({"hint"})
_DEPICTED, _DOUBTFUL, _GROWN = frozenset({"depicted"}), frozenset({"doubtful"}), frozenset({"grown"})
_MARRIED: Final = frozenset({"married"})

ROWS: Final = (
    DecisionRow(_MINOR, "sexual", _DEPICTED, NEAR, Decision.BLOCK),
    DecisionRow(_MINOR, "sexual", _DEPICTED, _FAR, Decision.HOLD),
    DecisionRow(_MINOR, "sexual", _DOUBTFUL, NEAR, Decision.HOLD),
    DecisionRow(_KIN | _FAMILY, "sexual", _DEPICTED, BESIDE, Decision.BLOCK),
    DecisionRow(_KIN | _FAMILY, "sexual", _DEPICTED, NEAR, Decision.HOLD),
    DecisionRow(_KIN | _FAMILY, "sexual", _DOUBTFUL, BESIDE, Decision.HOLD),
    DecisionRow(_SETTING, "sexual", _DEPICTED, BESIDE, Decision.BLOCK),
    DecisionRow(_SETTING, "sexual", _DEPICTED, NEAR, Decision.HOLD),
    DecisionRow(_HINT, "sexual", _DEPICTED, BESIDE, Decision.HOLD),
    DecisionRow(_MINOR, "romantic", _DEPICTED | _GROWN | _MARRIED, BESIDE, Decision.BLOCK),
    DecisionRow(_MINOR, "romantic", _DEPICTED | _GROWN, NEAR, Decision.HOLD),
    DecisionRow(_SETTING, "romantic", _DEPICTED, BESIDE, Decision.BLOCK),
    DecisionRow(_MINOR | _KIN | _FAMILY | _SETTING, "sexual", _DEPICTED | _DOUBTFUL, _FAR, Decision.REVIEW),
    DecisionRow(_MINOR | _KIN | _FAMILY, "romantic", _DEPICTED | _GROWN | _MARRIED | _DOUBTFUL, _FAR, Decision.REVIEW),
    DecisionRow(_SETTING, "romantic", _DEPICTED, _FAR, Decision.REVIEW),
)
"""The table, gravest rows first for each pair."""

_GRAVITY: Final = (Decision.ALLOW, Decision.LOWER, Decision.REVIEW, Decision.HOLD, Decision.BLOCK)


def about_relation(relation: Relation) -> Decision:
    """What one age beside one context means."""
    for row in ROWS:
        if (
            relation.context == row.context
            and relation.state in row.states
            and relation.age in row.ages
            and relation.distance <= row.within
        ):
            return row.decision
    return Decision.ALLOW


def about_ages(relations: Iterable[Relation], tier: Tier, *, aged: bool) -> Decision:
    """The gravest of all rows; ``aged``: whether anything indicates an age, which is enough above the general tier."""
    if aged and tier is not Tier.SFW:
        return Decision.BLOCK
    if tier is not Tier.SFW:  # children asleep in the house of lovers are no part of the romance
        relations = (each for each in relations if (each.age, each.context) != ("family", "romantic"))
    return max(map(about_relation, relations), key=_GRAVITY.index, default=Decision.ALLOW)
