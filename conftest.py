"""The examples in the README, the documentation and the docstrings are tests."""

import re
from pathlib import Path

import pytest
from sybil import Document, Sybil
from sybil.document import PythonDocStringDocument
from sybil.integration.pytest import SybilItem
from sybil.parsers.myst import PythonCodeBlockParser as MarkdownCodeBlockParser
from sybil.parsers.myst import SkipParser as MarkdownSkipParser
from sybil.parsers.rest import DocTestParser, PythonCodeBlockParser, SkipParser
from sybil.typing import Parser

from tests.console import close_shell, console_blocks

pytest_plugins = ["tests.side_by_side"]


class _Docstrings(PythonDocStringDocument):
    """A module's docstrings; most modules have no example, and are not parsed in every process that runs tests."""

    @classmethod
    def parse(cls, path: str, *parsers: Parser, encoding: str = "utf-8") -> Document:
        text = Path(path).read_text(encoding)
        return super().parse(path, *parsers, encoding=encoding) if _EXAMPLE.search(text) else cls(text, path)


_EXAMPLE = re.compile(">>>|code-block")

_pages = Sybil(
    parsers=[MarkdownCodeBlockParser(), MarkdownSkipParser(), console_blocks],
    teardown=close_shell,
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
