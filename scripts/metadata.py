"""The README as package indexes show it: links into the repository have its address in front, since nobody could follow them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

try:
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ImportError:  # only those who build a distribution have it
    MetadataHookInterface = object  # type: ignore[assignment,misc]

_LINK = re.compile(r"\]\((?!\w+:|#)([^)\s]+)\)")


def with_addresses(text: str, source: str) -> str:
    """The text with each relative link below the address ``source``."""
    return _LINK.sub(lambda match: f"]({source.rstrip('/')}/{match[1]})", text)


class Metadata(MetadataHookInterface):
    """What hatchling asks for the field ``readme``; the address is ``project.urls.Source`` of pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the readme."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = with_addresses(text, metadata["urls"]["Source"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
