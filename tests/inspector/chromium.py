"""The inspector in a real browser: its server, a Chromium that reaches nothing else, and a page that is watched."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
"""How the program is called on systems that have it."""

SWITCHES: Final = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    # Every name but this machine's leads nowhere, whatever the browser itself wants to ask.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)

DESK: Final = {"width": 1280, "height": 800}
PHONE: Final = {"width": 360, "height": 740}

PATIENCE: Final = 60_000
"""Milliseconds that a page may take for anything, on however busy a machine."""

_WATCH: Final = """
document.addEventListener("securitypolicyviolation", (event) => {
  const [at] = event.composedPath();
  // The browser itself copies looks when a selection in an editor is typed over, and its own policy stops it.
  if (event.effectiveDirective === "style-src-attr" && at.closest?.(".cm-content")) return;
  console.error(`violation: ${event.effectiveDirective} ${event.sourceFile} ${at.outerHTML ?? at.nodeName}`);
});
for (const name of ["alert", "confirm", "prompt", "open", "ran"]) window[name] = () => console.error(`ran: ${name}`);
"""


def missing() -> str | None:
    """Why no browser can be had here; None where one can."""
    if find_spec("playwright") is None or find_spec("axe_playwright_python") is None:
        return "the inspector's page is not tested: playwright is not installed (pip install innkeeper[test])"
    if program() is None:
        return "the inspector's page is not tested: there is no Chromium on the path (apt-get install chromium)"
    return None


def program() -> str | None:
    """The browser of this machine."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser without a window."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    root = getattr(os, "geteuid", lambda: 1)() == 0
    switches = [*SWITCHES, *(("--no-sandbox",) if root else ())]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=switches, timeout=PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def inspecting(*files: Path, database: Path | None = None, config: Path | None = None) -> Iterator[str]:
    """``innkeeper inspect`` as it is started by hand: the address that opens it once. ``database`` is the library's."""
    command = [sys.executable, "-m", "innkeeper", "inspect", "--no-browser", "--json", *map(str, files)]
    named = {"INNKEEPER_DATABASE_URL": database, "INNKEEPER_CONFIG": config}
    environ = os.environ | {name: str(path) for name, path in named.items() if path is not None}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as server:
        try:
            assert server.stdout is not None
            yield str(json.loads(server.stdout.readline())["address"])
        finally:
            server.terminate()


@contextmanager
def serving(key: str, database: Path) -> Iterator[str]:
    """``innkeeper serve --inspector`` behind a key: the address that opens the inspector once."""
    command = [sys.executable, "-m", "innkeeper", "serve", "--json", "--port", "0", "--no-grpc", "--inspector", ""]
    environ = os.environ | {"INNKEEPER_SERVICE_KEY": key, "INNKEEPER_DATABASE_URL": str(database)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environ) as server:
        try:
            assert server.stdout is not None
            told: dict[str, Any] = {}
            while "inspector" not in told:
                told |= json.loads(server.stdout.readline())
            yield str(told["inspector"])
        finally:
            server.terminate()


@dataclasses.dataclass
class Watched:
    """A browser's window at one inspector: what leaves for elsewhere is stopped and counted, and so is what goes wrong."""

    context: Any
    origin: str
    elsewhere: list[str] = dataclasses.field(default_factory=list)
    errors: list[str] = dataclasses.field(default_factory=list)
    _page: Any = None

    def open(self, address: str = "") -> Any:
        """The page of this window, at the inspector anew, with its prompt shown."""
        if self._page is None:
            self._page = self._watch(self.context.new_page())
        self._page.goto(address or f"{self.origin}/inspector/")
        self._page.locator("article").first.wait_for()
        return self._page

    def _watch(self, page: Any) -> Any:
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._said)
        page.on(
            "response", lambda reply: self.errors.append(f"{reply.status} {reply.url}") if reply.status >= 400 else None
        )
        page.on("websocket", lambda socket: self._see(socket.url.replace("ws", "http", 1)))
        page.on("dialog", self._asked)
        return page

    def assert_quiet(self) -> None:
        """Nothing of what is shown ran, nothing was asked of anybody else, nothing failed; tells each once."""
        happened = [*self.elsewhere, *self.errors]
        self.elsewhere.clear()
        self.errors.clear()
        assert not happened, "\n".join(happened)

    def _said(self, message: Any) -> None:
        # Of an inline style the listener tells more.
        if message.type == "error" and not message.text.startswith("Applying inline style"):
            self.errors.append(message.text)

    def _see(self, url: str) -> bool:
        ours = url.startswith((f"{self.origin}/", f"blob:{self.origin}/"))
        if not ours:
            self.elsewhere.append(url)
        return ours

    def _asked(self, dialog: Any) -> None:
        if dialog.type != "beforeunload":
            self.errors.append(f"dialog: {dialog.message}")
        dialog.accept()


