"""What the service's own tasks give to templates is what a publication is checked against."""

from __future__ import annotations

import pytest

from innkeeper.library.catalogue.resolver import ENHANCEMENT
from innkeeper.library.templates.publish import SUPPLIED
from innkeeper.operations.tasks import enhancement, suggestions


def test_enhancement_gives_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request of an enhancement has no values, whatever is asked."""
    requests: list[dict[str, object]] = []
    monkeypatch.setattr(enhancement, "PrepareRequest", lambda **fields: requests.append(fields))
    monkeypatch.setattr(enhancement, "_target", lambda *_: "sdxl")
    monkeypatch.setattr(enhancement, "_template_family", lambda *_: None)
    enhancement._prompt(None, enhancement.Enhancement(text="a fox"), None)  # type: ignore[arg-type]  # the two above take its place
    assert {*requests[0].get("values", {})} == SUPPLIED[ENHANCEMENT]  # type: ignore[misc]


def test_suggestions_give_a_name() -> None:
    """The request of suggestions has a name for the character, also where nothing of it is known."""
    request = suggestions._prompt(suggestions.SuggestionRequest())
    assert SUPPLIED[suggestions.USE_CASE] <= {*request.values}
