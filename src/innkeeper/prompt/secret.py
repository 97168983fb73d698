"""Secret: text that is used but never shown, and the redaction of texts that may quote it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from innkeeper.prompt.errors import UsageError

__all__ = ["REDACTED", "Secret", "redact"]

REDACTED: Final = "[secret]"
"""What stands in the place of a secret."""

_SHORTEST: Final = 4


class Secret:
    """A key or password. Printing, formatting, pickling and comparing it show nothing; `reveal` is the one way in."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the wire."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        msg = "a Secret cannot be stored"
        raise UsageError(msg)


def redact(text: str, secrets: Iterable[Secret]) -> str:
    """``text`` without any of the secrets in it. Secrets under four characters are left: they would blank out prose."""
    for secret in sorted(secrets, key=lambda item: -len(item.reveal())):
        if len(secret.reveal()) >= _SHORTEST:
            text = text.replace(secret.reveal(), REDACTED)
    return text
