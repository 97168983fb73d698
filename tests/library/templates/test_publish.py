"""Publishing: everything wrong with a template is found at once, with its place, before a label moves."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from innkeeper.library.builtins import packaged_versions
from innkeeper.library.errors import InvalidTemplateError
from innkeeper.library.templates.partials import compose
from innkeeper.library.templates.publish import (
    Change,
    Severity,
    diff,
    problems_of,
    require_publishable,
    validator,
    worst_case,
)
from innkeeper.library.templates.template import Labelled, TemplateVersion, Variable
from innkeeper.tokens import default_counter
from tests.library import making
from tests.library.making import labelled, lookup_of

made = partial(making.made, use_case="painting")  # which no task of the service asks for

SUGGESTIONS = "character_suggestions"
PART = made("part", "{{p}}", variables="p", use_case="partial")
UP = made("up", "x", content_mode="nsfw")
CAPPED = (Variable(name="a", max_tokens=50),)


@dataclass(frozen=True)
class Case:
    id: str
    version: TemplateVersion
    codes: list[str]
    others: tuple[TemplateVersion, ...] = ()
    given: dict[str, Any] = field(default_factory=dict)


CASES = [
    Case("good", made("t", "{{a}}", variables="a"), []),
    Case("good with parts", made("t", "{{> part}}", partials=(("part", 1),)), [], (PART,)),
    Case("good liquid", made("t", "{% if a %}{{ a.b | upcase }}{% endif %}", variables="a", syntax="liquid"), []),
    Case("a variable without a value", made("t", "{{a}}", variables="a", use_case="enhancement"), ["unsupplied"]),
    Case("a value that need not be", made("t", "{{a}}", variables="a?", use_case="enhancement"), []),
    Case("a value of the task", made("t", "{{character_name}}", variables="character_name", use_case=SUGGESTIONS), []),
    Case("good child", made("t", "", extends=("part", 1)), [], (PART,)),
    Case("undeclared", made("t", "{{a}} {{b}}"), ["undeclared", "undeclared"]),
    Case("undeclared in liquid", made("t", "{{ a }}", syntax="liquid"), ["undeclared"]),
    Case("unused", made("t", "x", variables="a"), ["unused"]),
    Case("unused in liquid", made("t", "x", variables="a", syntax="liquid"), ["unused"]),
    Case("unused partial", made("t", "x", partials=(("part", 1),)), ["unused"], (PART,)),
    Case("unused partial in liquid", made("t", "x", syntax="liquid", partials=(("part", 1),)), ["unused"]),
    Case("syntax", made("t", "{{#a}}", variables="a"), ["syntax"]),
    Case("syntax in liquid", made("t", "{% if %}", syntax="liquid"), ["syntax"]),
    Case("unknown filter", made("t", "{{ 'a' | nothing }}", syntax="liquid"), ["syntax"]),
    Case("cycle", made("t", "{{> t}}", partials=(("t", 1),)), ["partial_cycle"], (made("t", "{{> t}}"),)),
    Case("partial not there", made("t", "{{> part}}", partials=(("part", 1),)), ["unknown_partial"]),
    Case("higher tier", made("t", "{{> up}}", partials=(("up", 1),)), ["unknown_partial"], (UP,)),
    Case("too large", made("t", "x" * 300_000), ["limit"]),
    Case("declared twice", made("t", "{{a}}", variables="a a"), ["declared_twice"]),
    Case("bad variable name", made("t", "x", variables=(Variable(name="a b"),)), ["name", "unused"]),
    Case("dots in liquid", made("t", "{{ a }}", variables="a a.b", syntax="liquid"), ["name", "unused"]),
    Case(
        "too many variables",
        made("t", "x" + "{{a}}" * 0, variables=" ".join(f"v{n}" for n in range(201))),
        ["limit", *["unused"] * 201],
    ),
    Case("no name", made(" ", "x"), ["name"]),
    Case("no use case", made("t", "x", use_case=" "), ["use_case"]),
    Case("no text", made("t", " \n"), ["empty"]),
    Case(
        "budgets",
        made("t", "{{a}}", token_limit=0, max_output_tokens=0, variables=(Variable(name="a", max_tokens=0),)),
        ["budget"] * 3,
    ),
    Case("pinned twice", made("t", "{{> part}}", partials=(("part", 1), ("part", 1))), ["partials"], (PART,)),
    Case("fits", made("t", "{{a}}", variables=CAPPED, token_limit=100), [], (), {"window": 160}),
    Case("too long", made("t", "{{a}}", variables=CAPPED, token_limit=100), ["too_long"], (), {"window": 149}),
    Case(
        "too long, used twice",
        made("t", "{{a}}{{#a}}{{a}}{{/a}}", variables=CAPPED, token_limit=100),
        ["too_long"],
        (),
        {"window": 160},
    ),
    Case(
        "answer counts", made("t", "{{a}}", variables=CAPPED, max_output_tokens=200), ["too_long"], (), {"window": 240}
    ),
    Case(
        "too long in liquid",
        made("t", "{{ a }}", variables=CAPPED, syntax="liquid", token_limit=100),
        ["too_long"],
        (),
        {"window": 140},
    ),
    Case("unbounded", made("t", "{{a}}", variables="a", token_limit=10), ["unbounded"], (), {"window": 100}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_problems(case: Case) -> None:
    """A template has exactly the problems that the table says."""
    found = problems_of(case.version, lookup=lookup_of(*case.others), **case.given)
    assert [problem.code for problem in found] == case.codes


def test_places() -> None:
    """Problems say line and column, in the template where they are."""
    found = problems_of(made("t", "x\n  {{#b}}{{a}}{{/b}}", variables="b"))
    assert str(found[0]) == "t:2:9: a is used and not declared (undeclared)"
    broken = problems_of(made("t", "{{> bad}}", partials=(("bad", 1),)), lookup=lookup_of(made("bad", "\n{{")))
    assert str(broken[0]) == "bad:2:1: a tag that is never closed (syntax)"
    assert str(problems_of(made("t", "x", variables="a"))[0]) == "a is declared and not used (unused)"


@pytest.mark.parametrize(
    ("holders", "codes"),
    [
        (labelled(made("other", target_model="m")), ["ambiguous"]),
        (labelled(made("other", target_model="m"), label="staging"), []),
        (labelled(made("other", target_model="n")), []),
        (labelled(made("t", target_model="m", version=2)), []),
        ((), []),
    ],
    ids=["same key", "another label", "another key", "its own older version", "none"],
)
def test_ambiguity(holders: tuple[Labelled, ...], codes: list[str]) -> None:
    """Another template with the same key under the same label is in the way, and nothing else is."""
    found = problems_of(made("t", target_model="m"), holders=holders)
    assert [problem.code for problem in found] == codes


def test_partials_are_never_ambiguous() -> None:
    """Partials are found by name, so many may have the same key."""
    assert problems_of(made("t", use_case="partial"), holders=labelled(made("other", use_case="partial"))) == ()


def test_requiring() -> None:
    """Errors stop a publication and are all listed; warnings are handed back."""
    with pytest.raises(InvalidTemplateError, match=r"may not be published: .* and 1 more") as caught:
        require_publishable(made("t", "{{a}} {{b}}"))
    assert (len(caught.value.problems), caught.value.http_status) == (2, 422)
    warned = require_publishable(made("t", "{{a}}", variables="a", token_limit=10), window=100)
    assert [problem.severity for problem in warned] == [Severity.WARNING]


def test_validator_is_what_the_store_takes() -> None:
    """A validator takes a version alone, and raises where it may not be published."""
    check = validator(window=100)
    check(made("t", "x", token_limit=10))
    with pytest.raises(InvalidTemplateError, match="not used"):
        check(made("t", "x", variables="a", token_limit=10))


def test_worst_case_counts_parts_and_fences() -> None:
    """The longest case holds the text of the parts, each use of a variable, and the marks around fenced ones."""
    variables = (Variable(name="a", max_tokens=10, fence=True), Variable(name="unused", max_tokens=1_000))
    version = made("t", "one two{{#a}} three {{a}}{{/a}}", variables=variables)
    estimate = worst_case(compose(version), default_counter())
    assert estimate == worst_case(compose(version))
    assert (estimate.text, estimate.unbounded) == (4, ())
    assert 10 + 2 < estimate.variables < 50
    assert estimate.total == estimate.text + estimate.variables


@pytest.mark.parametrize("version", packaged_versions(), ids=lambda version: version.name)
def test_built_in_templates_may_be_published(version: TemplateVersion) -> None:
    """What comes with Innkeeper passes its own checks, in a window of 8,192 tokens, without a warning."""
    holders = [Labelled("production", other) for other in packaged_versions() if other.name != version.name]
    found = problems_of(version, lookup=lookup_of(*packaged_versions()), holders=holders, window=8_192)
    assert found == ()


@pytest.mark.parametrize("syntax", ["mustache", "liquid"])
def test_a_name_from_a_part_has_no_place_here(syntax: str) -> None:
    """An undeclared name that only a part uses is reported, without a place in a text that does not hold it."""
    part = made("part", "{{ a }}", syntax=syntax)
    found = problems_of(made("t", "{{> part}}", syntax=syntax, partials=(("part", 1),)), lookup=lookup_of(part))
    assert [(problem.code, problem.where) for problem in found] == [("undeclared", None)]


def test_hostile_texts_are_checked_in_one_go() -> None:
    """A text of nothing but openers, or with thousands of undeclared names, takes no longer than any other."""
    assert problems_of(made("t", "{%" * 90_000 + "{{a}}"))[0].code == "undeclared"
    names = "".join(f"{{{{ v{n} }}}}" for n in range(5_000))
    assert len(problems_of(made("t", names, syntax="liquid"))) == 5_000


def test_everything_that_changed() -> None:
    """Changed lines, variables and fields are listed, each with both sides, and the text's tokens on both."""
    before = made("t", "one\ntwo\n", variables="a b", token_limit=10, metadata={"x": 1})
    after = made("t", "one\nthree four\n", 2, variables="b c", token_limit=20, metadata={"y": 1}, target_model="m")
    found = diff(before, after)
    assert found.text == ("--- t@1", "+++ t@2", "@@ -1,3 +1,3 @@", " one", "-two", "+three four", " ")
    assert [(change.path, change.before is None, change.after is None) for change in found.variables] == [
        ("a", False, True),
        ("c", True, False),
    ]
    assert found.config == (
        Change("key.target_model", None, "m"),
        Change("metadata.x", 1, None),
        Change("metadata.y", None, 1),
        Change("token_limit", 10, 20),
    )
    assert (found.before, found.after, found.tokens, found.same) == ("id-t@1", "id-t@2", 1, False)


def test_changed_variable() -> None:
    """A variable that is declared otherwise is one change."""
    found = diff(made("t", variables="a"), made("t", variables=(Variable(name="a", max_tokens=3),)))
    assert [change.path for change in found.variables] == ["a"]
    assert found.text == ()


def test_same_content() -> None:
    """Versions with the same content differ in nothing, whatever their notes say."""
    assert diff(made("t", note="one"), made("t", version=2, note="two")).same


def test_long_texts_are_compared_up_to_a_limit() -> None:
    """What differs beyond the lines compared is still said to differ."""
    text = "line\n" * 6_000
    assert diff(made("t", text + "a"), made("t", text + "b")).text == ("beyond line 5000: different",)


def test_tokens_by_a_counter_of_ones_own() -> None:
    """A counter that is handed in counts, for the model that is named."""

    class Letters:
        def count(self, text: str, model: str | None = None) -> int:
            return len(text) * (2 if model == "double" else 1)

        def describe(self, model: str | None = None) -> dict[str, str]:
            return {"model": str(model)}

    found = diff(made("t", "ab"), made("t", "abc"), counter=Letters(), model="double")
    assert (found.tokens_before, found.tokens_after) == (4, 6)
