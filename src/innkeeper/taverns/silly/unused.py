"""What a request says that has no effect in this tavern, and what its assets say wrongly: told in the plan, never silent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from innkeeper.content.finding import Finding, Level
from innkeeper.prompt.errors import Where
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.state import State
from innkeeper.taverns.silly.own_stop_strings import listed

if TYPE_CHECKING:
    from innkeeper.taverns.silly.inputs import SillyInputs

__all__ = ["note_unused"]

_PRESET: Final[Mapping[str, str]] = {
    "continue_postfix": "it joins a reply to the text that it continues, which is the caller's to do",
    "wrap_in_quotes": "SillyTavern 1.19 no longer has it",
    "media_inlining": "attachments are always sent where the dialect can carry them",
    "bias_preset_selected": "give logit_bias as an option",
    "max_context_unlocked": "windows are never capped",
    "enable_web_search": "give the provider's own option",
}
_POWER: Final[Mapping[str, str]] = {
    "trim_sentences": "it cuts replies, not prompts",
    "encode_tags": "it is for display",
    "disable_group_trimming": "it cuts replies, not prompts",
}
_LORE: Final[Mapping[str, str]] = {"overflow_alert": "an overflow is always told"}


def note_unused(state: State, inputs: SillyInputs) -> None:
    """Note each setting without effect that is set to something, and each finding of the assets."""
    for name, value, reasons in (
        ("preset", inputs.preset, _PRESET),
        ("power_user", inputs.power, _POWER),
        ("wi_settings", inputs.lore, _LORE),
    ):
        for field in _changed(value, reasons):
            _ignored(state, f"{name}.{field}", reasons[field])
    if listed(inputs.power.custom_stopping_strings) is None:
        where = Where(asset="settings", path="power_user.custom_stopping_strings")
        state.warn(
            "the stop strings are no JSON list: none is used", where=where, hint='write them as ["first", "second"]'
        )
    settings = state.request.settings
    if settings.get("regex"):
        _ignored(state, "settings.regex", "scripts are run by the caller, on texts before they come in")
    if settings.get("text") and inputs.text is None:
        _ignored(state, "settings.text", "it is for the dialect text")
    for asset, findings in _assets(inputs):
        for finding in findings:
            if finding.level is not Level.INFO:
                state.warn(finding.message, where=finding.where(asset), hint=finding.hint)


def _changed(value: Any, fields: Iterable[str]) -> Iterator[str]:
    default = type(value)()
    return (field for field in fields if getattr(value, field) != getattr(default, field))


def _ignored(state: State, name: str, why: str) -> None:
    state.note(NoteKind.IGNORED, f"{name} has no effect in this tavern: {why}", data={"input": name})


def _assets(inputs: SillyInputs) -> Iterator[tuple[str, tuple[Finding, ...]]]:
    yield "preset", inputs.preset.findings
    yield "user", inputs.persona.findings
    members = inputs.group.members if inputs.group is not None else ()
    for member in members or (inputs.character,):
        yield member.name or "character", member.findings
    for scoped in inputs.books:
        yield scoped.name, scoped.book.findings
