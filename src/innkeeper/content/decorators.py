"""Decorators: the ``@@name value`` lines at the head of a lorebook entry (Character Card V3, *Decorators*).

This is the specification's reading. Applications differ in which lines they accept; their lore engines read the content
themselves.
"""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["Decorator", "split_decorators"]

MARK: Final = "@@"
FALLBACK_MARK: Final = "@@@"


class Decorator(msgspec.Struct, frozen=True, omit_defaults=True):
    """One decorator: its name, the text after it, and those to use instead where it is not known, first choice first."""

    name: str
    argument: str = ""
    fallbacks: tuple[Decorator, ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        """The argument as a list: split at commas, trimmed, without empty ones."""
        return tuple(value for part in self.argument.split(",") if (value := part.strip()))


def split_decorators(content: str) -> tuple[tuple[Decorator, ...], str]:
    r"""The decorators at the head of ``content``, and the text that is left.

    >>> split_decorators("@@depth 4\n@@role user\n\nThe gate is shut.")[1]
    'The gate is shut.'
    """
    if not content.lstrip().startswith(MARK):
        return (), content
    lines = content.lstrip().split("\n")
    count = next((index for index, line in enumerate(lines) if not line.strip().startswith(MARK)), len(lines))
    return _grouped(lines[:count]), "\n".join(lines[count:]).strip("\r\n")


def _grouped(lines: list[str]) -> tuple[Decorator, ...]:
    """Decorators with their fallbacks; a fallback that follows nothing is left out."""
    found: list[list[Decorator]] = []
    for line in lines:
        text = line.strip()
        is_fallback = text.startswith(FALLBACK_MARK)
        name, _, argument = text.lstrip("@").partition(" ")
        if not is_fallback:
            found.append([Decorator(name, argument.strip())])
        elif found:
            found[-1].append(Decorator(name, argument.strip()))
    return tuple(Decorator(first.name, first.argument, tuple(rest)) for first, *rest in found)
