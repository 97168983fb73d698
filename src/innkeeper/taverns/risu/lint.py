"""Lint for the risu tavern: macros that stay as they are, and decorators of entries that RisuAI rejects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from innkeeper.content.finding import Finding, show_path
from innkeeper.content.preset import Preset
from innkeeper.macros.cbs.lint import expanded_texts, lint_cbs
from innkeeper.prompt.near import nearest
from innkeeper.prompt.text import shorten
from innkeeper.taverns.assets import raw_of
from innkeeper.taverns.risu.lore.decorators import MARK, NAMES, rejected_lines

_SHOWN: Final = 60


def lint_fields(fields: Mapping[str, Any], _preset: Preset | None, _model: str | None) -> Iterator[Finding]:
    """Return the findings on ``fields`` of a request: the card, the preset, lorebooks, modules."""
    own = fields.get("settings", {}).get("risu", {})
    for asset in (fields.get("character"), fields.get("preset"), *fields.get("lorebooks", ()), own):
        for path, text in expanded_texts(raw_of(asset)):
            yield from lint_cbs(text, show_path(path))
            if path[-1] == "content" and text.lstrip().startswith(MARK):
                yield from _decorators(text, show_path(path))


def _decorators(text: str, path: str) -> Iterator[Finding]:
    above = text[: len(text) - len(text.lstrip())].count("\n")
    for number, line in rejected_lines(text).items():
        name = line.lstrip("@").partition(" ")[0].strip()
        near = None if name in NAMES else nearest(name, NAMES)
        hint = f"did you mean @@{near}?" if near else None
        what = "has no effect with these arguments" if name in NAMES else "is no decorator that has an effect"
        message = f"{shorten(line, _SHOWN)!r} {what}"
        yield Finding("lost-decorator", message, path, line=above + number + 1, column=1, hint=hint)
