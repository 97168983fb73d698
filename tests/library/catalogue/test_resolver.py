"""Resolving: the table of cases, and what holds for every catalogue and request."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given

from innkeeper.gate.tier import Tier
from innkeeper.library.catalogue.catalogue import AnswerSource, Catalogue
from innkeeper.library.catalogue.resolver import Execution, LevelOutcome, Resolution, ResolveRequest, resolve
from innkeeper.library.catalogue.rows import CatalogueModel, catalogue_rows
from innkeeper.library.errors import TemplateNotFoundError
from innkeeper.library.templates.template import Labelled, MatchLevel
from tests.library import drawing
from tests.library.making import catalogue, made, rows_of
from tests.shared import ROOT

NOTHING = Catalogue(source=AnswerSource.BUILTIN)
MARKS = {"+": LevelOutcome.FOUND, "-": LevelOutcome.NOTHING, ".": LevelOutcome.SKIPPED}
LETTERS = dict(zip("eafuLBPX", MatchLevel, strict=True))


@dataclass(frozen=True)
class Case:
    id: str
    rows: list[Labelled]
    builtins: list[Labelled]
    models: list[dict[str, Any]]
    ceiling: Tier
    request: ResolveRequest
    expected: dict[str, Any]


def _cases() -> list[Case]:
    data = json.loads((ROOT / "tests" / "vectors" / "library" / "resolver.json").read_text(encoding="utf-8"))
    return [
        Case(
            f"{group['group']}: {case['id']}",
            rows_of(group["rows"]),
            rows_of(group["builtins"]),
            group["models"],
            Tier(group["ceiling"]),
            msgspec.convert(case["request"], ResolveRequest),
            case,
        )
        for group in data["groups"]
        for case in group["cases"]
    ]


CASES = _cases()


def _resolved(case: Case) -> Resolution:
    whole = Catalogue.build(
        case.rows, ceiling=case.ceiling, models=catalogue_rows(case.models, CatalogueModel), revision=7
    )
    return resolve(case.request, whole, Catalogue.build(case.builtins, source=AnswerSource.BUILTIN))


def test_there_are_enough_cases() -> None:
    """The table holds at least the 60 cases that the reference asks for, each once."""
    assert len({case.id for case in CASES}) == len(CASES) >= 60


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    """A request gets the template, the level and the flags that the table says, and its trace is exactly that of the table."""
    found, expected = _resolved(case), case.expected
    assert (found.template.name if found.template else None) == expected["template"]
    assert (found.level, found.matched) == (expected["level"], expected["matched"])
    assert (found.tier_lowered, found.degraded) == (expected["tier_lowered"], expected["degraded"])
    trace = [(LETTERS[mark[0]], MARKS[mark[1]]) for mark in expected["trace"]]
    assert [(step.level, step.outcome) for step in found.trace] == trace
    assert all(step.reason for step in found.trace)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_derived_answers(case: Case) -> None:
    """Level number, source, execution and revision follow from the case; where there is no answer, requiring one is an error."""
    found = _resolved(case)
    assert found.fallback_level == list(MatchLevel).index(found.level)
    assert found.source is (AnswerSource.BUILTIN if found.level is MatchLevel.BUILTIN else AnswerSource.MEMORY)
    assert found.execution is (Execution.MODEL if found.template else Execution.NONE)
    assert (found.revision, found.enhanced) == (7, found.template is not None)
    if found.level is MatchLevel.UNAVAILABLE:
        with pytest.raises(TemplateNotFoundError) as caught:
            found.require()
        assert (caught.value.http_status, bool(caught.value.hint)) == (404, True)
    else:
        assert found.require() is found.template


def test_missing_label_is_its_own_error() -> None:
    """A label that nothing holds is an error that names it; production is not taken instead."""
    found = resolve(ResolveRequest(use_case="enhancement", label="nobody"), catalogue(made()), NOTHING)
    with pytest.raises(TemplateNotFoundError, match="'nobody'"):
        found.require()


def test_strict_refuses_makeshifts() -> None:
    """With ``strict`` an answer that is flagged is an error, and one that is not is none."""
    makeshift = resolve(ResolveRequest(use_case="enhancement"), NOTHING, catalogue(made()))
    with pytest.raises(TemplateNotFoundError, match="builtin"):
        makeshift.require(strict=True)
    good = resolve(ResolveRequest(use_case="enhancement"), catalogue(made()), NOTHING)
    assert good.require(strict=True) is good.template


def test_tried_keys_are_told() -> None:
    """The trace says with which key each level looked."""
    request = ResolveRequest(use_case="chat", target_model="m", enhancer_model="q", target_family="f")
    tried = [str(step.tried) for step in resolve(request, NOTHING, NOTHING).trace if step.tried][:4]
    assert tried == [
        "chat / any / m / q / sfw",
        "chat / any / m / any / sfw",
        "chat / any / f / q / sfw",
        "chat / any / any / q / sfw",
    ]


def test_packaged_templates_answer_by_default() -> None:
    """From an empty library a picture request for SDXL is answered by what comes with Innkeeper."""
    found = resolve(ResolveRequest(use_case="enhancement", job_type="image", target_model="sdxl"), Catalogue())
    assert found.template is not None
    assert (found.template.name, found.level) == ("enhancement.sdxl.qwen_instruct.sfw", MatchLevel.BUILTIN)


@given(drawing.rows, drawing.requests, drawing.models)
def test_never_a_higher_tier(rows: list[Labelled], request: ResolveRequest, models: list[dict[str, Any]]) -> None:
    """No request gets a template of a higher tier than its own, whatever rows there are or are not."""
    for kept in (rows, [row for row in rows if row.version.key.content_mode is Tier.NSFW]):
        for ceiling in Tier:
            whole = Catalogue.build(kept, ceiling=ceiling, models=catalogue_rows(models, CatalogueModel))
            found = resolve(request, whole)
            if found.template is not None:
                tier = found.template.key.content_mode
                assert tier.rank <= min(request.content_mode.rank, ceiling.rank)
                assert found.tier_lowered is (tier is not request.content_mode)


@given(drawing.rows, drawing.requests, drawing.models)
def test_agrees_with_a_plain_search(
    rows: list[Labelled], request: ResolveRequest, models: list[dict[str, Any]]
) -> None:
    """The index finds what a search through all rows finds by the order of the reference, and does not depend on their order."""
    typed = catalogue_rows(models, CatalogueModel)
    whole = Catalogue.build(rows, ceiling=Tier.NSFW, models=typed)
    found = resolve(request, whole, NOTHING)
    assert found == resolve(request, Catalogue.build(rows[::-1], ceiling=Tier.NSFW, models=typed), NOTHING)
    expected = _plain_search(request, rows, {row["model_key"]: row["model_family"] for row in models})
    assert (found.template and found.template.name) == (expected and expected.version.name)


def _plain_search(request: ResolveRequest, rows: list[Labelled], families: dict[str, Any]) -> Labelled | None:
    """The best row by a rank, and by nothing clever."""
    family = request.target_family or families.get(request.target_model or "")
    writer = request.enhancer_family or families.get(request.enhancer_model or "")

    def rank(row: Labelled) -> tuple[Any, ...] | None:
        key = row.version.key
        lower = request.content_mode.rank - key.content_mode.rank
        fits = row.label == request.label and key.use_case == request.use_case and 0 <= lower <= request.lower_tier
        if not fits or (request.job_type is not None and key.job_type not in {None, request.job_type}):
            return None
        wanted = [request.target_model, family, None]
        if key.target_model not in wanted:
            return None
        target = wanted.index(key.target_model) if key.target_model else 2
        writers = [request.enhancer_model, writer, None]
        enhancer = writers.index(key.enhancer_model) if key.enhancer_model in writers else len(writers)
        job = 0 if key.job_type == request.job_type else 1
        priority = row.version.metadata.get("priority", 100)
        return (lower, target, enhancer, job, priority, key.enhancer_model or "", key.job_type or "")

    ranked = [(place, index) for index, row in enumerate(rows) if (place := rank(row)) is not None]
    return rows[min(ranked)[1]] if ranked else None
