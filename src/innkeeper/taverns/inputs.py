"""What a tavern does with each input of a build: it uses it, ignores it for a reason, or refuses it.

A tavern declares what it ignores (`InputRules`). From that declaration come the notes of its plans (`read_inputs`, called
at the door of each build) and the table of all inputs in the documentation (`table`, which ``python -m
innkeeper.taverns.inputs`` prints).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from innkeeper.content.chat import OURS
from innkeeper.prompt import BuildRequest, NoteKind
from innkeeper.prompt.frozen import EMPTY
from innkeeper.taverns.assets import Assets

if TYPE_CHECKING:
    from innkeeper.prompt import State

__all__ = ["CHAT_METADATA", "USES_ALL", "InputRules", "note_unused", "read_inputs"]

_NOTHING: Final = BuildRequest()

CHAT_METADATA: Final[Mapping[str, str]] = {
    "note_prompt": "authors_note",
    "variables": "variables",
    "timedWorldInfo": "lore_state",
    "innkeeper": "lore_state",
    "scenario": "",
    "mes_example": "",
    "system_prompt": "",
    "chat_id_hash": "",
    "pick_reroll_seed": "",
    "lastInContextMessageId": "",
}
"""The keys of a chat's metadata that any tavern reads, and the input that says the same, if there is one."""

_BESIDE: Final = frozenset({"note_interval", "note_position", "note_depth", "note_role"})
"""Keys that say more of ``note_prompt``."""

_HINTS: Final = ("model_hint", "default_model_hint")
"""Keys of ``meta`` that every tavern counts tokens by."""


def _never(_field: str, _raw: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRules:
    """What a tavern does with its inputs.

    ``ignored`` are names of inputs (fields of the request, ``ports.hooks`` and so on) with the reason; whatever it does not
    name is used. ``metadata`` are the keys of `CHAT_METADATA` without an input of their own that it reads, ``meta`` the keys
    of ``meta``. ``own_words(field, raw)`` tells assets that are written in the tavern's own format, which it reads itself.
    """

    ignored: Mapping[str, str] = EMPTY
    metadata: frozenset[str] = frozenset()
    meta: tuple[str, ...] = ()
    own_words: Callable[[str, Any], bool] = _never

    def uses(self, field: str, raw: Any) -> bool:
        """Whether the asset in this field is read as every tavern reads it."""
        return field not in self.ignored and not self.own_words(field, raw)

    def reason(self, name: str) -> str | None:
        """Why the input has no effect; ``None`` for one that is used."""
        root, _, key = name.partition(".")
        if root != "chat_metadata":
            return self.ignored.get(name)
        same = CHAT_METADATA.get(key)
        if same:
            return self.ignored.get(same)
        return None if key in self.metadata else "this tavern does not read it"


USES_ALL: Final = InputRules()
"""Nothing is ignored but what no tavern reads."""


def read_inputs(state: State, rules: InputRules) -> Assets:
    """The assets of a build. Notes each input that has no effect; warns of what is wrong in the assets that are used."""
    assets = Assets(state.request)
    note_unused(state, rules.ignored)
    for key in state.request.meta:
        if key not in (*_HINTS, *rules.meta):
            known = ", ".join((*rules.meta, *_HINTS))
            state.note(NoteKind.IGNORED, f"meta.{key} has no effect: known are {known}", data={"input": "meta"})
    _note_metadata(state, assets, rules)
    for asset, finding in assets.findings(rules.uses):
        note = finding.to_note(asset)
        state.warn(note.message, kind=note.kind, where=note.where, hint=note.hint)
    return assets


def note_unused(state: State, reasons: Mapping[str, str]) -> None:
    """Note each input of the request that is set although the tavern does nothing with it; ``reasons`` say why.

    A name is a field of the request, or ``ports.`` and the name of a port.
    """
    for name, reason in reasons.items():
        if _is_given(state, name):
            _ignored(state, name, reason)


def _is_given(state: State, name: str) -> bool:
    if name.startswith("ports."):
        return getattr(state.inputs.ports, name.removeprefix("ports.")) is not None
    if name == "context":
        return len(state.context) > 0
    if name == "settings":
        return bool(state.request.settings.keys() - {"chat_metadata"})
    return bool(getattr(state.request, name) != getattr(_NOTHING, name))


def _note_metadata(state: State, assets: Assets, rules: InputRules) -> None:
    for key, value in assets.metadata.items():
        if key in _BESIDE or (key in CHAT_METADATA and not value):
            continue
        reason = rules.reason(f"chat_metadata.{key}")
        if reason is None and _is_superseded(assets, key, value):
            reason = f"another {CHAT_METADATA[key]} is given"
        if reason is not None:
            _ignored(state, f"chat_metadata.{key}", reason)


def _is_superseded(assets: Assets, key: str, value: Any) -> bool:
    """Whether an input of its own says something else than this key of the chat's metadata."""
    match CHAT_METADATA[key]:
        case "authors_note":
            return bool(assets.note.text != value)
        case "variables":
            return bool(assets.request.variables.get("local") != value)
        case "lore_state":
            return bool(assets.lore_state != (value.get("carry") if key == OURS else value))
    return False


def _ignored(state: State, name: str, reason: str) -> None:
    shown = f"the {name.removeprefix('ports.')} registry" if name.startswith("ports.") else name
    state.note(NoteKind.IGNORED, f"{shown} has no effect: {reason}", data={"input": name})
