"""The text of the language policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["policy_text"]

_VERBATIM: Final = (
    "Copy unchanged, never translated: code blocks and inline code, Liquid markup ({{ }} and {% %}), HTML and XML tags, "
    "URLs and Markdown links."
)


def policy_text(target_lang: str, style_hint: str | None = None, special_tags: Sequence[str] = ()) -> str:
    """What the model is told: the language and style, what to copy unchanged, how tools and JSON stay usable."""
    return "\n".join(
        f"{'- ' if index else ''}{line}" for index, line in enumerate(_lines(target_lang, style_hint, special_tags))
    )


def _lines(target: str, style: str | None, tags: Sequence[str]) -> list[str]:
    kept = [f"<{tag}>" for tag in tags if tag.lower() != "lang"]
    manner = f" Style: {style}." if style else ""
    lines = [
        "Language policy:",
        f"Write your replies in {target}, as somebody would whose language it is.{manner}",
        _VERBATIM,
        "Leave tool names, directive types and JSON keys as they are. Where JSON is asked for, send JSON and nothing else.",
        "A turn that calls tools has no prose in it.",
    ]
    if kept:
        lines.append(f"Leave what stands inside these tags as it is: {', '.join(kept)}.")
    if len(kept) < len(tags):
        lines.append(
            f'Mark a passage in another language with <lang code="...">...</lang>: inside it that language, outside {target}.'
        )
    return lines
