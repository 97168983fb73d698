"""``innkeeper lint``: find what in cards, lorebooks and presets can never have an effect, or has one nobody wants."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.app.commands import json_option
from innkeeper.cli.prompt.assets import Assets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from innkeeper.content.character import Character
    from innkeeper.content.finding import Finding
    from innkeeper.content.lorebook import Lorebook
    from innkeeper.content.preset import Preset

__all__ = ["lint"]

CONTEXT: Final = 8192
"""The window lore budgets are a share of where no preset says one."""


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--model", metavar="NAME", help="The model whose tokens are counted.")
@click.option("--strict", is_flag=True, help="Exit with 1 also for findings that are only worth knowing.")
@json_option
def lint(files: tuple[str, ...], *, model: str | None, strict: bool, as_json: bool) -> int:
    """Look for dead entries, unreachable or too short keys, shadowed groups, runaway regular expressions, dead scripts.

    FILES are cards, lorebooks, presets, personas and chats, told apart by their content. Exits with 1 when a warning is found.
    """
    located = [(name, finding) for name, findings in _linted(files, model) for finding in findings]
    if as_json:
        click.echo(json.dumps([{"file": name, **finding.to_dict()} for name, finding in located]))
    else:
        for name, finding in located:
            click.echo(f"{name}: {finding.level}: {finding} ({finding.rule})")
        click.echo(f"{len(located)} findings in {len(files)} files")
    return int(any(strict or finding.level != "info" for _, finding in located))


def _linted(files: tuple[str, ...], model: str | None) -> Iterable[tuple[str, list[Finding]]]:
    """Each file with its findings; lore is judged by the preset among the files, if there is one."""
    from innkeeper.lore.lint import RESTATED

    read = []
    for name in files:
        assets = Assets()
        assets.add(name)
        read.append((name, assets))
    preset = next((assets.fields["preset"] for _, assets in read if "preset" in assets.fields), None)
    for name, assets in read:
        yield (
            name,
            [
                *(finding for finding in assets.findings if finding.rule not in RESTATED),
                *_findings(assets.fields, preset, model),
            ],
        )


def _findings(fields: dict[str, Any], preset: Preset | None, model: str | None) -> Iterable[Finding]:
    from innkeeper.content.regex_script import RegexScripts
    from innkeeper.taverns.silly.lint import lint_macros, lint_preset, lint_story
    from innkeeper.taverns.silly.script_lint import lint_scripts

    character: Character | None = fields.get("character")
    books: list[Lorebook] = [*fields.get("lorebooks", ())]
    if character is not None:
        yield from lint_macros(character)
        yield from lint_scripts(character.regex_scripts, "data.extensions.regex_scripts")
        books += [character.book] if character.book else []
    for book in books:
        yield from _book(book, preset, model)
    if "preset" in fields:
        yield from lint_preset(fields["preset"])
        yield from lint_scripts(fields["preset"].regex_scripts, "extensions.regex_scripts")
    settings = _settings(fields)
    yield from lint_story(settings)
    yield from lint_scripts(RegexScripts.of(settings.get("regex"), legacy=True), "settings.regex")


def _settings(fields: dict[str, Any]) -> Mapping[str, Any]:
    """The settings that the files hold, those of a request among them."""
    request = fields.get("request")
    own = request.settings if request is not None else {}
    return {**own, **(fields.get("settings") or {})}


def _book(book: Lorebook, preset: Preset | None, model: str | None) -> Iterable[Finding]:
    from innkeeper.lore import LoreSettings, lint_book
    from innkeeper.taverns.silly.lint import lint_book_macros, lint_slots
    from innkeeper.tokens import default_counter

    window = (preset.context_window if preset else None) or CONTEXT
    counter = default_counter()
    known = {str(finding) for finding in book.findings}
    budget = LoreSettings().tokens(window)
    for finding in lint_book(book, budget=budget, count=lambda text: counter.count(text, model)):
        if str(finding) not in known:
            yield finding
    yield from lint_book_macros(book)
    if preset is not None:
        yield from lint_slots(book, preset)
