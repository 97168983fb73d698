"""Tests that the pages keep what is promised of them. That their examples run is tested by running them."""

import ast
import re
import shlex
from pathlib import Path

import click
import pytest

import innkeeper
from innkeeper.cli.app.root import root
from tests.shared import ROOT

HOW_TO = sorted(page for page in (ROOT / "docs" / "how-to").glob("*.md") if page.stem != "index")


PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in page.parts),
]


def console_lines(page: Path) -> list[str]:
    """What the console blocks of a page run of ours, line by line; lines that end with a backslash are one with the next."""
    found = re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    text = "\n".join(found).replace("\\\n", " ")
    return re.findall(r"^\$ (?:.*\| )?(innkeeper .*)", text, re.MULTILINE)


def blocks(page: Path) -> list[list[str]]:
    """The lines of each Python block of a page, blank ones left out."""
    found = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [[line for line in text.splitlines() if line.strip()] for text in found]


def modules_imported(code: str) -> set[str]:
    """Our modules that a piece of code imports from, or by their own name."""
    nodes = [*ast.walk(ast.parse(code))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name for name in names if name.partition(".")[0] == "innkeeper"}


EXAMPLES = {page: ["\n".join(lines) for lines in blocks(page)] for page in PAGES} | {
    path: [path.read_text(encoding="utf-8")] for path in sorted((ROOT / "examples").rglob("*.py"))
}


@pytest.mark.parametrize("page", [page for page in EXAMPLES if EXAMPLES[page]], ids=lambda page: page.stem)
def test_examples_import_from_the_public_packages(page: Path) -> None:
    """Examples import from `innkeeper` or from one package below it, never deeper."""
    modules = {module for code in EXAMPLES[page] for module in modules_imported(code)}
    assert {module for module in modules if module.count(".") > 1} == set()


def test_public_names_are_documented() -> None:
    """The table of the reference has each name of `innkeeper` once, and no other."""
    text = (ROOT / "docs" / "reference" / "python" / "index.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(names) == sorted(set(innkeeper.__all__) - {"__version__"})


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_short(page: Path) -> None:
    """Adding something takes fewer than 30 lines."""
    assert 0 < len(blocks(page)[0]) < 30


def test_first_example() -> None:
    """The README shows the library in at most 20 lines."""
    assert len(blocks(ROOT / "README.md")[0]) <= 20


def test_every_page_is_reached() -> None:
    """Links between the pages and in the papers of the repository lead to files that exist."""
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            assert "://" in link or (page.parent / link).exists(), f"{page.name}: {link}"


@pytest.mark.parametrize("page", [page for page in PAGES if console_lines(page)], ids=lambda page: page.stem)
def test_console_lines(page: Path) -> None:
    """Each command of a console block exists, with the options that it is given there."""
    for line in console_lines(page):
        words = shlex.split(line, comments=True)[1:]
        words = words[: next((index for index, word in enumerate(words) if word in {"|", "<", ">", "&&"}), len(words))]
        command: click.Command = root
        context = click.Context(root, info_name="innkeeper")
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            _, found, words = command.resolve_command(context, words)
            assert found is not None, line
            command, context = found, click.Context(found, parent=context)
        try:
            command.make_parser(context).parse_args(words)
        except click.UsageError as error:
            pytest.fail(f"{page.name}: {line}: {error.format_message()}")


def test_what_is_needed_first_comes_first() -> None:
    """The index has the pages in the order of need: to begin, in a program, to extend, to look up."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"^:caption: (.*)", index, re.MULTILINE) == ["Begin", "In a program", "Extending it", "Reference"]
    assert index.index("start-here\n") < index.index("using/index\n") < index.index("quick-start\n")


def test_every_page_is_in_the_index() -> None:
    """Each page can be reached from the first by the tables of contents, and from one place in them alone."""
    seen: list[Path] = []
    left = [ROOT / "docs" / "index.md"]
    while left:
        page = left.pop()
        for body in re.findall(
            r"^```\{toctree\}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ):
            names = [line for line in body.splitlines() if line and not line.startswith(":")]
            patterns = names if ":glob:" in body else [f"{name}.md" for name in names]
            for pattern in patterns:
                name = pattern if pattern.endswith(".md") else f"{pattern}.md"
                below = sorted((page.parent).glob(name)) if ":glob:" in body else [(page.parent / name).resolve()]
                left += [one for one in below if one != page]
                seen += [one for one in below if one != page]
    assert len(seen) == len(set(seen))
    docs = {one for one in PAGES if one.is_relative_to(ROOT / "docs")}
    assert docs - set(seen) == {ROOT / "docs" / "index.md", ROOT / "docs" / "adr" / "template.md"}
