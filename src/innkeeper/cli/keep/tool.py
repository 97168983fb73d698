"""``innkeeper tool``: tools that models may call."""

from __future__ import annotations

from pathlib import Path

import click

from innkeeper.cli.keep.library import database_options, opened, print_json, print_table, who_option
from innkeeper.cli.keep.rows import json_row, object_of

__all__ = ["tool"]


@click.group()
def tool() -> None:
    """Keep the definitions of tools: what a model may call, with which arguments."""


@tool.command("list")
@database_options
def list_(url: str | None, *, as_json: bool) -> None:
    """List the tools by name."""
    from innkeeper.library.models.stores import ToolStore

    with opened(url) as library:
        found = ToolStore(library.db).list()
    if as_json:
        print_json({"tools": [json_row(row) for row in found]})
        return
    names = ("name", "description", "is_active", "updated_at")
    print_table(("name", "what it does", "active", "changed"), [[row[name] for name in names] for row in found])


@tool.command()
@click.argument("name")
@database_options
def get(name: str, url: str | None, *, as_json: bool) -> None:
    """Show the tool NAME with its definition."""
    from innkeeper.library.errors import near_names
    from innkeeper.library.models.stores import ToolStore

    with opened(url) as library:
        store = ToolStore(library.db)
        with near_names(name, lambda: (row["name"] for row in store.list())):
            row = store.get(name)
    print_json(json_row(row)) if as_json else print_table(("", ""), row.items())


@tool.command("set")
@click.argument("name")
@click.option("--file", "path", type=click.Path(path_type=Path), help="The definition, as JSON or YAML (-: the input).")
@click.option("--description", help="What it does; the definition's own where left out.")
@click.option("--active/--inactive", "is_active", default=None, help="Whether it is offered to models.")
@who_option
@database_options
def set_(
    name: str,
    url: str | None,
    *,
    path: Path | None,
    description: str | None,
    is_active: bool | None,
    who: str,
    as_json: bool,
) -> None:
    """Add the tool NAME, or change what is named. The definition is an object, with its parameters as a JSON Schema."""
    from innkeeper.library.models.stores import ToolStore

    definition = None if path is None else dict(object_of(path))
    told = description if description is not None or definition is None else definition.get("description")
    given = {"definition": definition, "description": told, "is_active": is_active}
    with opened(url) as library:
        row = ToolStore(library.db).put({"name": name, **{k: v for k, v in given.items() if v is not None}}, who=who)
    print_json(json_row(row)) if as_json else click.echo(f"{name}: saved.")


@tool.command()
@click.argument("name")
@who_option
@database_options
def delete(name: str, url: str | None, *, who: str, as_json: bool) -> None:
    """Take the tool NAME out."""
    from innkeeper.library.errors import near_names
    from innkeeper.library.models.stores import ToolStore

    with opened(url) as library:
        store = ToolStore(library.db)
        with near_names(name, lambda: (row["name"] for row in store.list())):
            store.remove(name, who=who)
    print_json({"name": name, "deleted": True}) if as_json else click.echo(f"{name}: deleted.")
