"""Take the pictures of the inspector in docs/pictures: the packaged example in a browser, bright, dark and on a phone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.inspector.chromium import PHONE, chromium, inspecting, missing, watched  # noqa: E402 - it is no part of a package

PICTURES: Final = ROOT / "docs" / "pictures"


def _why(page: Any) -> None:
    page.get_by_role("button", name="The Bell Reef").click()
    page.locator(".piece.marked").wait_for()


def _compare(page: Any) -> None:
    page.locator("#pane-files").get_by_role("textbox", name="Personality", exact=True).fill("dry, loud, exact")
    page.get_by_role("tab", name="Compare").click()
    page.locator(".pair.changed .cm-content").first.wait_for()


def _phone(page: Any) -> None:
    page.set_viewport_size(PHONE)


SHOWN: Final[dict[str, tuple[str, Callable[[Any], None]]]] = {
    "inspector": ("light", _why),
    "inspector-dark": ("dark", _why),
    "inspector-compare": ("dark", _compare),
    "inspector-phone": ("light", _phone),
}
"""The pictures by name: the light, and the way to what each shows."""


def main() -> None:
    """Take them all; a page is new for each."""
    if reason := missing():
        sys.exit(reason)
    with chromium() as browser:
        for name, (light, show) in SHOWN.items():
            with inspecting() as address, watched(browser, address, color_scheme=light) as window:
                page = window.open()
                show(page)
                page.mouse.move(0, 0)
                # The one thing that differs from run to run is how long it took.
                page.locator(".timing").evaluate("(timing) => (timing.style.visibility = 'hidden')")
                page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")


if __name__ == "__main__":
    main()
