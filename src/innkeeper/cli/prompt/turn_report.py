"""The options and the output of reports about all turns of a chat: of its cache, and of its lore and tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import click

from innkeeper.cli.app.commands import print_json

if TYPE_CHECKING:
    from innkeeper.prompt.report import TextTable

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: Final = (
    click.option("--provider", metavar="NAME", default="anthropic", show_default=True, help="Whose cache."),
    click.option("--svg", "plot", type=click.Path(path_type=Path), help="Draw the turns into this file."),
    click.option(
        "--html", "page", type=click.Path(path_type=Path), help="Write tables and plot as a page to this file."
    ),
    click.option("--force", is_flag=True, help="Overwrite files that exist."),
)


class TurnReport(Protocol):
    """A report about the turns of a chat."""

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data."""
        ...

    def to_svg(self) -> str:
        """Its plot."""
        ...


def report_options(command: F) -> F:
    """Add the provider whose cache is asked, and the files for the plot and the page, to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def print_report(
    report: TurnReport,
    tables: Iterable[TextTable],
    title: str,
    *,
    plot: Path | None,
    page: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write the plot and the page where they are asked for; print the tables, or JSON. Raises as `save_bytes`."""
    from innkeeper.content import save_bytes
    from innkeeper.prompt.report import html_page

    tables = tuple(tables)
    for path, text in ((plot, report.to_svg()), (page, html_page(title, tables, report.to_svg()))):
        if path is not None:
            save_bytes(path, text.encode("utf-8", "replace"), force=force)
            click.echo(f"wrote {path}", err=True)
    if as_json:
        print_json(report.to_dict())
    else:
        from innkeeper.cli.app.render import print_tables
        from innkeeper.cli.app.screen import Screen

        print_tables(Screen(), tables)
