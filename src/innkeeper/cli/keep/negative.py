"""``innkeeper negative``: fragments of negative prompts, and what they join to for a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from innkeeper.cli.keep.library import (
    audience_options,
    ceilings,
    database_options,
    opened,
    print_json,
    print_table,
    who_option,
)
from innkeeper.cli.keep.rows import json_row, row_values, set_option

__all__ = ["negative"]

_MODES = click.Choice(["txt2img", "i2i"])


@click.group()
def negative() -> None:
    """Keep the fragments of negative prompts, by family of models, tier and generation mode. Lower priorities come first."""


@negative.command("list")
@click.option("--family", "model_type", help="Only those of this family.")
@click.option("--content-mode", help="Only those of this tier.")
@click.option("--mode", "generation_mode", type=_MODES, help="Only those of this mode.")
@database_options
def list_(url: str | None, *, as_json: bool, **where: str | None) -> None:
    """List the fragments in their order."""
    from innkeeper.library.models.stores import NegativeStore

    with opened(url) as library:
        found = NegativeStore(library.db).list(**{name: value for name, value in where.items() if value is not None})
    if as_json:
        print_json({"negatives": [json_row(row) for row in found]})
        return
    names = ("id", "model_type", "content_mode", "generation_mode", "priority", "is_active", "negative_prompt")
    print_table(
        ("id", "family", "tier", "mode", "priority", "active", "text"), [[row[name] for name in names] for row in found]
    )


@negative.command()
@click.argument("row_id", metavar="ID")
@database_options
def show(row_id: str, url: str | None, *, as_json: bool) -> None:
    """Show one fragment with everything that is known of it."""
    from innkeeper.library.errors import near_names
    from innkeeper.library.models.stores import NegativeStore

    with opened(url) as library:
        store = NegativeStore(library.db)
        with near_names(row_id, lambda: (row["id"] for row in store.list())):
            row = store.get(row_id)
    print_json(json_row(row)) if as_json else print_table(("", ""), row.items())


@negative.command()
@click.argument("text")
@click.option("--family", required=True, help="The family of models that it is for.")
@click.option("--content-mode", type=click.Choice(["sfw", "nsfw"]), help="Its tier; sfw where left out.")
@click.option("--mode", type=_MODES, help="Its generation mode; txt2img where left out.")
@click.option("--priority", type=int, help="Lower comes first; 1 where left out.")
@set_option
@who_option
@database_options
def add(
    text: str,
    url: str | None,
    *,
    family: str,
    content_mode: str | None,
    mode: str | None,
    priority: int | None,
    words: tuple[str, ...],
    path: Path | None,
    who: str,
    as_json: bool,
) -> None:
    """Add the fragment TEXT; commas part it into several things."""
    from innkeeper.library.db.tables import negative_prompts
    from innkeeper.library.errors import AlreadyExistsError
    from innkeeper.library.models.stores import NegativeStore
    from innkeeper.prompt.errors import UsageError

    if not text.strip():
        raise UsageError("a fragment has a text")
    given: dict[str, Any] = {"negative_prompt": text, "model_type": family, "content_mode": content_mode}
    values = row_values(negative_prompts, words, path, **given, generation_mode=mode, priority=priority)
    with opened(url) as library:
        try:
            row = NegativeStore(library.db).add({"created_by": who, **values}, who=who)
        except AlreadyExistsError as error:
            error.message = f"the family {family!r} has the fragment {text[:80]!r} in this tier and mode already"
            raise
    print_json(json_row(row)) if as_json else click.echo(f"{row['id']}: added.")


@negative.command()
@click.argument("row_id", metavar="ID")
@who_option
@database_options
def remove(row_id: str, url: str | None, *, who: str, as_json: bool) -> None:
    """Take a fragment out."""
    from innkeeper.library.errors import near_names
    from innkeeper.library.models.stores import NegativeStore

    with opened(url) as library:
        store = NegativeStore(library.db)
        with near_names(row_id, lambda: (row["id"] for row in store.list())):
            row = store.remove(row_id, who=who)
    print_json({"id": row["id"], "removed": True}) if as_json else click.echo(f"{row['id']}: removed.")


@negative.command()
@click.option("--family", default="", help="The family of models.")
@click.option(
    "--target", help="A model of the catalogue: its family, its limits, whether it takes negative prompts at all."
)
@click.option("--mode", type=_MODES, default="txt2img", show_default=True, help="The generation mode.")
@click.option("--text", default="", help="The user's own negative prompt, which comes last.")
@audience_options
@database_options
def preview(
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

    from innkeeper.library.models.facts import require_known
    from innkeeper.library.tiers.gate import TextKind

    if not (family or target):
        raise click.UsageError("name a family or a target")
    with opened(url) as library:
        if target is not None:
            require_known(library.catalogue, target)
        limits = ceilings(library, age_record)
        tier = library.tier_check({TextKind.USER_TEXT.value: text} if text else {}, content_mode, limits)
        if text:
            tier.require()
        found = library.negatives(family, tier.effective, mode, model=target, user_text=text)
    if as_json:
        print_json({**msgspec.to_builtins(found), "tier_granted": tier.effective.value, "tier_reasons": tier.reasons})
        return
    click.echo(found.text or f"no negative prompt ({found.skipped})")
    click.echo(f"{found.tokens:,} tokens, tier {tier.effective.value}", err=True)
    for one in found.dropped:
        click.echo(f"left out ({one.reason}): {one.fragment.text}", err=True)
