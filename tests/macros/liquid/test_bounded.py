"""The bounded parts of Liquid: output, ranges, loops, assigned values and filters are charged to the session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from liquid import RenderContext
from msgspec.structs import replace

from innkeeper.macros.engine.errors import MacroError, MacroLimitError
from innkeeper.macros.liquid.bounded import BoundedContext, Buffer, bound_nodes, session_of
from innkeeper.macros.liquid.engine import parse, run
from innkeeper.macros.liquid.session import LIQUID_LIMITS, LiquidSession


def session(*, strict: bool = False, assigns: dict[str, Any] | None = None, **limits: Any) -> LiquidSession:
    """A session with these limits."""
    return LiquidSession(assigns or {}, strict=strict, limits=replace(LIQUID_LIMITS, **limits))


@given(st.lists(st.text(max_size=4), max_size=8), st.integers(0, 20))
def test_a_buffer_counts_bytes(texts: list[str], allowed: int) -> None:
    """What is written is there up to the limit, and no write goes beyond it."""
    buffer = Buffer(session(output_bytes=allowed))
    try:
        for text in texts:
            buffer.write(text)
    except MacroLimitError as error:
        assert error.limit == "output_bytes"  # noqa: PT017 - either outcome is right
    else:
        assert buffer.getvalue() == "".join(texts)
    assert len(buffer.getvalue().encode("utf-8", "surrogatepass")) <= allowed


@dataclass(frozen=True)
class Case:
    """A template, the limits, and the one that it exceeds."""

    template: str
    limits: dict[str, Any]
    limit: str
    assigns: dict[str, Any] = field(default_factory=dict)


CASES = (
    Case("{{ a }}{{ a }}", {"output_bytes": 5}, "output_bytes", {"a": "xxx"}),
    Case("{% capture b %}{{ a }}{{ a }}{% endcapture %}", {"output_bytes": 5}, "output_bytes", {"a": "xxx"}),
    Case("{% assign b = (1..9) %}{{ b | join }}", {"items": 5}, "items"),
    Case("{% for i in (1..9) %}{% endfor %}", {"items": 5}, "items"),
    Case("{% for i in (1..9) %}{{ i }}{{ i }}{% endfor %}", {"steps": 20}, "steps"),
    Case(
        "{% for i in (1..9) %}{% for j in (1..9) %}{% endfor %}{% endfor %}", {"loop_iterations": 50}, "loop_iterations"
    ),
    Case("{% assign b = a %}{% assign c = a %}", {"namespace_size": 5}, "namespace_size", {"a": "xxx"}),
    Case("{{ 2 | times: 200 }}", {"number_bits": 8}, "number_bits"),
    Case("{{ a | replace: 'x', 'yyyyyyyyyy' }}", {"value_size": 20}, "value_size", {"a": "xxx"}),
    Case("{{ a }}", {"value_size": 20}, "value_size", {"a": ["xxxxx"] * 3}),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.limit} {case.template}")
def test_limits(case: Case) -> None:
    """What python-liquid leaves unbounded ends at the limit of its kind."""
    with pytest.raises(MacroLimitError) as caught:
        run(case.template, session(assigns=case.assigns, **case.limits))
    assert caught.value.limit == case.limit


@dataclass(frozen=True)
class Value:
    """A template and what it prints, strict or not (``None``: an error)."""

    template: str
    tolerant: str
    strict: str | None


VALUES = (
    Value("[{{ a }}]", "[]", None),
    Value("{{ a | default: 'd' }}", "d", "d"),
    Value("{{ a.b | default: 'd' }}", "d", "d"),
    Value("{{ 'x' | no_such_filter }}", "x", None),
    Value("{{ true }}{{ nil }}{{ (1..3) }}", "true1..3", "true1..3"),
    Value("{% echo 'x' %}", "x", "x"),
    Value("[{{ now }}{{ today }}]", "[]", None),
)


@pytest.mark.parametrize("case", VALUES, ids=lambda case: case.template)
def test_values(case: Value) -> None:
    """Strict templates fail at a missing variable or filter, but for one that has a default."""
    assert run(case.template, session()) == case.tolerant
    if case.strict is None:
        with pytest.raises(MacroError):
            run(case.template, session(strict=True))
    else:
        assert run(case.template, session(strict=True)) == case.strict


def test_an_unknown_filter_is_noted() -> None:
    """A tolerant template passes it over, and says so."""
    tolerant = session()
    run("{{ 'x' | no_such_filter }}", tolerant)
    assert [note.message for note in tolerant.warnings] == ["unknown filter 'no_such_filter' passed over"]


def test_nodes_are_counted() -> None:
    """Every tag and text is a node, those inside of blocks as well; a second pass finds as many."""
    template = parse("a{{ b }}{% if c %}d{% for e in f %}{{ e }}{% endfor %}{% endif %}")
    counted = bound_nodes(template.nodes, RenderContext(template))
    assert counted == bound_nodes(template.nodes, RenderContext(template)) >= 6


def test_a_context_knows_its_session() -> None:
    """What renders is charged to the session that it was made for."""
    one = session(assigns={"a": 1})
    context = BoundedContext.of(parse("{{ a }}"), one)
    assert session_of(context) is one
    assert context.get(["a"], token=None) == 1
