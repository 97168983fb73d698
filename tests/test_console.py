"""Each console block of a page runs as it stands, or says why not. That they run is tested by running them, in the pages."""

import re
from pathlib import Path

import pytest
from sybil import Document

from tests.console import REASON, REASON_OF_ALL, Shell, commands, console_blocks
from tests.test_documentation import PAGES

BLOCK = re.compile(r"^```console\n", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_block_runs_or_says_why_not(page: Path) -> None:
    """A block has a command, and runs; a reason stands before a block, and has words."""
    text = page.read_text("utf-8")
    blocks = [match.start() for match in BLOCK.finditer(text)]
    reasons = [match[1] for start in blocks if (match := REASON.search(text, 0, start))]
    if page.name in {"CONTRIBUTING.md", "CHANGELOG.md"} or REASON_OF_ALL.search(text):
        return
    running = list(console_blocks(Document(text, str(page))))
    assert len(running) + len(reasons) == len(blocks)
    assert text.count("<!-- console: ") == len(reasons)
    assert all(commands(block.parsed) for block in running)


def test_commands() -> None:
    """Lines that begin with a dollar are commands, with those that they go on in; others are what is printed."""
    assert commands("$ innkeeper a \\\n    b\nwhat it says\n$ cd c\n") == ["innkeeper a      b", "cd c"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("innkeeper build nobody.png", "nobody.png"),
        ("innkeeper inspect", "waits for requests"),
        ("pip install nothing", "no program that a page runs here"),
        ("cat nothing.txt", "nothing.txt"),
    ],
    ids=["a command", "a service", "a program", "a file"],
)
def test_what_fails_fails(line: str, words: str) -> None:
    """A command that ends with an error, waits for ever or is none of ours fails the block."""
    shell = Shell("")
    try:
        with pytest.raises(AssertionError, match=words):
            shell.run(line)
    finally:
        shell.close()


def test_a_file_that_a_page_shows() -> None:
    """A Python block that begins with a file's name is that file; pipes and folders are those of a shell."""
    shell = Shell("```python\n# tides.py\nSAID = 1\n```\n")
    try:
        shell.run("cat tides.py")
        shell.run("innkeeper examples new && cd new")
        shell.run("cat wenna.json | innkeeper card show -")
        with pytest.raises(AssertionError):
            shell.run("cat tides.py")
    finally:
        shell.close()
