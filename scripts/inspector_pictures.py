"""Take the pictures of the inspector in docs/pictures: the packaged example in a browser, and a library of two templates.

Beside them it writes what they show, in digests: the page, the example, and the pictures themselves. A release wants pictures of
its page; while somebody works on the page, they may be older than it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from shutil import copytree, ignore_patterns
from tempfile import TemporaryDirectory
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from innkeeper.service.inspector.workspace.disk import SUFFIXES  # noqa: E402
from tests.inspector.chromium import PHONE, chromium, inspecting, missing, watched  # noqa: E402 - it is no part of a package
from tests.service.inspector.library.stocked import GREETER, stocked  # noqa: E402

PICTURES: Final = ROOT / "docs" / "pictures"
TAKEN: Final = PICTURES / "inspector.json"
"""What the pictures show, in digests."""

PAGE: Final = ROOT / "src" / "innkeeper" / "service" / "inspector" / "page" / "sources.json"
AGAIN: Final = "take them again: python scripts/inspector_pictures.py"


def _why(page: Any) -> None:
    page.get_by_role("button", name="The Bell Reef").click()
    page.locator(".piece.marked").wait_for()


def _compare(page: Any) -> None:
    page.locator("#pane-files").get_by_role("textbox", name="Personality", exact=True).fill("dry, loud, exact")
    page.get_by_role("tab", name="Compare").click()
    page.locator(".pair.changed .cm-content").first.wait_for()


def _time(page: Any) -> None:
    page.get_by_role("tab", name="Time").click()
    page.locator(".time svg, .time canvas").first.wait_for()
    page.wait_for_timeout(1500)  # turns come in parts


def _phone(page: Any) -> None:
    page.set_viewport_size(PHONE)


def _library(page: Any) -> None:
    page.get_by_role("navigation", name="Room").get_by_role("button", name="Library").click()
    page.get_by_role("listitem").filter(has_text=GREETER).get_by_role("button").click()
    detail = page.get_by_role("region", name="Open template")
    detail.get_by_role("tab", name="Compare").click()
    detail.locator(".merge .cm-content").first.wait_for()
    # Where it is and when it was made differ from run to run.
    page.locator(".facts .mono, .versions .dim:last-child").evaluate_all("(all) => all.forEach((one) => one.remove())")


SHOWN: Final[dict[str, tuple[str, Callable[[Any], None]]]] = {
    "inspector": ("light", _why),
    "inspector-dark": ("dark", _why),
    "inspector-compare": ("dark", _compare),
    "inspector-time": ("light", _time),
    "inspector-phone": ("light", _phone),
    "inspector-library": ("light", _library),
}
"""The pictures by name: the light, and the way to what each shows."""


SAID: Final = (
    "Is the reef safe tonight?", "Not while the fog lies on it.", "I heard a bell out there.", "That is the Bell Reef. Sleep.",
    "When does the mail boat go?", "On Thursday, if the skipper is sober.", "And in a storm?", "Then nobody goes anywhere.",
    "Tell me about the light.", "It turns once in nine seconds.", "Who wound it before you?", "My mother, and hers.",
    "Do you write all this down?", "In the log. Every night.", "Is there a way at low tide?", "Past the reef, with a lantern.",
    "What lives in the garden?", "Kale, and my temper.", "The wind is rising.", "Storm season. Come away from the window.",
    "I should like to stay.", "Then you peel the potatoes.",
)  # fmt: skip
"""What Ansel and Wenna say to each other in the chat of `_time`, by turns."""


def _long_chat(folder: Path) -> tuple[Path, ...]:
    """The packaged example with a longer chat."""
    example = folder / "Skerrow"
    copytree(ROOT / "examples", example, ignore=ignore_patterns("*.py", "*.md", "smart"), dirs_exist_ok=True)
    chat = example / "wenna.chat.jsonl"
    own = [
        json.dumps({"name": ("Ansel", "Wenna")[at % 2], "is_user": at % 2 == 0, "mes": text})
        for at, text in enumerate(SAID)
    ]
    chat.write_text("\n".join([*chat.read_text(encoding="utf-8").splitlines(), *own]) + "\n", encoding="utf-8")
    return (example,)


def digests() -> dict[str, Any]:
    """Of what is there now: the sources of the page, the example that it opens, and the pictures."""
    example = ROOT / "examples"
    files = sorted(path for path in example.rglob("*") if path.suffix in SUFFIXES)
    return {
        "page": json.loads(PAGE.read_text(encoding="utf-8"))["sources"],
        "example": {path.relative_to(example).as_posix(): _digest(path) for path in files},
        "pictures": {name: _digest(PICTURES / f"{name}.png") for name in SHOWN},
    }


def taken() -> dict[str, Any]:
    """Of what was there when the pictures were taken."""
    digests: dict[str, Any] = json.loads(TAKEN.read_text(encoding="utf-8"))
    return digests


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def main() -> None:
    """Take them all; a page is new for each."""
    if reason := missing():
        sys.exit(reason)
    with TemporaryDirectory() as folder, chromium() as browser:
        database = stocked(Path(folder))
        for name, (light, show) in SHOWN.items():
            files = _long_chat(Path(folder)) if show is _time else ()
            with (
                inspecting(*files, database=database) as address,
                watched(browser, address, color_scheme=light) as window,
            ):
                page = window.open()
                show(page)
                page.mouse.move(0, 0)
                # The one thing that differs from run to run is how long it took.
                page.locator(".timing").evaluate("(timing) => (timing.style.visibility = 'hidden')")
                page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")
    TAKEN.write_text(json.dumps(digests(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
