"""Page: the built bundle, as files that are served from memory by their exact names."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from innkeeper.prompt.once import once

PAGE: Final = Path(__file__).with_name("page")
INDEX: Final = "index.html"

_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}
"""What a page may be made of."""


class Asset(NamedTuple):
    """A file of the bundle: its bytes and its media type."""

    data: bytes
    media_type: str


@once
def assets() -> dict[str, Asset]:
    """The files of the bundle by their paths below the page."""
    files = sorted(path for path in PAGE.rglob("*") if path.is_file() and path.suffix in _TYPES)
    return {path.relative_to(PAGE).as_posix(): Asset(path.read_bytes(), _TYPES[path.suffix]) for path in files}