@contextmanager
def watched(browser: Any, address: str, **options: Any) -> Iterator[Watched]:
    """A window that has opened an inspector by its address."""
    context = browser.new_context(**{"viewport": DESK, **options})
    context.set_default_timeout(PATIENCE)
    context.add_init_script(_WATCH)
    window = Watched(context, address.partition("/inspector/")[0])
    context.route("**/*", lambda route: route.continue_() if window._see(route.request.url) else route.abort())
    window.open(address)
    try:
        yield window
    finally:
        context.close()


def set_up(page: Any, settings: dict[str, Any]) -> None:
    """Change settings of the workspace as another window would."""
    page.evaluate(_SET_UP, settings)


_SET_UP: Final = """(settings) => new Promise((done) => {
  const socket = new WebSocket(`ws://${location.host}/v1/inspector/live`);
  socket.onopen = () => socket.send(JSON.stringify({ serial: 1, settings }));
  socket.onmessage = ({ data }) => "serial" in JSON.parse(data) && (socket.close(), done());
})"""


def overflow(page: Any) -> list[str]:
    """Elements that make the page wider than its window: none, where nobody has to scroll sideways."""
    found: list[str] = page.evaluate(_OVERFLOW)
    return found


_OVERFLOW: Final = """() => {
  const width = innerWidth, out = [];
  if (document.documentElement.scrollWidth > width) out.push(`page ${document.documentElement.scrollWidth}`);
  const hidden = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.visibility === "hidden" || style.display === "none") return true;
    }
    return false;
  };
  const clipped = (element, box) => {
    for (let at = element.parentElement; at; at = at.parentElement) {
      if (getComputedStyle(at).overflowX !== "visible" && at.getBoundingClientRect().right <= width + 1) return true;
    }
    return false;
  };
  for (const element of document.querySelectorAll("body *")) {
    const box = element.getBoundingClientRect();
    if (box.width && box.right > width + 1 && !hidden(element) && !clipped(element, box)) {
      out.push(`${element.tagName} ${element.className} ${Math.round(box.right)}`);
    }
  }
  for (const element of document.querySelectorAll(".scroll, .view, .pane, dialog")) {
    const wide = element.scrollWidth > element.clientWidth + 1 && !hidden(element);
    if (wide) out.push(`scrolls: ${element.tagName} ${element.className} ${element.scrollWidth}`);
  }
  return out;
}"""


# ---------------------------------------------------------------------------------------------------- what is seen


def message(page: Any, text: str) -> Any:
    """The message of the prompt with a text in it."""
    return page.get_by_role("article").filter(has_text=text)


def field(page: Any, name: str) -> Any:
    """The field of a file."""
    return page.locator("#pane-files").get_by_role("textbox", name=name, exact=True)


def seen(locator: Any) -> None:
    """Wait until it is on the screen."""
    _expect()(locator).to_be_visible()


def says(locator: Any, text: str | re.Pattern[str]) -> None:
    """Wait until it says something."""
    _expect()(locator).to_contain_text(text)


def has(locator: Any, number: int) -> None:
    """Wait until there are so many."""
    _expect()(locator).to_have_count(number)


def _expect() -> Any:
    from playwright.sync_api import expect

    return expect
