"""Keywords: what a build takes is said once, and shown by ``help``, `inspect.signature`, type checkers and the pages."""

from __future__ import annotations

import inspect
import pydoc
from collections.abc import Callable
from typing import Any

import pytest

from innkeeper.taverns import silly, smart, template, vibe
from innkeeper.taverns.inputs import KEYWORDS, read_keywords
from innkeeper.taverns.keywords import ALIASES, BuildInputs, descriptions
from innkeeper.taverns.tavern import Tavern
from scripts.reference import inputs

TAVERNS = {"silly": silly, "smart": smart, "vibe": vibe, "template": template}

METHODS = [
    pytest.param(getattr(home, name), id=f"{tavern}.{name}")
    for tavern, home in TAVERNS.items()
    for name in ("build", "builder", "to_messages")
]

WITHOUT_EFFECT = {"expander", "lore_engine", "macro_registry"}
OF_THE_REQUEST = {"tavern", "mended"}
"""Fields of a request that a caller does not set: a tavern is asked itself, and what was mended is found by reading."""


def test_every_keyword_is_typed() -> None:
    """Type checkers know exactly the keywords that a build takes and that do something."""
    assert set(BuildInputs.__annotations__) == KEYWORDS - WITHOUT_EFFECT - OF_THE_REQUEST
    assert ALIASES.keys() < set(BuildInputs.__annotations__)
    assert set(ALIASES.values()) <= descriptions().keys()


@pytest.mark.parametrize("method", METHODS)
def test_signatures(method: Callable[..., Any]) -> None:
    """The signature of each door lists each input by name, with a type that says something and a default."""
    parameters = inspect.signature(method).parameters
    assert "self" not in parameters
    assert descriptions().keys() <= parameters.keys()
    for name in descriptions():
        parameter = parameters[name]
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert (parameter.annotation is Any) == (name == "lore_state"), name
        assert parameter.default is not inspect.Parameter.empty


@pytest.mark.parametrize("tavern", TAVERNS)
def test_help(tavern: str) -> None:
    """``help(silly.build)`` has a sentence for each input, and the other names."""
    shown = pydoc.plain(pydoc.render_doc(TAVERNS[tavern].build))
    for name, what in descriptions().items():
        assert f" {name}: {what}." in shown
    for other, ours in ALIASES.items():
        assert f"``{other}`` ({ours})" in shown


def test_defaults_are_those_of_a_request() -> None:
    """To give an input the default that the signature names is to leave it out."""
    parameters = inspect.signature(vibe.build).parameters
    defaults: Any = {name: parameters[name].default for name in descriptions()}
    assert read_keywords(None, None, defaults)[:2] == read_keywords(None, None, {})[:2]


def test_the_table_has_every_keyword() -> None:
    """The table of the documentation lists every keyword, or what is in it."""
    roots = {name.removeprefix("ports.").partition(".")[0] for name in inputs()} - {"chat_metadata"}
    assert roots == descriptions().keys() - {"configs"}


def test_hot_path_is_as_it_was() -> None:
    """The lists are made once, when the module is imported: a call runs the method itself."""
    assert not hasattr(Tavern.build, "__wrapped__")
    assert silly.build == silly.TAVERN.build
