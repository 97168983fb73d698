"""The engine: kept templates, other limits, no machine."""

import subprocess
import sys

import pytest
from msgspec.structs import replace

from innkeeper.macros.engine.errors import MacroLimitError
from innkeeper.macros.liquid import engine as liquid_engine
from innkeeper.macros.liquid.engine import filter_names, parse, run
from innkeeper.macros.liquid.session import LIQUID_LIMITS, LiquidSession
from innkeeper.prompt.memo import Memo


def test_templates_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A template is parsed once; those not asked for go when there are too many."""
    monkeypatch.setattr(liquid_engine, "_PARSED", Memo(items=2))
    first = parse("{{ one }}")
    parse("{{ two }}")
    assert parse("{{ one }}") is first
    parse("{{ three }}")
    assert len(liquid_engine._PARSED) == 2
    assert parse("{{ one }}") is first
    assert parse("{{ one }}", strict=True) is not first


def test_large_templates_push_others_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """All kept templates together are no larger than the limit on their bytes."""
    monkeypatch.setattr(liquid_engine, "_PARSED", Memo(size=1000))
    for text in ("{{ one }}", "{{ two }}", "{{ three }}", "x" * 1000):
        parse(text)
        assert liquid_engine._PARSED.size <= 1000
    assert len(liquid_engine._PARSED) > 0


@pytest.mark.parametrize(
    ("template", "limit"),
    [
        ("{% if 1 %}{% if 1 %}{% if 1 %}{% endif %}{% endif %}{% endif %}", "nesting"),
        ("{% for i in (1..9) %}{% endfor %}", "loop_iterations"),
        ("{{ a }}{{ a }}{{ a }}{{ a }}", "tags"),
        ("x" * 200, "template_bytes"),
    ],
)
def test_other_limits(template: str, limit: str) -> None:
    """A session's own limits hold for parsing as well."""
    limits = replace(LIQUID_LIMITS, nesting=2, loop_iterations=8, tags=3 if limit == "tags" else 50, template_bytes=100)
    with pytest.raises(MacroLimitError) as caught:
        run(template, LiquidSession(limits=limits))
    assert caught.value.limit == limit


def test_all_standard_filters_are_there() -> None:
    """Liquid's standard filters, and ours."""
    assert {"append", "date", "default", "divided_by", "join", "map", "where", "pick", "hash7"} <= filter_names()


def test_the_machine_is_not_asked() -> None:
    """No name, filter or tag reads the machine's time or zone: two zones give the same text."""
    template = (
        "{{ 'now' | date: '%c %Z' }}{{ 'today' | date: '%F' }}{{ 0 | date: '%c' }}{{ '10:00' | date: '%c' }}"
        "{{ now }}{{ nil | isotime }}{{ '2020-01-01T00:00' | date: '%s' }}{{ '10:00 CET' | date: '%c' }}"
    )
    code = (
        "import sys; from innkeeper.macros.liquid.templates import render; from innkeeper.prompt import Clock; "
        "print(render(sys.argv[1], clock=Clock.at('2026-01-15T12:00:00Z'), on_error='raise').text)"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code, template], check=True, capture_output=True, text=True, env={"TZ": zone}
        ).stdout
        for zone in ("UTC", "Asia/Tokyo", "America/New_York")
    }
    assert len(texts) == 1
