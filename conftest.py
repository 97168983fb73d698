"""The examples in the README, the documentation and the docstrings are tests."""

import gc
import re
from itertools import count
from pathlib import Path
from typing import Final

import pytest
from sybil import Document, Sybil
from sybil.document import PythonDocStringDocument
from sybil.integration.pytest import SybilItem
from sybil.parsers.myst import PythonCodeBlockParser as MarkdownCodeBlockParser
from sybil.parsers.myst import SkipParser as MarkdownSkipParser
from sybil.parsers.rest import DocTestParser, PythonCodeBlockParser, SkipParser
from sybil.typing import Parser


class _Docstrings(PythonDocStringDocument):
    """A module's docstrings; most modules have no example, and are not parsed in every process that runs tests."""

    @classmethod
    def parse(cls, path: str, *parsers: Parser, encoding: str = "utf-8") -> Document:
        text = Path(path).read_text(encoding)
        return super().parse(path, *parsers, encoding=encoding) if _EXAMPLE.search(text) else cls(text, path)


_EXAMPLE = re.compile(">>>|code-block")

_pages = Sybil(
    parsers=[MarkdownCodeBlockParser(), MarkdownSkipParser()],
    patterns=["README.md", "docs/*.md", "docs/*/*.md"],
    excludes=["docs/_build/*.md", "docs/_build/*/*.md"],
)
_docstrings = Sybil(
    parsers=[DocTestParser(), PythonCodeBlockParser(), SkipParser()],
    # Before Python 3.13 `**` in a pattern stands for one folder, so each depth has its own.
    patterns=["src/*/*.py", "src/*/*/*.py", "src/*/*/*/*.py", "src/*/*/*/*/*.py"],
    document_types={".py": _Docstrings},
)

pytest_collect_file = (_pages + _docstrings).pytest()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the examples of a page or docstring back into their order, which random order has mixed: they build on each other."""
    examples: dict[Path, list[pytest.Item]] = {}
    for item in items:
        if isinstance(item, SybilItem):
            examples.setdefault(item.path, []).append(item)
    in_order = {path: iter(sorted(found, key=lambda item: item.location[1] or 0)) for path, found in examples.items()}
    items[:] = [next(in_order[item.path]) if isinstance(item, SybilItem) else item for item in items]


def pytest_collection_finish() -> None:
    """Keep what has been collected, some hundred megabytes that stay, out of the way of each later garbage collection."""
    gc.collect()
    gc.freeze()


MODULES_BETWEEN: Final = 20
"""Modules of tests after which what they have left behind is looked through for the last time."""

_modules = count(1)


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Keep what a module of tests leaves (caches, reports) out of later collections: each full one took up to a second."""
    if (nextitem is None or nextitem.path != item.path) and next(_modules) % MODULES_BETWEEN == 0:
        gc.collect()
        gc.freeze()
