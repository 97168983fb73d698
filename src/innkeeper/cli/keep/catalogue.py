"""``innkeeper admin model``, ``negative``, ``provider`` and ``tool``: the library's catalogue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.app.commands import examples, print_json
from innkeeper.cli.app.paging import paged
from innkeeper.cli.keep.library import (
    audience_options,
    ceilings,
    database_options,
    opened,
    pairs,
    print_table,
    who_option,
)
from innkeeper.cli.keep.rows import (
    RowKind,
    json_value,
    list_command,
    near,
    object_of,
    remove_command,
    row_values,
    set_command,
    set_option,
    show_command,
)

if TYPE_CHECKING:
    from innkeeper.library.catalogue.rows import CatalogueModel
    from innkeeper.library.library import Library


_MODALITY: Final = click.Choice(["image", "video", "chat"])
_MODES: Final = click.Choice(["txt2img", "i2i"])
_TIERS: Final = click.Choice(["sfw", "nsfw"])

# --------------------------------------------------------------------------------------------------------------- providers


@click.group(
    epilog=examples("innkeeper admin provider set openrouter --secret-name openrouter", "innkeeper admin provider list")
)
def provider() -> None:
    """Manage the providers of models: addresses, authentication, limits. `innkeeper admin vault set` sets a key."""


PROVIDERS: Final = RowKind(
    "ProviderStore",
    "admin provider",
    "openrouter",
    "providers",
    "NAME",
    {
        "name": "name",
        "shown as": "display_name",
        "address": "base_url",
        "auth": "auth_scheme",
        "secret": "secret_name",
        "ceiling": "tier_ceiling",
        "active": "is_active",
    },
)

provider.add_command(list_command(PROVIDERS, "List the providers by name."))
provider.add_command(show_command(PROVIDERS, "Show a provider with all its columns."))
provider.add_command(
    set_command(
        PROVIDERS,
        "Add the provider NAME, or change the given columns.",
        click.option("--base-url", help="The address of its API."),
        click.option("--secret-name", help="Name of its key in the vault."),
    )
)
provider.add_command(remove_command(PROVIDERS, "Remove the provider NAME; refused while it has models."))

# ------------------------------------------------------------------------------------------------------------------ models


@click.group(epilog=examples("innkeeper admin model list", "innkeeper admin model default roleplay z-ai/glm-4.6"))
def model() -> None:
    """Manage the catalogue of models. Lower priorities come first. `innkeeper models` installs one on this machine."""


MODELS: Final = RowKind("ModelStore", "admin model", "z-ai/glm-4.6", "models", "KEY", {})


@model.command("list", epilog=examples("innkeeper admin model list --task roleplay"))
@click.option("--modality", type=_MODALITY, help="Only this kind.")
@click.option("--task", help="Only active models for this task, its default first.")
@database_options
@paged
def list_models(url: str | None, *, modality: str | None, task: str | None, as_json: bool) -> None:
    """List the models by priority."""
    from innkeeper.library.models.stores import ModelStore

    with opened(url) as library:
        store, providers = ModelStore(library.db), _provider_names(library)
        where = {} if modality is None else {"modality": modality}
        rows = store.list(**where) if task is None else store.for_task(task, modality=modality)
        defaults = store.defaults()
    if as_json:
        facts = [{**row.to_dict(), "provider": providers.get(row.provider_id)} for row in rows]
        print_json({"models": facts, "defaults": defaults})
        return
    print_table(
        ("key", "provider", "kind", "family", "tasks", "window", "priority", "ceiling", "active"),
        [
            (
                row.model_key,
                providers.get(row.provider_id),
                row.modality,
                row.model_family,
                [f"{name}*" if defaults.get(name) == row.model_key else name for name in row.tasks],
                row.context_window,
                row.priority,
                row.tier_ceiling,
                row.is_active,
            )
            for row in rows
        ],
    )


def _provider_names(library: Library) -> dict[str, str]:
    return {row.id: row.name for row in PROVIDERS.rows(library).list()}


def _provider_and_tasks(library: Library, row: CatalogueModel) -> dict[str, Any]:
    from innkeeper.library.models.stores import ModelStore

    defaults = ModelStore(library.db).defaults()
    tasks = [task for task, key in defaults.items() if key == row.model_key]
    return {"provider": _provider_names(library).get(row.provider_id), "default_for_tasks": tasks}


def _provider_id(library: Library, values: dict[str, Any]) -> None:
    """Replace the provider's name by its id."""
    name, store = values.pop("provider_name", None), PROVIDERS.rows(library)
    if name is not None:
        with near(store, name):
            values["provider_id"] = store.get(name).id


