"""``innkeeper provider``: who runs models. Keys are named here and kept in the vault."""

from __future__ import annotations

from pathlib import Path

import click

from innkeeper.cli.keep.library import database_options, opened, print_json, print_table, who_option
from innkeeper.cli.keep.rows import json_row, row_values, set_option

__all__ = ["provider"]


@click.group()
def provider() -> None:
    """Keep the providers of models: addresses, authentication, limits. A key is set with `innkeeper vault set`."""


@provider.command("list")
@database_options
def list_(url: str | None, *, as_json: bool) -> None:
    """List the providers by name."""
    from innkeeper.library.models.stores import ProviderStore

    with opened(url) as library:
        found = ProviderStore(library.db).list()
    if as_json:
        print_json({"providers": [json_row(row) for row in found]})
        return
    names = ("name", "display_name", "base_url", "auth_scheme", "secret_name", "tier_ceiling", "is_active")
    print_table(
        ("name", "shown as", "address", "auth", "secret", "ceiling", "active"),
        [[row[n] for n in names] for row in found],
    )


@provider.command()
@click.argument("name")
@database_options
def show(name: str, url: str | None, *, as_json: bool) -> None:
    """Show a provider with everything that is known of it."""
    from innkeeper.library.errors import near_names
    from innkeeper.library.models.stores import ProviderStore

    with opened(url) as library:
        store = ProviderStore(library.db)
        with near_names(name, lambda: (row["name"] for row in store.list())):
            row = store.get(name)
    print_json(json_row(row)) if as_json else print_table(("", ""), row.items())


@provider.command("set")
@click.argument("name")
@click.option("--base-url", help="The address of its API.")
@click.option("--secret-name", help="The name of its key in the vault.")
@set_option
@who_option
@database_options
def set_(
    name: str,
    url: str | None,
    *,
    base_url: str | None,
    secret_name: str | None,
    words: tuple[str, ...],
    path: Path | None,
    who: str,
    as_json: bool,
) -> None:
    """Add the provider NAME, or change the columns that are named."""
    from innkeeper.library.db.tables import api_providers
    from innkeeper.library.models.stores import ProviderStore

    values = row_values(api_providers, words, path, base_url=base_url, secret_name=secret_name)
    with opened(url) as library:
        row = ProviderStore(library.db).put({**values, "name": name}, who=who)
    print_json(json_row(row)) if as_json else click.echo(f"{name}: saved.")


@provider.command()
@click.argument("name")
@who_option
@database_options
def remove(name: str, url: str | None, *, who: str, as_json: bool) -> None:
    """Take the provider NAME out; one that still has models stays."""
    from innkeeper.library.errors import ConflictError, near_names
    from innkeeper.library.models.stores import ModelStore, ProviderStore

    with opened(url) as library:
        store = ProviderStore(library.db)
        with library.db.publishing(), near_names(name, lambda: (row["name"] for row in store.list())):
            models = ModelStore(library.db).list(provider_id=store.get(name)["id"])
            if models:
                keys = ", ".join(row["model_key"] for row in models[:5])
                raise ConflictError(f"{name!r} has {len(models)} models: {keys}", hint="remove them first")
            store.remove(name, who=who)
    print_json({"name": name, "removed": True}) if as_json else click.echo(f"{name}: removed.")
