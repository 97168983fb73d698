"""The operator's rules: what is set counts, what cannot be read allows nothing."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.gate.detector import Detector, default_detector
from innkeeper.gate.gate import TierPolicy
from innkeeper.gate.tier import Tier
from innkeeper.library.db.engine import Database
from innkeeper.library.models.stores import SettingsStore
from innkeeper.library.tiers.documents import DetectionListStore, PolicyStore
from innkeeper.library.tiers.rules import OPERATOR_VALUES, POLICY_NAME, STORE_CONTENT_DAYS, OperatorRules, rules_of

LIST = {
    "name": "own",
    "version": "1",
    "entries": [{"id": "x", "pattern": "flibber", "category": "sexual", "weight": 0.9}],
}


@pytest.fixture
def dialect() -> str:
    """A file is enough: rules are read by the stores, which are tested on both databases."""
    return "sqlite"


def broken(db: Database, store: type[PolicyStore | DetectionListStore], name: str) -> None:
    """An active document that nobody could have written through the store."""
    store(db).add(name, LIST if store is DetectionListStore else {}, activate=True)
    with db.transaction() as connection:
        for (trigger,) in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'").all():
            connection.exec_driver_sql(f"DROP TRIGGER {trigger}")
        connection.execute(store(db).table.update().where(store(db).table.c.name == name).values(body=[1]))


def test_an_empty_library_has_the_defaults(db: Database) -> None:
    """Nothing set: the general tier, the packaged list, no values, no texts stored, no problem."""
    rules = rules_of(db)
    assert rules.policy.ceiling is Tier.SFW
    assert rules.gate.detector is default_detector()
    assert (rules.operator_values, rules.store_content_days, rules.problems, rules.lexicons) == ({}, 0, (), ())
    assert OperatorRules().policy == rules.policy


def test_the_active_policy_counts(db: Database) -> None:
    """The active version under the name that counts is the policy, and decisions name it; others do nothing."""
    PolicyStore(db).add("another", {"adult_enabled": True}, activate=True)
    assert not rules_of(db).policy.adult_enabled
    PolicyStore(db).add(POLICY_NAME, {"adult_enabled": True}, activate=True)
    policy = rules_of(db).policy
    assert (policy.adult_enabled, policy.version) == (True, f"{POLICY_NAME}@1")
    assert rules_of(db, policy=TierPolicy(version="mine")).policy.version == "mine"


def test_lists_are_read_and_the_detector_is_kept(db: Database) -> None:
    """What an operator's list names is found; with the same lists the detector is the one made before."""
    DetectionListStore(db).add("own", LIST, activate=True)
    rules = rules_of(db)
    assert [lexicon.name for lexicon in rules.lexicons] == ["own"]
    assert rules.gate.detector.scan("a flibber").score("sexual") > 0
    assert rules_of(db, before=rules).gate.detector is rules.gate.detector
    mine = Detector()
    assert rules_of(db, detector=mine, before=rules).gate.detector is mine


@pytest.mark.parametrize(
    ("store", "name", "problem"),
    [(PolicyStore, POLICY_NAME, "policy_unreadable"), (DetectionListStore, "bad", "detection_list_unreadable")],
    ids=["policy", "list"],
)
def test_what_cannot_be_read_allows_nothing(db: Database, store: Any, name: str, problem: str) -> None:
    """A broken policy or list leaves the general tier, says so, and takes no sound list with it."""
    PolicyStore(db).add(POLICY_NAME, {"adult_enabled": True}, activate=True)
    DetectionListStore(db).add("own", LIST, activate=True)
    broken(db, store, name)
    rules = rules_of(db)
    assert rules.problems == (problem,)
    assert (rules.policy.ceiling, rules.policy.version) == (Tier.SFW, "unreadable")
    assert [lexicon.name for lexicon in rules.lexicons] == ["own"]


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        (OPERATOR_VALUES, {"a": 1}, None),
        (OPERATOR_VALUES, [1], "operator_values_unreadable"),
        (STORE_CONTENT_DAYS, 30, None),
        (STORE_CONTENT_DAYS, -1, "store_content_days_unreadable"),
        (STORE_CONTENT_DAYS, True, "store_content_days_unreadable"),
        (STORE_CONTENT_DAYS, "30", "store_content_days_unreadable"),
        (STORE_CONTENT_DAYS, 10**6, "store_content_days_unreadable"),
    ],
)
def test_settings_are_taken_or_named(db: Database, key: str, value: Any, problem: str | None) -> None:
    """A setting of the right type counts; of any other the default does, with a word for it."""
    SettingsStore(db).set(key, value)
    rules = rules_of(db)
    assert rules.problems == (() if problem is None else (problem,))
    attribute = {OPERATOR_VALUES: "operator_values", STORE_CONTENT_DAYS: "store_content_days"}[key]
    assert getattr(rules, attribute) == (value if problem is None else ({} if key == OPERATOR_VALUES else 0))
