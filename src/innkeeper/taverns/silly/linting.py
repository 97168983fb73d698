"""Linting: all findings on the assets of one file, before anything is built of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from innkeeper.lore import LoreSettings, lint_book
from innkeeper.taverns.silly.lint import lint_book_macros, lint_macros, lint_preset, lint_slots, lint_story
from innkeeper.taverns.silly.scripts.lint import lint_scripts

if TYPE_CHECKING:
    from innkeeper.content.character import Character
    from innkeeper.content.finding import Finding
    from innkeeper.content.lorebook import Lorebook
    from innkeeper.content.preset import Preset


CONTEXT: Final = 8192
"""The window of which lore budgets are a share if no preset sets one."""


def lint_fields(fields: Mapping[str, Any], preset: Preset | None, model: str | None) -> Iterator[Finding]:
    """Return the findings on ``fields`` of a request; lore is judged by ``preset`` and counted for ``model``."""
    from innkeeper.content.regex_script import RegexScripts

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
    # the settings of the files, those of a request among them
    request = fields.get("request")
    own = request.settings if request is not None else {}
    settings = {**own, **(fields.get("settings") or {})}
    yield from lint_story(settings)
    yield from lint_scripts(RegexScripts.of(settings.get("regex"), legacy=True), "settings.regex")


def _book(book: Lorebook, preset: Preset | None, model: str | None) -> Iterator[Finding]:
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
