"""The page of the inspector: its bundle is the one that its sources make, small, and loads nothing from elsewhere."""

from __future__ import annotations

import gzip
import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest

from tests.shared import ROOT

SOURCES: Final = ROOT / "inspector"
PAGE: Final = ROOT / "src/innkeeper/service/inspector/page"
SINGLE: Final = (
    "index.html",
    "package.json",
    "package-lock.json",
    "sources.ts",
    "svelte.config.js",
    "tsconfig.json",
    "vite.config.ts",
)
"""Sources beside those in `src`: the same as in ``inspector/sources.ts``."""

TYPES: Final = "src/api/types.ts"
"""Types alone, of which nothing is left in a bundle."""

MOST: Final = 400_000
"""Bytes, compressed, that a browser loads at most."""


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _written() -> dict[str, Any]:
    written: dict[str, Any] = json.loads((PAGE / "sources.json").read_text())
    return written


def _bundle() -> dict[str, Path]:
    return {path.relative_to(PAGE).as_posix(): path for path in sorted(PAGE.rglob("*")) if path.is_file()}


def test_the_bundle_is_current() -> None:
    """The bundle was built from the sources as they are; after a change of them, `make inspector` builds it again."""
    inside = [path.relative_to(SOURCES).as_posix() for path in (SOURCES / "src").rglob("*") if path.is_file()]
    paths = sorted({*SINGLE, *inside} - {TYPES})
    lines = "".join(f"{path} {_digest(SOURCES / path)}\n" for path in paths)
    assert _written()["sources"] == sha256(lines.encode()).hexdigest(), (
        "the page is older than its sources: make inspector"
    )


def test_the_bundle_is_as_it_was_built() -> None:
    """Nothing in the bundle was changed by hand, is missing, or came along."""
    assert _written()["files"] == {name: _digest(path) for name, path in _bundle().items() if name != "sources.json"}


def test_the_bundle_is_small() -> None:
    """All that a browser can load of it stays below the limit, compressed, and there are no source maps."""
    loaded = [path for name, path in _bundle().items() if path.suffix not in {".json", ".txt"}]
    assert sum(len(gzip.compress(path.read_bytes(), mtime=0)) for path in loaded) <= MOST
    assert not [name for name in _bundle() if name.endswith(".map")]


def test_the_page_needs_nothing_inline() -> None:
    """The page's own HTML has no script, style or address that its policy would refuse."""
    html = (PAGE / "index.html").read_text()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=\"/inspector/)", html)
    assert all(address.startswith("/inspector/") for address in re.findall(r"(?:src|href)=\"([^\"]*)\"", html))


@pytest.mark.parametrize("name", [name for name in _bundle() if name.endswith((".js", ".css"))])
def test_the_bundle_loads_nothing_from_elsewhere(name: str) -> None:
    """What looks like an address in the bundle is the name of a namespace or a page about an error, nothing that is loaded."""
    addresses = set(re.findall(r"https?://([\w.-]+)", (PAGE / name).read_text()))
    assert addresses <= {"www.w3.org", "svelte.dev"}


def test_no_registry_is_named() -> None:
    """The lock file names no address of a registry, so that each installs from its own."""
    lock = json.loads((SOURCES / "package-lock.json").read_text())
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]


def test_licences_are_passed_on() -> None:
    """Every library of the bundle comes with its licence, as they ask for."""
    text = (PAGE / "licenses.txt").read_text()
    assert all(f"\n{name} " in f"\n{text}" for name in ("svelte", "@codemirror/view", "@tanstack/virtual-core"))
