"""``innkeeper admin tier``: which audience a text may be served for, and why."""

from __future__ import annotations

from pathlib import Path

import click

from innkeeper.cli.app.commands import examples, print_json
from innkeeper.cli.keep.library import audience_options, ceilings, database_options, opened, print_table, read_text


@click.group(epilog=examples('innkeeper admin tier check "Good evening."'))
def tier() -> None:
    """Check texts against tiers: sfw for everyone, nsfw for verified adults if the operator allows it."""


@tier.command(epilog=examples("innkeeper admin tier check --file letter.txt"))
@click.argument("text", required=False)
@click.option("--file", "path", type=click.Path(path_type=Path), help="A file with the text (-: standard input).")
@click.option("--as", "entry", default="user_text", show_default=True, help="The kind of the text.")
@click.option("--character-rating", help="The rating of the character that speaks.")
@click.option("--declared-age", type=int, help="The character's declared age.")
@audience_options
@database_options
def check(
    text: str | None,
    url: str | None,
    *,
    path: Path | None,
    entry: str,
    character_rating: str | None,
    declared_age: int | None,
    content_mode: str,
    age_record: Path | None,
    as_json: bool,
) -> int:
    """Check TEXT: the granted tier, the matches, and whether it may pass. Exits with 65 if not.

    The answer has positions and categories, never the text. A block is recorded as an audit event.
    """
    from innkeeper.gate.gate import TextKind, character_ceiling
    from innkeeper.library.prepare.request import tier_facts
    from innkeeper.prompt.errors import UnknownNameError

    if text is not None and path is not None:
        raise click.UsageError("give the text, or a file with --file, not both")
    if entry not in set(TextKind):
        raise UnknownNameError("entry", entry, list(TextKind))
    content = read_text(path) if path is not None else text or ""
    more = {} if character_rating is None else {"character": character_ceiling(character_rating, declared_age)}
    with opened(url) as library:
        decision = library.tier_check({entry: content}, content_mode, ceilings(library, age_record, **more))
    if as_json:
        print_json(tier_facts(decision))
        return 0 if decision.passed else 65
    print_table(
        ("", ""),
        [
            ("asked for", content_mode),
            ("granted", decision.effective.value),
            ("decision", decision.decision.value),
            ("may go on", decision.passed),
            ("categories", decision.categories or "none"),
            ("reasons", decision.reasons or "none"),
            ("detector", f"{decision.detector_version}, {decision.lexicon_version}"),
        ],
    )
    if decision.spans:
        click.echo()
        print_table(
            ("from", "to", "category", "entry", "weight"),
            [(span.start, span.end, span.category, span.entry, span.weight) for span in decision.spans],
        )
    return 0 if decision.passed else 65
