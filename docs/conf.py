"""How Sphinx builds these pages: offline, from Markdown, with a warning as an error."""

from collections.abc import Iterator
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

import click

from innkeeper.cli.app.root import root
from innkeeper.prompt import Trace, plan

project = "Innkeeper"
author = "The Innkeeper authors"
copyright = author
version = release = version_of("innkeeper")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "adr/template.md"]
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

# Docstrings write `names` in single backticks.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_use_ivar = True

html_theme = "furo"
html_title = "Innkeeper"
html_copy_source = False
html_show_sphinx = False

_COMMANDS = Path(__file__).parent / "_build" / "commands.md"


def _commands() -> str:
    """The help of every command as Markdown, so that the page is never out of date."""
    context = root.make_context("innkeeper", ["--version"], resilient_parsing=True)
    return "\n".join(["```text", root.get_help(context), "```", *_below(root, context, 2)]) + "\n"


def _below(group: click.Group, context: click.Context, level: int) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            child = command.make_context(name, [], parent=context, resilient_parsing=True)
            yield from ("", f"{'#' * level} {child.command_path}", "", "```text", command.get_help(child), "```")
            if isinstance(command, click.Group):
                yield from _below(command, child, level + 1)


plan.Trace = Trace  # type: ignore[attr-defined] # what signatures name has to be there, not only for type checkers


def setup(_app: Any) -> None:
    """Write the generated page before Sphinx reads the others."""
    _COMMANDS.parent.mkdir(parents=True, exist_ok=True)
    _COMMANDS.write_text(_commands(), encoding="utf-8")
