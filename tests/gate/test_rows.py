"""The rows: a minor beside what depicts is a block in every tier, and what is far or doubtful is held or reviewed."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.gate.rows import BESIDE, NEAR, ROWS, about_ages, about_relation
from innkeeper.gate.tier import Decision, Relation, Tier


@dataclass(frozen=True)
class Case:
    """A relation and what it means in the general tier."""

    age: str
    context: str
    state: str
    distance: int
    decision: Decision


CASES = (
    Case("minor", "sexual", "depicted", 0, Decision.BLOCK),
    Case("minor", "sexual", "depicted", NEAR, Decision.BLOCK),
    Case("minor", "sexual", "depicted", NEAR + 1, Decision.HOLD),
    Case("minor", "sexual", "doubtful", 0, Decision.HOLD),
    Case("minor", "sexual", "reported", 0, Decision.ALLOW),
    Case("minor", "romantic", "depicted", BESIDE, Decision.BLOCK),
    Case("minor", "romantic", "depicted", NEAR, Decision.HOLD),
    Case("minor", "romantic", "married", 0, Decision.BLOCK),
    Case("family", "sexual", "depicted", 0, Decision.BLOCK),
    Case("family", "romantic", "depicted", 0, Decision.REVIEW),
    Case("setting", "sexual", "depicted", NEAR, Decision.HOLD),
    Case("setting", "romantic", "grown", 0, Decision.ALLOW),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.age} {case.context} {case.state} {case.distance}")
def test_a_relation_means_what_its_row_says(case: Case) -> None:
    """The first row that fits decides."""
    assert about_relation(Relation(case.age, case.context, case.state, case.distance)) is case.decision


@given(st.integers(0, NEAR), st.sampled_from(Tier), st.lists(st.sampled_from(CASES), max_size=4))
def test_nothing_beside_a_block_lifts_it(distance: int, tier: Tier, others: list[Case]) -> None:
    """Whatever else stands in a text: a minor near what depicts blocks it in every tier."""
    relations = [Relation(case.age, case.context, case.state, case.distance) for case in others]
    relations.append(Relation("minor", "sexual", "depicted", distance))
    assert about_ages(relations, tier, aged=True) is Decision.BLOCK


def test_an_age_is_enough_in_the_adult_tier() -> None:
    """Above the general tier no context is needed."""
    assert about_ages((), Tier.NSFW, aged=True) is Decision.BLOCK
    assert about_ages((), Tier.SFW, aged=True) is Decision.ALLOW


def test_rows_never_get_graver_with_distance() -> None:
    """For one age, context and state the decision falls as they move apart."""
    order = list(Decision)
    for row in ROWS:
        for age in row.ages:
            for state in row.states:
                seen = [about_relation(Relation(age, row.context, state, at)) for at in (0, BESIDE, NEAR, 10**6)]
                assert [order.index(each) for each in seen] == sorted(map(order.index, seen), reverse=True)
