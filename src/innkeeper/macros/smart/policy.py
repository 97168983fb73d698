"""Policy: what stands for a variable that is not set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from innkeeper.prompt.errors import FormatError

__all__ = ["Policy"]


class Policy(msgspec.Struct, frozen=True):
    """``undefined_get`` is ``error`` (a placeholder, made from ``error_token``) or anything else (an empty text)."""

    undefined_get: str = "error"
    error_token: str = "[UndefinedVar:{name}]"  # noqa: S105 - a placeholder, no secret

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> Policy:
        """The policy of a request; what is no text counts by its text. Raises `FormatError` when it is no object."""
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise FormatError(f"policy must be an object, not {type(given).__name__}")
        texts = {name: str(given[name]) for name in cls.__struct_fields__ if name in given}
        return cls(**texts)

    def undefined(self, name: str) -> str:
        """What stands for the variable of that name."""
        return self.error_token.replace("{name}", name) if self.undefined_get.lower() == "error" else ""
