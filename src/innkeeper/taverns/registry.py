"""Taverns by name: the registry, and a build or a replay by the tavern that a request names."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from innkeeper.prompt import BuildRequest, Plan, Ports, ReplayBundle, UnknownNameError

if TYPE_CHECKING:
    from innkeeper.taverns.tavern import ReplyScripts, Tavern


class Taverns(Mapping[str, "Tavern"]):
    """An immutable registry of taverns by name. An entry is a `Tavern` or where to import it from, ``module:name``."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[str, Tavern | str]) -> None:
        self._entries = dict(entries)

    def with_(self, *taverns: Tavern) -> Taverns:
        """A registry with further taverns; one of the same name replaces."""
        return Taverns({**self._entries, **{tavern.name: tavern for tavern in taverns}})

    def __getitem__(self, name: str) -> Tavern:
        """The tavern called ``name``. Raises `UnknownNameError`, which is not a `KeyError`."""
        entry = self._entries.get(name)
        if entry is None:
            raise UnknownNameError("tavern", name, self._entries)
        if not isinstance(entry, str):
            return entry
        module, _, attribute = entry.partition(":")
        tavern: Tavern = getattr(importlib.import_module(module), attribute)
        return tavern

    def __contains__(self, name: object) -> bool:
        """Whether a tavern of this name is registered."""
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._entries)

    def __len__(self) -> int:
        """How many."""
        return len(self._entries)


TAVERNS: Final = Taverns(
    {
        "vibe": "innkeeper.taverns.vibe:TAVERN",
        "silly": "innkeeper.taverns.silly:TAVERN",
        "smart": "innkeeper.taverns.smart:TAVERN",
        "risu": "innkeeper.taverns.risu:TAVERN",
        "template": "innkeeper.taverns.template:TAVERN",
    }
)
"""The built-in taverns. Pass ``TAVERNS.with_(yours)`` to use your own."""


def build(
    request: BuildRequest, ports: Ports | None = None, *, taverns: Taverns = TAVERNS, commit: bool = True
) -> Plan:
    """The plan for a request by the tavern it names. ``commit`` as in `Tavern.build`.

    Raises:
        UnknownNameError: no tavern has that name.
        ConfigError: a step's configuration does not fit.
        PipelineError: a step failed.
    """
    return taverns[request.tavern].build(request, ports, commit=commit)


def reply_scripts(request: BuildRequest) -> ReplyScripts | None:
    """Return how scripts of the request's tavern treat an answer; none where it is no built-in one or has no scripts."""
    return TAVERNS[request.tavern].replies if request.tavern in TAVERNS else None


def rewrites_replies(request: BuildRequest) -> bool:
    """Return whether scripts of a request's assets or settings could change what a model answers."""
    scripts = reply_scripts(request)
    return scripts is not None and scripts.could_change(request)


def replay(bundle: ReplayBundle, *, ports: Ports | None = None, taverns: Taverns = TAVERNS) -> Plan:
    """Build a bundle's request again; ``ports`` have the counter that the bundle names.

    Raises `ReplayError` when the plan has another fingerprint than the recorded one.
    """
    return bundle.check(build(bundle.request, ports, taverns=taverns))
