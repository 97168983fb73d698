"""RenderedCache: rendered texts, kept under everything that goes into them, and nothing else.

Counters that a chat moves (how often a character was spoken to, when it was last changed) are not part of the key: only what
reaches the text is (reference §3.5). Whoever saves a character or persona, or publishes a template, may throw out what was made
from it; keys of other content never match anyway.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec

from innkeeper.gate.tier import Tier
from innkeeper.library.limits import RENDERED_CACHE_CHARS, RENDERED_CACHE_ENTRIES, RENDERED_CACHE_SECONDS
from innkeeper.library.templates.partials import Composed
from innkeeper.library.templates.rendering import RENDERER_VERSION, RenderedTemplate
from innkeeper.library.templates.template import sealed
from innkeeper.prompt.data import to_json
from innkeeper.prompt.determinism import Clock
from innkeeper.prompt.errors import InnkeeperError


class RenderedKey(msgspec.Struct, frozen=True, kw_only=True):
    """What a rendered text depends on. The hashes are those of `content_digest`.

    ``template_sha256`` is of the template and all it takes in: after a backup was restored, the same version may be another text.
    """

    template_version_id: str
    template_sha256: str = ""
    character_content_hash: str = ""
    user_persona_hash: str = ""
    scene_hash: str = ""
    settings_hash: str = ""
    tier: Tier = Tier.SFW
    renderer_version: int = RENDERER_VERSION


def content_digest(content: Any) -> str:
    """SHA-256 of plain data as canonical JSON, in hex; of None the empty text.

    Give it what reaches the template, `template_values` for one, and no row with counters and dates.
    """
    return "" if content is None else sha256(to_json(content)).hexdigest()


def key_of(program: Composed, values: Mapping[str, Any], tier: Tier, moment: Clock | None) -> RenderedKey | None:
    """Under what a rendered text is kept; None where a value is no plain data, so that nothing is kept."""
    version = program.version
    try:
        settings = content_digest([values, None if moment is None else moment.now.isoformat()])
    except InnkeeperError:
        return None
    content = " ".join([one.content_sha256 or sealed(one).content_sha256 for one in (version, *program.parts)])
    return RenderedKey(
        template_version_id=version.version_id, template_sha256=content, settings_hash=settings, tier=tier
    )


class CacheFigures(msgspec.Struct, frozen=True):
    """A cache in numbers."""

    entries: int
    chars: int
    hits: int
    misses: int

    @property
    def hit_rate(self) -> float:
        """The share of questions that were answered, from 0 to 1; 0 before the first."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    rendered: RenderedTemplate
    until: float


class RenderedCache:
    """Bounded in entries, characters and time; the least recently used goes first. Safe to share between threads.

    Args:
        entries: how many texts are kept.
        chars: how many characters they have together; a longer text is not kept.
        seconds: for how long each is kept.
        clock: seconds that only go forward.
    """

    def __init__(
        self,
        *,
        entries: int = RENDERED_CACHE_ENTRIES,
        chars: int = RENDERED_CACHE_CHARS,
        seconds: float = RENDERED_CACHE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._entries, self._chars, self._seconds, self._clock = entries, chars, seconds, clock
        self._entries_by_key: OrderedDict[RenderedKey, _CacheEntry] = OrderedDict()
        self._size = self._hits = self._misses = 0
        self._lock = threading.Lock()

    def get(self, key: RenderedKey) -> RenderedTemplate | None:
        """The text under a key, None where there is none or it is too old."""
        with self._lock:
            cached = self._entries_by_key.get(key)
            if cached is not None and cached.until <= self._clock():
                self._drop(key)
                cached = None
            if cached is None:
                self._misses += 1
                return None
            self._hits += 1
            self._entries_by_key.move_to_end(key)
            return cached.rendered

    def put(self, key: RenderedKey, rendered: RenderedTemplate) -> None:
        """Keep a text."""
        with self._lock:
            if key in self._entries_by_key:
                self._drop(key)
            if len(rendered.text) > self._chars or self._entries < 1:
                return
            self._entries_by_key[key] = _CacheEntry(rendered, self._clock() + self._seconds)
            self._size += len(rendered.text)
            while len(self._entries_by_key) > self._entries or self._size > self._chars:
                self._drop(next(iter(self._entries_by_key)))

    def forget(
        self, *, template_version_id: str | None = None, character: str | None = None, persona: str | None = None
    ) -> int:
        """Throw out what was made from a template version, a character or a persona (by their hashes); all, for none named.

        Returns how many there were.
        """
        with self._lock:
            doomed = [key for key in self._entries_by_key if _made_from(key, template_version_id, character, persona)]
            for key in doomed:
                self._drop(key)
            return len(doomed)

    def figures(self) -> CacheFigures:
        """The cache in numbers."""
        with self._lock:
            return CacheFigures(len(self._entries_by_key), self._size, self._hits, self._misses)

    def _drop(self, key: RenderedKey) -> None:
        self._size -= len(self._entries_by_key.pop(key).rendered.text)


def _made_from(key: RenderedKey, template: str | None, character: str | None, persona: str | None) -> bool:
    return (
        template in {None, key.template_version_id}
        and character in {None, key.character_content_hash}
        and persona in {None, key.user_persona_hash}
    )
