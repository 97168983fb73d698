"""``python -m scripts.parity PATHS``: run the golden cases of the original systems, and show every disagreement."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from innkeeper.cli.app.progress import progress
from scripts.parity.report import report


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--tavern", help="Only cases of this tavern (silly, smart, risu).")
@click.option("--area", help="Only cases of this area.")
@click.option("--case", "names", multiple=True, help="Only the case with this name; repeatable.")
@click.option("--limit", default=20, show_default=True, help="How many disagreements to print; 0 means all.")
@click.option("--json", "as_json", is_flag=True, help="Answer with JSON.")
def main(
    paths: tuple[Path, ...], tavern: str | None, area: str | None, names: tuple[str, ...], limit: int, *, as_json: bool
) -> None:
    """Run case files (or folders of them) and print agreed/total for each area, then each disagreement.

    Exits with 1 if any case disagrees or crashes, else with 0. Cases that need a vocabulary that cannot be shipped
    are listed as unavailable and never count as agreed.
    """
    with progress("cases", None, quiet=as_json) as step:
        text, agreed = report(paths, tavern, area, names, limit, as_json=as_json, step=step)
    click.echo(text)
    sys.exit(not agreed)


if __name__ == "__main__":
    main()
