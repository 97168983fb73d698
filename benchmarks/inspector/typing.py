"""The inspector in a browser: from a keystroke to the painted prompt, from the start to the first paint, scrolling, its size.

``python -m benchmarks.inspector.typing`` takes a minute and prints a table. It needs Chromium on the path, and a machine that
does nothing else: the load is printed beside the numbers.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from innkeeper.service.inspector.surface import assets
from tests.inspector.chromium import chromium, inspecting, missing, watched
from tests.shared import ROOT

TYPED: Final = "Is the reef safe tonight, or should we wait for the mail boat at dawn? "
MESSAGES: Final = 1_000
ENTRIES: Final = 2_000
KEYS: Final = 3
PROSE: Final = "The harbour bell rang twice, and nobody on Lantern Street looked up from their work. "

_TIMED: Final = """() => {
  const field = document.querySelector("#message"), took = (window.took = []);
  let began = 0;
  field.addEventListener("beforeinput", (event) => (began = event.timeStamp), true);
  field.addEventListener("input", () => {
    const from = began, wanted = field.value;
    const list = document.querySelector("#view .list.scroll");
    const look = () => {
      list.scrollTop = list.scrollHeight;
      const painted = [...document.querySelectorAll("article .text")].some((text) => text.textContent.includes(wanted));
      if (!painted) return requestAnimationFrame(look);
      const after = new MessageChannel();
      after.port1.onmessage = () => took.push(performance.now() - from);
      after.port2.postMessage(0);
    };
    requestAnimationFrame(look);
  });
}"""

_PAINTED: Final = (
    """() => performance.timeOrigin + performance.getEntriesByName("first-contentful-paint")[0].startTime"""
)
"""When the page painted something first, in milliseconds of the clock."""

_AT_THE_END: Final = """() => {
  const list = document.querySelector("#view .list.scroll"), wanted = document.querySelector("#message").value;
  list.scrollTop = list.scrollHeight;
  return [...document.querySelectorAll("article .text")].some((text) => text.textContent.includes(wanted));
}"""

_SCROLLED: Final = """() => new Promise((done) => {
  const list = document.querySelector("#view .list.scroll"), frames = [];
  list.scrollTop = 0;
  let before = performance.now(), left = 180;
  const step = (now) => {
    frames.push(now - before);
    before = now;
    list.scrollTop += 240;
    left -= 1;
    if (left) requestAnimationFrame(step);
    else done(frames.slice(2));
  };
  requestAnimationFrame(step);
})"""


def large(folder: Path) -> tuple[Path, ...]:
    """A long chat, and a book of thousands of entries of which some fire."""
    entries = {
        str(uid): {
            "uid": uid,
            "key": [f"harbour{uid}", f"lantern {uid}", f"bell-{uid % 50}"][:KEYS],
            "comment": f"Entry {uid}",
            "content": f"Of number {uid}: {PROSE}",
            "constant": uid % 100 == 0,
            "selective": True,
            "order": uid,
            "position": 0,
            "disable": False,
        }
        for uid in range(ENTRIES)
    }
    head = {"user_name": "Ansel", "character_name": "Wenna Carrow", "create_date": "2026-01-01", "chat_metadata": {}}
    chat = [
        {"name": ("Ansel", "Wenna Carrow")[index % 2], "is_user": index % 2 == 0, "mes": f"{index}: {PROSE * 2}"}
        for index in range(MESSAGES)
    ]
    (folder / "book.json").write_text(json.dumps({"entries": entries}), encoding="utf-8")
    (folder / "chat.jsonl").write_text("\n".join(map(json.dumps, [head, *chat])), encoding="utf-8")
    return ROOT / "examples" / "wenna.png", folder / "book.json", folder / "chat.jsonl"


def typed(page: Any) -> list[float]:
    """Milliseconds from each keystroke to the painted prompt, one after the other."""
    message = page.locator("#message")
    message.fill("")
    message.press_sequentially("warm")
    page.evaluate(_TIMED)
    page.wait_for_function(_AT_THE_END)
    for count, key in enumerate(TYPED, 1):
        page.keyboard.type(key)
        page.wait_for_function("(count) => window.took.length >= count", arg=count)
    took: list[float] = page.evaluate("window.took")
    return took


def of(values: Sequence[float], share: float) -> float:
    """The value below which a share of them is."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def rows(browser: Any, name: str, files: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """What is measured of a workspace."""
    began = time.time()
    with inspecting(*files) as address, watched(browser, address) as window:
        prompt = time.time() - began
        paint = window.context.pages[0].evaluate(_PAINTED) / 1000 - began
        yield f"{name}: start to first paint, prompt", f"{paint:.2f} s, {prompt:.2f} s"
        page = window.open()
        if files:
            page.get_by_role("tab", name="Settings").click()  # a window that all of it fits
            page.get_by_role("spinbutton", name="Context window").fill("200000")
            page.get_by_role("tab", name="Why").click()
            page.locator(".verdict").first.wait_for()
        took = typed(page)
        yield f"{name}: keystroke to paint", f"p50 {of(took, 0.5):.0f} ms, p95 {of(took, 0.95):.0f} ms"
        frames = page.evaluate(_SCROLLED)
        smooth = sum(frame < 20 for frame in frames) / len(frames)
        yield f"{name}: scrolling", f"p50 {of(frames, 0.5):.1f} ms, p95 {of(frames, 0.95):.1f} ms; {smooth:.0%} in time"


def main() -> None:
    """Measure and print."""
    if reason := missing():
        sys.exit(reason)
    load = os.getloadavg()[0]
    sizes = {
        name: len(gzip.compress(asset.data, 9, mtime=0))
        for name, asset in assets().items()
        if name.startswith("assets/")
    }
    print(f"{'bundle, compressed':44} {sum(sizes.values()) / 1000:.0f} kB")
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        sets = {"typical": (), f"{MESSAGES:,} messages, {ENTRIES:,} x {KEYS} keys": large(Path(folder))}
        for name, files in sets.items():
            for row, value in rows(browser, name, files):
                print(f"{row:44} {value}")
    print(f"{'load of the machine before and after':44} {load:.1f}, {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
