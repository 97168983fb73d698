"""Catalogue: labelled templates of one revision, in buckets that are asked for the best."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.gate.tier import Tier
from innkeeper.library.catalogue.catalogue import Bucket, Catalogue
from innkeeper.library.catalogue.rows import CatalogueModel, catalogue_rows
from innkeeper.library.templates.template import PARTIAL, PRODUCTION
from tests.library.making import labelled, made

VERSIONS = (
    made("any"),
    made("image", job_type="image"),
    made("e", enhancer_model="e"),
    made("first", enhancer_model="f", metadata={"priority": 1}),
)


@pytest.mark.parametrize(
    ("enhancer", "job_type", "name"),
    [
        (None, None, "any"),
        (None, "image", "image"),
        (None, "video", "any"),
        ("e", "image", "e"),
        ("unknown", None, None),
    ],
)
def test_the_best_template_for_an_enhancer(enhancer: str | None, job_type: str | None, name: str | None) -> None:
    """The job type that was asked for comes first, then one for any; another enhancer's is never taken."""
    found = Bucket.of(VERSIONS).pick(enhancer, job_type)
    assert (found and found.name) == name


def test_any_enhancer_by_priority() -> None:
    """Whatever the enhancer, the lowest priority number counts; where none is for any job, the first in order."""
    bucket = Bucket.of(VERSIONS)
    assert [version and version.name for version in map(bucket.pick_other, (None, "image"))] == ["first", "image"]
    jobs = Bucket.of([made("b", job_type="b"), made("a", job_type="a")])
    assert (jobs.pick(None, None), jobs.pick(None, "c")) == (made("a", job_type="a"), None)


@given(st.permutations([made(name, metadata={"priority": number % 2}) for number, name in enumerate("abcd")]))
def test_the_order_of_rows_does_not_matter(versions: list) -> None:  # type: ignore[type-arg]
    """Of several with the same key the first by priority and name counts, however they come."""
    found = Bucket.of(versions).pick(None, None)
    assert found is not None
    assert found.name == "a"


def test_what_lies_above_the_ceiling_is_not_there() -> None:
    """A template of a higher tier is left out, labelled or pinned, and cannot be come upon."""
    rows, pinned = labelled(made("a"), made("b", content_mode="nsfw")), (made("p", content_mode="nsfw"),)
    low = Catalogue.build(rows, pinned=pinned)
    assert [row.version.name for row in low.labelled] == ["a"]
    assert (low.version("b", 1), low.version("p", 1), low.held("b", PRODUCTION)) == (None, None, None)
    high = Catalogue.build(rows, pinned=pinned, ceiling=Tier.NSFW)
    assert len(high) == 2
    assert high.version("p", 1) == pinned[0]
    assert [bool(high.candidates(PRODUCTION, "enhancement", tier)) for tier in Tier] == [True, True]
    assert [bool(low.candidates(PRODUCTION, "enhancement", tier)) for tier in Tier] == [True, False]


def test_candidates_are_kept_apart() -> None:
    """Each label, use case, tier and target has its own bucket; partials answer no request."""
    rows = (*labelled(made("a", target_model="x"), made("p", use_case=PARTIAL)), *labelled(made("s"), label="staging"))
    found = Catalogue.build(rows)
    assert list(found.candidates(PRODUCTION, "enhancement", Tier.SFW)) == ["x"]
    assert list(found.candidates("staging", "enhancement", Tier.SFW)) == [None]
    assert found.candidates(PRODUCTION, PARTIAL, Tier.SFW) == found.candidates("other", "chat", Tier.SFW) == {}
    held = found.held("s", "staging")
    assert held is not None
    assert held.name == "s"
    assert found.held("p", PRODUCTION) == found.version("p", 1)


def test_families_of_models() -> None:
    """A model's family is that of its row; a model without one, or without a row, has none."""
    models: list[dict[str, Any]] = [{"model_key": "a", "model_family": "f"}, {"model_key": "b", "model_family": None}]
    found = Catalogue.build(models=catalogue_rows(models, CatalogueModel))
    assert [found.family_of(name) for name in ("a", "b", "c", None)] == ["f", None, None, None]
