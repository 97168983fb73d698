"""Secret: text that is used but never shown. It lives with the contracts, since the vault hands secrets out too."""

from __future__ import annotations

from innkeeper.prompt.machine import REDACTED, Secret, redact

__all__ = ["REDACTED", "Secret", "redact"]
