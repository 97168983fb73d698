"""The catalogue, as the inspector shows it: facts and where each is used."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from innkeeper.service.guard.grants import Grant
from tests.service.inspector.library.stocked import GREETER, KEY, rooms, stocked
from tests.service.inspector.opened import Browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser at a stocked library."""
    with rooms(stocked(tmp_path_factory.mktemp("library"))) as browser:
        yield browser


def test_models_and_providers(browser: Browser) -> None:
    """A model names its provider, the tasks that it is the default for, and the templates that are for it."""
    (model,) = browser.json("library/models")
    assert (model["key"], model["provider"], model["default_for"]) == ("lantern-7b", "lantern", ["roleplay"])
    assert model["used_by"] == [GREETER]
    (provider,) = browser.json("library/providers")
    assert (provider["secret"], provider["used_by"]) == (KEY, ["lantern-7b"])


def test_tools_and_negatives(browser: Browser) -> None:
    """A tool has its definition; a fragment the models of its family."""
    (tool,) = browser.json("library/tools")
    assert tool["definition"]["parameters"] == {"type": "object"}
    assert {one["text"]: one["used_by"] for one in browser.json("library/negatives")} == {
        "blurry": ["lantern-7b"],
        "grainy": ["lantern-7b"],
    }


def test_budgets(browser: Browser) -> None:
    """The longest that a published template can become, with the answer, fits its reader's window."""
    (budget,) = browser.json("library/budgets")
    assert (budget["template"], budget["reader"], budget["window"]) == (GREETER, "lantern-7b", 4096)
    assert 20 < budget["worst"] < 100
    assert budget["fits"]


def test_what_a_key_is_not_shown(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Without the scope ``admin`` no addresses and names of secrets; above its tier no fragments."""
    path = stocked(tmp_path_factory.mktemp("library"))
    with rooms(path, Grant(scope=("inspector",))) as browser:
        (provider,) = browser.json("library/providers")
        assert (provider["address"], provider["secret"]) == (None, None)
        assert [one["text"] for one in browser.json("library/negatives")] == ["blurry"]


def test_without_a_database(tmp_path_factory: pytest.TempPathFactory) -> None:
    """There are no rows, and the budgets of what comes with Innkeeper."""
    with rooms(tmp_path_factory.mktemp("library") / "none.db") as browser:
        for room in ("models", "providers", "tools", "negatives"):
            assert browser.json(f"library/{room}") == []
        assert browser.json("library/budgets")[0]["window"] is None
        assert browser.json("library/log") == {"rows": [], "next": None}
        assert browser.json("library/vault") == {"names": []}
