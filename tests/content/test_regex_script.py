"""Regex scripts as values: read leniently, with a finding for each thing that would stop the original."""

from __future__ import annotations

from typing import Any

import pytest

from innkeeper.content.regex_script import PatternMacros, RegexScripts, ScriptPlacement


def script(**fields: Any) -> dict[str, Any]:
    """A script as an editor writes it, with other fields."""
    return {"scriptName": "s", "findRegex": "a", "replaceString": "b", "trimStrings": [], "placement": [2], **fields}


def test_fields() -> None:
    """Every field is read into its own."""
    fields = {"id": "x", "trimStrings": ["t"], "placement": [1, 6], "promptOnly": True, "runOnEdit": True}
    [read] = RegexScripts.of([script(**fields, substituteRegex=2, minDepth=1, maxDepth="3")]).scripts
    assert (read.id, read.name, read.find, read.replace, read.trim) == ("x", "s", "a", "b", ("t",))
    assert read.placement == {ScriptPlacement.USER_INPUT, ScriptPlacement.REASONING}
    assert (read.prompt_only, read.markdown_only, read.run_on_edit, read.disabled) == (True, False, True, False)
    assert (read.pattern_macros, read.min_depth, read.max_depth) == (PatternMacros.ESCAPED, 1, 3)


@pytest.mark.parametrize(
    ("given", "count", "rules"),
    [
        (None, 0, []),
        ([], 0, []),
        (7, 0, ["wrong-type"]),
        ([7], 0, ["wrong-type"]),
        ([script(placement=None)], 0, ["no-placement"]),
        ([script(replaceString=None)], 1, ["no-replacement"]),
        ([script(trimStrings=None)], 1, ["no-trims"]),
        ([script(minDepth="x")], 1, ["wrong-type"]),
        (script(), 1, []),
        ('[{"placement": [1], "replaceString": "", "trimStrings": []}]', 1, []),
    ],
    ids=["nothing", "none", "no list", "no object", "placement", "replacement", "trims", "depth", "one", "text"],
)
def test_findings(given: Any, count: int, rules: list[str]) -> None:
    """What cannot run is left out, what is missing is mended, and both are said."""
    read = RegexScripts.of(given)
    assert len(read.scripts) == count
    assert [finding.rule for finding in read.findings] == rules


@pytest.mark.parametrize(
    ("placement", "read", "only"),
    [
        ([0], {1, 2, 3, 5, 6}, True),
        ([0, 2], {2}, True),
        ([4], {3}, False),
        ([4, 1], {1}, False),
        ([2], {2}, False),
    ],
)
def test_placements_that_were_given_up(placement: list[int], read: set[int], only: bool) -> None:
    """In settings, placements of old become what they meant; elsewhere they mean nothing."""
    [converted] = RegexScripts.of([script(placement=placement)], legacy=True).scripts
    assert converted.placement == read
    assert (converted.prompt_only, converted.markdown_only) == (only, only)
    [kept] = RegexScripts.of([script(placement=placement)]).scripts
    assert kept.placement == set(placement)


@pytest.mark.parametrize(
    ("limits", "depth", "reached"),
    [
        ({}, 9, True),
        ({"minDepth": 0}, -1, False),
        ({"minDepth": -1}, -1, True),
        ({"minDepth": -2}, -1, True),
        ({"minDepth": 2}, 1, False),
        ({"minDepth": ""}, -1, False),
        ({"maxDepth": 0}, 1, False),
        ({"maxDepth": 0}, -1, True),
        ({"maxDepth": -1}, 9, True),
        ({"maxDepth": "2"}, 3, False),
        ({"minDepth": 5, "maxDepth": 1}, None, True),
    ],
)
def test_depths(limits: dict[str, Any], depth: float | None, reached: bool) -> None:
    """Limits are inclusive; those below what a depth can be are none; a text without a depth is within all."""
    [read] = RegexScripts.of([script(**limits)]).scripts
    assert read.reaches(depth) is reached


def test_equal_content_is_read_once() -> None:
    """The same list gives the same value, and its key tells lists apart."""
    first, again, other = (RegexScripts.of([script(scriptName=name)]) for name in "aab")
    assert first is again
    assert first.key != other.key
