"""Presets and templates of a folder, chosen by name: what the settings would hold after they were selected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from innkeeper.prompt.data import deep_merge
from innkeeper.prompt.errors import UnknownNameError, Where
from innkeeper.taverns.silly.install.files import UserFolder

__all__ = ["selecting"]

_JSON: Final = ".json"
_CHAT: Final = ("OpenAI Settings", "reasoning")
_TEXT: Final = ("TextGen Settings", "instruct", "context", "sysprompt", "reasoning")
_LENGTHS: Final[Mapping[str, str]] = {"genamt": "amount_gen", "max_length": "max_context"}


def selecting(folder: UserFolder, names: Iterable[str], *, is_text: bool) -> dict[str, Any]:
    """The settings that change when these are selected, in the shape of ``settings.json``. Raises `UnknownNameError`."""
    changes: dict[str, Any] = {}
    for name in names:
        stem = name.removesuffix(_JSON)
        places = _TEXT if is_text else _CHAT
        known = {place: folder.names(place, suffix=_JSON) for place in places}
        found = [place for place in places if f"{stem}{_JSON}" in known[place]]
        if not found:
            names_here = {file.removesuffix(_JSON) for files in known.values() for file in files}
            error = UnknownNameError("preset", name, sorted(names_here))
            error.where = Where(asset=", ".join(places))
            raise error
        for place in found:
            changes = deep_merge(changes, _selected(place, stem, folder.json(place, f"{stem}{_JSON}") or {}))
    return changes


def _selected(place: str, name: str, preset: Mapping[str, Any]) -> dict[str, Any]:
    """What selecting one changes."""
    if place == "OpenAI Settings":
        return {"oai_settings": {**preset, "preset_settings_openai": name}}
    if place == "TextGen Settings":
        lengths = {key: preset[own] for own, key in _LENGTHS.items() if own in preset}
        return {"textgenerationwebui_settings": {**preset, "preset": name}, **lengths}
    if place in ("sysprompt", "reasoning"):
        return {"power_user": {place: {**preset, "name": name}}}
    return {"power_user": {place: {**preset, "preset": name}}}
