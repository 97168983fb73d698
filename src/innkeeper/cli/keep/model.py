"""``innkeeper model``: the catalogue of models - what they do, how much they take, what they cost, for whom."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.keep.library import database_options, opened, print_json, print_table, who_option
from innkeeper.cli.keep.rows import json_row, row_values, set_option

if TYPE_CHECKING:
    from innkeeper.library.library import Library

__all__ = ["model"]


@click.group()
def model() -> None:
    """Keep the catalogue of models. Lower priorities come first. To install one on this machine: `innkeeper models`."""


@model.command("list")
@click.option("--modality", type=click.Choice(["image", "video", "chat"]), help="Only those of this kind.")
@click.option("--task", help="Only active ones that do this task, its default first.")
@database_options
def list_(url: str | None, *, modality: str | None, task: str | None, as_json: bool) -> None:
    """List the models in their order."""
    from innkeeper.library.models.stores import ModelStore

    with opened(url) as library:
        store = ModelStore(library.db)
        if task is None:
            found = store.list(**({} if modality is None else {"modality": modality}))
        else:
            found = store.for_task(task, modality=modality)
        defaults, names = store.defaults(), _providers(library)
    if as_json:
        rows = [{**json_row(row), "provider": names.get(row["provider_id"])} for row in found]
        print_json({"models": rows, "defaults": defaults})
        return
    print_table(
        ("key", "provider", "kind", "family", "tasks", "window", "priority", "ceiling", "active"),
        [
            (
                row["model_key"],
                names.get(row["provider_id"]),
                row["modality"],
                row["model_family"],
                [f"{name}*" if defaults.get(name) == row["model_key"] else name for name in row["tasks"]],
                row["context_window"],
                row["priority"],
                row["tier_ceiling"],
                row["is_active"],
            )
            for row in found
        ],
    )


def _providers(library: Library) -> dict[str, str]:
    from innkeeper.library.models.stores import ProviderStore

    return {row["id"]: row["name"] for row in ProviderStore(library.db).list()}


@model.command()
@click.argument("key")
@database_options
def show(key: str, url: str | None, *, as_json: bool) -> None:
    """Show the model KEY with everything that is known of it."""
    from innkeeper.library.errors import near_names
    from innkeeper.library.models.stores import ModelStore

    with opened(url) as library:
        store = ModelStore(library.db)
        with near_names(key, lambda: (row["model_key"] for row in store.list())):
            row = store.get(key)
        facts = {**json_row(row), "provider": _providers(library).get(row["provider_id"])}
        facts["default_for_tasks"] = [task for task, held in store.defaults().items() if held == key]
    print_json(facts) if as_json else print_table(("", ""), facts.items())


@model.command("set")
@click.argument("key")
@click.option("--provider", "provider_name", help="Who runs it: a provider's name.")
@click.option("--modality", type=click.Choice(["image", "video", "chat"]), help="Its kind.")
@click.option("--family", "model_family", help="Its family.")
@click.option("--task", "tasks", multiple=True, help="What it does; may be repeated.")
@click.option("--window", "context_window", type=click.IntRange(min=1), help="Its context window, in tokens.")
@click.option("--priority", type=int, help="Lower comes first.")
@click.option("--tier-ceiling", type=click.Choice(["sfw", "nsfw"]), help="The highest tier that it serves.")
@set_option
@who_option
@database_options
def set_(
    key: str,
    url: str | None,
    *,
    provider_name: str | None,
    tasks: tuple[str, ...],
    words: tuple[str, ...],
    path: Path | None,
    who: str,
    as_json: bool,
    **given: Any,
) -> None:
    """Add the model KEY, or change the columns that are named."""
    from innkeeper.library.db.tables import api_models
    from innkeeper.library.errors import near_names
    from innkeeper.library.models.stores import ModelStore, ProviderStore

    values = row_values(api_models, words, path, **given, tasks=list(tasks) or None)
    with opened(url) as library, library.db.publishing():
        if provider_name is not None:
            providers = ProviderStore(library.db)
            with near_names(provider_name, lambda: (row["name"] for row in providers.list())):
                values["provider_id"] = providers.get(provider_name)["id"]
        row = ModelStore(library.db).put({**values, "model_key": key}, who=who)
    print_json(json_row(row)) if as_json else click.echo(f"{key}: saved.")


@model.command()
@click.argument("task")
@click.argument("key")
@database_options
def default(task: str, key: str, url: str | None, *, as_json: bool) -> None:
    """Make the model KEY the default for TASK."""
    from innkeeper.library.errors import near_names
    from innkeeper.library.models.stores import ModelStore

    with opened(url) as library:
        store = ModelStore(library.db)
        with near_names(key, lambda: (row["model_key"] for row in store.list())):
            store.set_default(task, key)
    print_json({"task": task, "model_key": key}) if as_json else click.echo(f"{key} is the default for {task}.")


@model.command()
@click.argument("key")
@who_option
@database_options
def remove(key: str, url: str | None, *, who: str, as_json: bool) -> None:
    """Take the model KEY out."""
    from innkeeper.library.errors import near_names
    from innkeeper.library.models.stores import ModelStore

    with opened(url) as library:
        store = ModelStore(library.db)
        with near_names(key, lambda: (row["model_key"] for row in store.list())):
            store.remove(key, who=who)
    print_json({"model_key": key, "removed": True}) if as_json else click.echo(f"{key}: removed.")
