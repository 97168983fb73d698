"""The public face of the package."""

import subprocess
import sys

import pytest

from innkeeper import content


def test_names_are_sorted_and_there() -> None:
    """Every public name has a home and is sorted."""
    assert list(content.__all__) == sorted(content.__all__)
    assert all(getattr(content, name) is not None for name in content.__all__)
    assert dir(content) == sorted(content.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """As for any module."""
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        content.nothing  # noqa: B018


def test_importing_it_imports_nothing_heavy() -> None:
    """The package itself is a table of names; a card needs neither rich nor the network."""
    code = (
        "import sys, innkeeper.content; print('msgspec' in sys.modules);"
        'innkeeper.content.load_character(b\'{"name": "x", "description": "y"}\');'
        "print(any(name in sys.modules for name in ('rich', 'httpx', 'tiktoken', 'click', 'liquid')))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "False"]