model.add_command(show_command(MODELS, "Show the model KEY with all its columns.", more=_provider_and_tasks))
model.add_command(
    set_command(
        MODELS,
        "Add the model KEY, or change the given columns.",
        click.option("--provider", "provider_name", help="The provider that runs it."),
        click.option("--modality", type=_MODALITY, help="Its kind."),
        click.option("--family", "model_family", help="Its family."),
        click.option("--task", "tasks", multiple=True, help="A task that it does; repeatable."),
        click.option("--window", "context_window", type=click.IntRange(min=1), help="Its context window, in tokens."),
        click.option("--priority", type=int, help="Lower comes first."),
        click.option("--tier-ceiling", type=_TIERS, help="The highest tier it serves."),
        resolve=_provider_id,
    )
)
model.add_command(remove_command(MODELS, "Remove the model KEY."))


@model.command(epilog=examples("innkeeper admin model default roleplay z-ai/glm-4.6"))
@click.argument("task")
@click.argument("key")
@database_options
def default(task: str, key: str, url: str | None, *, as_json: bool) -> None:
    """Make the model KEY the default for TASK."""
    from innkeeper.library.models.stores import ModelStore

    with opened(url) as library:
        store = ModelStore(library.db)
        with near(store, key):
            store.set_default(task, key)
    print_json({"task": task, "model_key": key}) if as_json else click.echo(f"{key} is the default for {task}.")


# ------------------------------------------------------------------------------------------------------------------- tools


@click.group(epilog=examples("innkeeper admin tool set dice --file dice.json", "innkeeper admin tool list"))
def tool() -> None:
    """Manage the definitions of tools: what a model may call, with which arguments."""


TOOLS: Final = RowKind(
    "ToolStore",
    "admin tool",
    "dice",
    "tools",
    "NAME",
    {
        "name": "name",
        "what it does": "description",
        "run by": "provider",
        "model": "model",
        "active": "is_active",
        "changed": "updated_at",
    },
)

tool.add_command(list_command(TOOLS, "List the tools by name."))
tool.add_command(show_command(TOOLS, "Show the tool NAME with its definition."))
tool.add_command(remove_command(TOOLS, "Remove the tool NAME.", done="deleted"))


@tool.command("set", epilog=examples("innkeeper admin tool set dice --file dice.json"))
@click.argument("name")
@click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path),
    help="File with the definition, JSON or YAML (-: standard input).",
)
@click.option("--description", help="What it does (default: the definition's description).")
@click.option("--active/--inactive", "is_active", default=None, help="Whether it is offered to models.")
@click.option("--provider", help="The provider, if a model runs the tool.")
@click.option("--model", help="The model that runs it.")
@click.option("--base-url", help="The address, if it differs from the provider's.")
@click.option("--secret-name", help="Name of its key in the vault.")
@click.option("--setting", "words", multiple=True, metavar="NAME=JSON", help="A setting of its calls; repeatable.")
@who_option
@database_options
def set_tool(
    name: str,
    url: str | None,
    *,
    path: Path | None,
    description: str | None,
    words: tuple[str, ...],
    who: str,
    as_json: bool,
    **columns: Any,
) -> None:
    """Add the tool NAME, or change the given columns. The definition is an object with parameters as a JSON Schema."""
    definition = None if path is None else dict(object_of(path))
    if description is None and definition is not None:
        description = definition.get("description")
    settings = {key: json_value(key, word) for key, word in pairs(words, "--setting").items()} or None
    columns |= {"definition": definition, "description": description, "settings": settings}
    values = {column: value for column, value in columns.items() if value is not None}
    with opened(url) as library:
        row = TOOLS.rows(library).put({"name": name, **values}, who=who)
    print_json(row.to_dict()) if as_json else click.echo(f"{name}: saved.")


