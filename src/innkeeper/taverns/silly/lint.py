"""Lint for the silly tavern: what of a card, its lore and a preset cannot reach the prompt or is never read.

`lint_fields` has all findings on the assets of a request, before anything is built of them.

Macros are checked without evaluating any: tags that neither macro engine of SillyTavern knows, wrong numbers of
arguments, braces that are opened and begin no tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final

from innkeeper.content.character import Character
from innkeeper.content.entry import LorePosition
from innkeeper.content.finding import Finding, Level, show_path
from innkeeper.content.lorebook import Lorebook
from innkeeper.content.preset import Preset
from innkeeper.content.regex_script import RegexScripts
from innkeeper.lore import LoreSettings, lint_book
from innkeeper.macros.engine.macro import Macro
from innkeeper.macros.engine.syntax import MacroTag, Run, parse
from innkeeper.macros.silly.legacy import NAMES as LEGACY
from innkeeper.macros.silly.modern import PACK
from innkeeper.prompt.near import nearest
from innkeeper.prompt.text import shorten
from innkeeper.taverns.silly.chat.prompts import DEFAULT_ORDER, MARKERS
from innkeeper.taverns.silly.scripts.lint import lint_scripts
from innkeeper.text.javascript.values import strip

CONTEXT: Final = 8192
"""The window of which lore budgets are a share if no preset sets one."""


def lint_fields(fields: Mapping[str, Any], preset: Preset | None, model: str | None) -> Iterator[Finding]:
    """Return the findings on ``fields`` of a request; lore is judged by ``preset`` and counted for ``model``."""
    character: Character | None = fields.get("character")
    books: list[Lorebook] = [*fields.get("lorebooks", ())]
    if character is not None:
        yield from lint_macros(character)
        yield from lint_scripts(character.regex_scripts, "data.extensions.regex_scripts")
        books += [character.book] if character.book else []
    for book in books:
        yield from _book_findings(book, preset, model)
    if "preset" in fields:
        yield from lint_preset(fields["preset"])
        yield from lint_scripts(fields["preset"].regex_scripts, "extensions.regex_scripts")
    # the settings of the files, those of a request among them
    request = fields.get("request")
    own = request.settings if request is not None else {}
    settings = {**own, **(fields.get("settings") or {})}
    yield from lint_story(settings)
    yield from lint_scripts(RegexScripts.of(settings.get("regex"), legacy=True), "settings.regex")


def _book_findings(book: Lorebook, preset: Preset | None, model: str | None) -> Iterator[Finding]:
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


_SLOTS: Final = {
    LorePosition.BEFORE_CHAR: "worldInfoBefore",
    LorePosition.AFTER_CHAR: "worldInfoAfter",
    LorePosition.EM_TOP: "dialogueExamples",
    LorePosition.EM_BOTTOM: "dialogueExamples",
    LorePosition.AT_DEPTH: "chatHistory",
}
"""The prompt each position needs. The author's note needs none of the preset's."""


def lint_slots(book: Lorebook, preset: Preset) -> Iterator[Finding]:
    """Entries whose position has no prompt in the preset, or one that is off."""
    on = _on(preset)
    for entry in book.entries:
        slot = _SLOTS.get(entry.position)
        if entry.enabled and slot is not None and slot not in on:
            message = f"{entry.title}: its position {entry.position.value} needs the prompt {slot}, which the preset leaves out"
            yield Finding("no-slot", message, show_path(("entries", entry.id, "position")))


def _on(preset: Preset) -> set[str]:
    order = preset.order_for()
    return set(DEFAULT_ORDER) if order is None else {item.identifier for item in order if item.enabled}


def lint_preset(preset: Preset) -> Iterator[Finding]:
    """Prompts that no order names, orders that name no prompt, prompts that are on and empty."""
    order = preset.order_for()
    listed = {item.identifier for item in order} if order is not None else set(DEFAULT_ORDER)
    known, on = {item.identifier for item in preset.prompts}, _on(preset)
    for index, item in enumerate(preset.prompts):
        path = show_path(("prompts", index))
        if item.identifier and item.identifier not in listed:
            yield Finding(
                "unlisted-prompt", f"the prompt {item.identifier!r} is in no order: it is never sent", path, Level.INFO
            )
        elif not item.marker and not strip(item.content) and item.identifier in on:
            yield Finding("empty-prompt", f"the prompt {item.identifier!r} is on and empty", path, Level.INFO)
    for name in sorted(listed - known - set(MARKERS) - set(DEFAULT_ORDER)):
        yield Finding(
            "unknown-prompt", f"the order names {name!r}, which is not a prompt of the preset", "prompt_order"
        )
    if "chatHistory" not in on:
        yield Finding(
            "no-history", "the chat history is off: neither messages nor texts at depths are sent", "prompt_order"
        )
    yield from _preset_macros(preset)


def _preset_macros(preset: Preset) -> Iterator[Finding]:
    for index, item in enumerate(preset.prompts):
        yield from macro_findings(item.content, show_path(("prompts", index, "content")))
    for field in _PRESET_TEXTS:
        also = _CONTINUED if field == "continue_nudge_prompt" else frozenset()
        yield from macro_findings(getattr(preset, field), field, also=also)


_CONTINUED: Final = frozenset({"lastchatmessage"})
"""The text that may follow a message to continue, besides macros."""

_PRESET_TEXTS: Final = (
    "impersonation_prompt", "new_chat_prompt", "new_group_chat_prompt", "new_example_chat_prompt", "continue_nudge_prompt",
    "group_nudge_prompt", "scenario_format", "personality_format", "assistant_prefill", "assistant_impersonation",
)  # fmt: skip


def lint_story(settings: Mapping[str, Any]) -> Iterator[Finding]:
    """A story string (``text.context.story_string`` of a request's settings) that would stop the build."""
    context = (settings.get("text") or {}).get("context") or {}
    story = context.get("story_string")
    if isinstance(story, str):
        yield from story_findings(story, "story_string")


def lint_macros(character: Character) -> Iterator[Finding]:
    """Unknown and malformed macros in the card's texts. Its book has `lint_book_macros`."""
    for field, text in texts_of(character):
        yield from macro_findings(text, f"data.{field}")
    if character.depth_prompt is not None:
        yield from macro_findings(character.depth_prompt.prompt, "data.extensions.depth_prompt.prompt")


def lint_book_macros(book: Lorebook) -> Iterator[Finding]:
    """Unknown and malformed macros in the texts and keys of entries that are on."""
    for entry in book.entries:
        if entry.enabled:
            yield from macro_findings(entry.content, show_path(("entries", entry.id, "content")))
            for index, key in enumerate(entry.keys):
                if not strip(key).startswith("/"):
                    yield from macro_findings(key, show_path(("entries", entry.id, "key", index)))


def texts_of(character: Character) -> Iterable[tuple[str, str]]:
    """The card's texts that macros are expanded in, with their fields."""
    for field in _TEXTS:
        text = getattr(character, field)
        if text:
            yield field, text
    for index, text in enumerate(character.alternate_greetings):
        yield f"alternate_greetings[{index}]", text


_TEXTS: Final = (
    "description", "personality", "scenario", "first_mes", "mes_example", "system_prompt", "post_history_instructions",
    "creator_notes",
)  # fmt: skip


MOST: Final = 20
"""The most findings on one text; more would repeat themselves."""

_OPENER: Final = re.compile(r"(?<!\\)\{\{+")
_EXCERPT: Final = 40


def macro_findings(text: str, path: str, *, also: frozenset[str] = frozenset()) -> list[Finding]:
    """Unknown macros, wrong numbers of arguments, openers that begin no tag. ``also`` are further names (lower case) to know.

    A macro that only the legacy engine knows is known: which engine runs is the user's setting.
    """
    if "{{" not in text:
        return []
    text = PACK.before(text)
    tree = parse(text, PACK.grammar)
    return list(islice(chain(_run(tree.run, text, path, also), _openers(text, tree.run, path)), MOST))


def story_findings(text: str, path: str) -> list[Finding]:
    """A story string that cannot be read as Handlebars; names in it may be macros or helpers, so none is unknown."""
    from innkeeper.macros.handlebars.syntax import parse as parse_story
    from innkeeper.prompt.errors import InnkeeperError

    try:
        parse_story(text)
    except InnkeeperError as error:
        line = error.where.line if error.where is not None else None
        return [Finding("malformed-macro", f"the story string stops the build: {error.message}", path, line=line)]
    return []


def _tags(run: Run) -> Iterator[MacroTag]:
    for tag in run.tags:
        yield tag
        for argument in tag.arguments:
            yield from _tags(argument)


def _run(run: Run, text: str, path: str, also: frozenset[str]) -> Iterator[Finding]:
    closers = set(run.partners.values())
    for index, tag in enumerate(run.tags):
        for argument in tag.arguments:
            yield from _run(argument, text, path, also)
        if tag.closing and index not in closers:
            yield _finding("malformed-macro", f"{{{{/{tag.name}}}}} closes nothing", text, tag.start, path)
        elif not tag.closing and tag.shorthand is None and tag.key not in also:
            yield from _tag(tag, text, path, blocks=int(index in run.partners))


def _tag(tag: MacroTag, text: str, path: str, *, blocks: int) -> Iterator[Finding]:
    macro = PACK.table.get(tag.key)
    if macro is None and tag.key not in LEGACY and not tag.key.startswith("time_utc"):
        near = nearest(tag.key, PACK.table)
        hint = f"did you mean {{{{{_spelled(near)}}}}}?" if near else None
        yield _finding(
            "unknown-macro", f"there is no macro {{{{{shorten(tag.name, _EXCERPT)}}}}}", text, tag.start, path, hint
        )
    elif macro is not None and not macro.rest and not macro.least <= len(tag.arguments) + blocks <= macro.most:
        count = len(tag.arguments) + blocks
        yield _finding(
            "malformed-macro", f"{{{{{tag.name}}}}} takes {_expected(macro)}, not {count}", text, tag.start, path
        )


def _spelled(key: str) -> str:
    """A name of the table with its capitals."""
    macro = PACK.table[key]
    return next(name for name in (macro.name, *macro.aliases) if name.lower() == key)


def _expected(macro: Macro) -> str:
    if macro.least == macro.most:
        return f"{macro.most} arguments" if macro.most else "no argument"
    return f"{macro.least} to {macro.most} arguments"


def _openers(text: str, run: Run, path: str) -> Iterator[Finding]:
    """Braces that are opened and begin no tag: it is not closed, or has no name."""
    starts = {tag.start for tag in _tags(run)}
    for match in _OPENER.finditer(text):
        if not any(start in starts for start in range(match.start(), match.end())):
            excerpt = shorten(text[match.start() :].split("\n", 1)[0], _EXCERPT)
            yield _finding("malformed-macro", f"{excerpt!r} opens braces and is not a macro", text, match.start(), path)


def _finding(rule: str, message: str, text: str, offset: int, path: str, hint: str | None = None) -> Finding:
    line = text.count("\n", 0, offset) + 1 if "\n" in text else None
    column = None if line is None else offset - text.rfind("\n", 0, offset)
    return Finding(rule, message, path, line=line, hint=hint, column=column)
