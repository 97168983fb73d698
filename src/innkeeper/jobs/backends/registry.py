"""The backends by name, and which of them a provider of the catalogue is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from innkeeper.jobs.backend import Backend
from innkeeper.jobs.backends.a1111 import A1111
from innkeeper.jobs.backends.comfyui import ComfyUI
from innkeeper.jobs.backends.fal import Fal
from innkeeper.jobs.backends.replicate import Replicate
from innkeeper.jobs.backends.tiny_seed_picture import TinySeedPicture
from innkeeper.jobs.backends.wire import MediaWire
from innkeeper.jobs.backends.worker import MediaWorkers
from innkeeper.prompt.machine import Secret

_NAMES: Final = {
    "fal.ai": "fal",
    "fal-ai": "fal",
    "fal_ai": "fal",
    "automatic1111": "a1111",
    "sdnext": "a1111",
    "forge": "a1111",
    "comfy": "comfyui",
}
"""Other names of providers."""


def backends(wire: MediaWire, webhook_secret: Callable[[str], Secret]) -> tuple[Backend, ...]:
    """All backends of Innkeeper; ``webhook_secret`` gives the secret that a provider shares with us, by its name."""
    replicate = Replicate(wire, lambda: webhook_secret("replicate"))
    return TinySeedPicture(), Fal(wire), replicate, A1111(wire), ComfyUI(wire), MediaWorkers(wire)


def backend_of(provider: str, known: Iterable[str]) -> str | None:
    """The backend of a provider by its name, None where there is none."""
    name = provider.strip().lower()
    full_name = _NAMES.get(name, name)
    return full_name if full_name in set(known) else None
