"""A library of two templates, a model, a secret and four calls in a file, made once and copied, and a browser in its rooms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from innkeeper.library.library import Library
from innkeeper.library.log.logs import LogStore
from innkeeper.library.models.stores import ModelStore, NegativeStore, ProviderStore, ToolStore
from innkeeper.library.templates.template import TemplateDraft, TemplateKey, Variable
from innkeeper.library.vault.keys import KEY_VARIABLE, EnvironmentKeys, VaultKey
from innkeeper.library.vault.vault import Vault
from innkeeper.prompt.typed.once import once
from innkeeper.service.guard.grants import Grant, Keys
from innkeeper.service.inspector.access import Access
from innkeeper.service.inspector.library.library_access import LibraryAccess
from innkeeper.service.inspector.surface import Inspector
from innkeeper.service.settings import Settings
from tests.service.inspector.opened import Browser, session_of

GREETER = "greeter"
ADULT = "adult frame"
KEY = "lantern-key"
SECRET = "lighthouse-0451"


def draft(text: str, name: str = GREETER, tier: str = "sfw", target: str = "lantern-7b", **more: Any) -> TemplateDraft:
    """A template with one variable."""
    key = TemplateKey.of("chat", tier, target)
    variables = (Variable(name="guest", required=False, max_tokens=20),)
    return TemplateDraft(name=name, key=key, system_prompt=text, variables=variables, **more)


@once
def _stocked() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "stocked.db")
        stock(path)
        return path.read_bytes()


def stock(url: str | Path) -> None:
    """Fill a library, whatever database it is in."""
    with Library.open(url, watch=False) as library:
        authoring = library.authoring
        authoring.create(draft("Greet {{guest}}.", description="Greets whoever comes in", author="Ann"))
        authoring.publish(GREETER, 1, who="Ann", why="the first")
        authoring.add_version(draft("Greet {{guest}} warmly.", note="warmer"))
        authoring.publish(GREETER, 2, who="Ann")
        authoring.create(draft("{{guest}} is a verified adult.", ADULT, "nsfw"))
        _catalogue(library)
        _log(library)


def _catalogue(library: Library) -> None:
    provider = ProviderStore(library.db).put(
        {"name": "lantern", "base_url": "https://lantern.test", "secret_name": KEY}
    )
    model = {"model_key": "lantern-7b", "provider_id": provider.id, "modality": "chat", "tasks": ["roleplay"]}
    ModelStore(library.db).put({**model, "model_family": "lantern", "context_window": 4096})
    ModelStore(library.db).set_default("roleplay", "lantern-7b")
    ToolStore(library.db).put({"name": "roll", "definition": {"name": "roll", "parameters": {"type": "object"}}})
    for tier, text in (("sfw", "blurry"), ("nsfw", "grainy")):
        NegativeStore(library.db).add({"model_type": "lantern", "content_mode": tier, "negative_prompt": text})
    vault = Vault(library.db, EnvironmentKeys({KEY_VARIABLE: VaultKey.fresh().text()}))
    vault.set(KEY, SECRET, who="Ann")
    vault.reveal(KEY, who="lantern", why="a call")


def _log(library: Library) -> None:
    calls = [
        {"created_at": f"2026-10-06T{hour:02}:30:00Z", "execution_time_ms": hour, "status": status, "cost_usd": 0.5}
        for hour, status in ((10, "ok"), (11, "error"), (12, "ok"), (12, "blocked"))
    ]
    more = {"template_name": GREETER, "template_version": 1, "input_tokens": 7, "effective_tier": "sfw"}
    LogStore(library.db).add(*({**more, **call, "request_id": f"r{at}"} for at, call in enumerate(calls)))


def stocked(folder: Path) -> Path:
    """The file of a library with a published template of two versions, and a draft of the adult tier."""
    path = folder / "library.db"
    path.write_bytes(_stocked())
    return path


def files_of(folder: Path) -> dict[str, bytes]:
    """What is in a folder, byte for byte."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


KEY = "k1"


@contextmanager
def rooms(path: Path | str, grant: Grant | None = None) -> Iterator[Browser]:
    """A browser in the library's rooms; with a grant, as whoever brings the key `KEY`, which has it."""
    settings = Settings() if grant is None else Settings(keys=Keys(KEY, grants={KEY: grant}))
    with Browser(Inspector(session_of({}), Access(), None, LibraryAccess(str(path)), settings=settings)) as browser:
        if grant is not None:
            browser.headers["x-api-key"] = KEY
        yield browser