# ------------------------------------------------------------------------------------------------------- negative prompts


@click.group(epilog=examples("innkeeper admin negative list", "innkeeper admin negative render --family sdxl"))
def negative() -> None:
    """Manage the fragments of negative prompts, by model family, tier and generation mode. Lower priorities come first."""


NEGATIVES: Final = RowKind(
    "NegativeStore",
    "admin negative",
    "01ABC",
    "negatives",
    "ID",
    {
        "id": "id",
        "family": "model_type",
        "tier": "content_mode",
        "mode": "generation_mode",
        "priority": "priority",
        "active": "is_active",
        "text": "negative_prompt",
    },
)

negative.add_command(
    list_command(
        NEGATIVES,
        "List the fragments by priority.",
        click.option("--family", "model_type", help="Only this family."),
        click.option("--content-mode", help="Only this tier."),
        click.option("--mode", "generation_mode", type=_MODES, help="Only this mode."),
    )
)
negative.add_command(show_command(NEGATIVES, "Show one fragment with all its columns."))
negative.add_command(remove_command(NEGATIVES, "Remove a fragment."))


@negative.command(epilog=examples('innkeeper admin negative new "blurry, watermark" --family sdxl'))
@click.argument("text")
@click.option("--family", "model_type", required=True, help="The model family that it is for.")
@click.option("--content-mode", type=_TIERS, help="Its tier (default: sfw).")
@click.option("--mode", "generation_mode", type=_MODES, help="Its generation mode (default: txt2img).")
@click.option("--priority", type=int, help="Priority; lower comes first (default: 1).")
@set_option
@who_option
@database_options
def new(
    text: str, url: str | None, *, words: tuple[str, ...], path: Path | None, who: str, as_json: bool, **columns: Any
) -> None:
    """Add the fragment TEXT; commas separate its terms."""
    from innkeeper.library.models.stores import NegativeStore

    values = row_values(NegativeStore.table, words, path, negative_prompt=text, **columns)
    with opened(url) as library:
        row = NegativeStore(library.db).add({"created_by": who, **values}, who=who)
    print_json(row.to_dict()) if as_json else click.echo(f"{row.id}: added.")


@negative.command(epilog=examples('innkeeper admin negative render --family sdxl --text "fog"'))
@click.option("--family", default="", help="The model family.")
@click.option(
    "--target",
    help="A model of the catalogue, which gives the family, the limits and whether it takes negative prompts.",
)
@click.option("--mode", type=_MODES, default="txt2img", show_default=True, help="The generation mode.")
@click.option("--text", default="", help="The user's own negative prompt, which comes last.")
@audience_options
@database_options
def render(
    url: str | None,
    *,
    family: str,
    target: str | None,
    mode: str,
    text: str,
    content_mode: str,
    age_record: Path | None,
    as_json: bool,
) -> None:
    """Show the joined negative prompt, its tokens, and what was left out and why."""
    import msgspec

    from innkeeper.gate.gate import TextKind
    from innkeeper.library.models.facts import require_known

    if not (family or target):
        raise click.UsageError("name a family or a target")
    with opened(url) as library:
        if target is not None:
            require_known(library.catalogue, target)
        limits = ceilings(library, age_record)
        tier = library.tier_check({TextKind.USER_TEXT.value: text} if text else {}, content_mode, limits)
        if text:
            tier.require()
        joined = library.negatives(family, tier.effective, mode, model=target, user_text=text)
    if as_json:
        print_json({**msgspec.to_builtins(joined), "tier_granted": tier.effective.value, "tier_reasons": tier.reasons})
        return
    click.echo(joined.text or f"no negative prompt ({joined.skipped})")
    click.echo(f"{joined.tokens:,} tokens, tier {tier.effective.value}", err=True)
    for dropped in joined.dropped:
        click.echo(f"left out ({dropped.reason}): {dropped.fragment.text}", err=True)
