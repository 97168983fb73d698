"""The examples in the README, the documentation and the docstrings are tests."""

from sybil import Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers.myst import PythonCodeBlockParser as MarkdownCodeBlockParser
from sybil.parsers.myst import SkipParser as MarkdownSkipParser
from sybil.parsers.rest import DocTestParser, PythonCodeBlockParser, SkipParser

_pages = Sybil(
    parsers=[MarkdownCodeBlockParser(), MarkdownSkipParser()],
    patterns=["README.md", "docs/*.md", "docs/*/*.md"],
    excludes=["docs/_build/*.md", "docs/_build/*/*.md"],
)
_docstrings = Sybil(
    parsers=[DocTestParser(), PythonCodeBlockParser(), SkipParser()],
    # Before Python 3.13 `**` in a pattern stands for one folder, so each depth has its own.
    patterns=["src/*/*.py", "src/*/*/*.py", "src/*/*/*/*.py"],
    document_types={".py": PythonDocStringDocument},
)

pytest_collect_file = (_pages + _docstrings).pytest()
