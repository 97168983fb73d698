"""The sources of a build's regex scripts, in SillyTavern's order: global ones, the preset's, the card's.

A script of a preset or a card is a stranger's: it runs only where the request allows it by name, and a note says which do
not (`sillytavern.md` A3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from innkeeper.content.regex_script import RegexScripts
from innkeeper.prompt.errors import Where
from innkeeper.prompt.note import NoteKind
from innkeeper.taverns.assets import assets_of

if TYPE_CHECKING:
    from innkeeper.prompt.run.state import State
    from innkeeper.taverns.silly.inputs import SillyInputs


class ScriptSource(msgspec.Struct, frozen=True):
    """The scripts of one source that may run; ``name`` is ``global``, ``preset`` or ``card``."""

    name: str
    scripts: RegexScripts


_API: Final = "openai"
_TEXT_API: Final = "textgenerationwebui"
_UNNAMED_PRESET: Final = "Default"
"""The original's name of the preset that it starts with."""


def allowed_scripts(state: State, inputs: SillyInputs) -> tuple[ScriptSource, ...]:
    """The scripts that may run, in order. Notes those that the request does not allow; warns of what is wrong in the others."""
    settings = state.request.settings
    sources = [ScriptSource("global", assets_of(state).regex_scripts)]
    preset = _of_preset(inputs)
    if _is_allowed(state, inputs, "preset", preset):
        sources.append(ScriptSource("preset", preset))
    if _is_allowed(state, inputs, "card", inputs.character.regex_scripts):
        sources.append(ScriptSource("card", inputs.character.regex_scripts))
    sources = [source for source in sources if source.scripts or source.scripts.findings]
    if sources and "regex" in (settings.get("disabled_extensions") or ()):
        count = sum(len(source.scripts.scripts) for source in sources)
        state.note(NoteKind.IGNORED, f"{count} regex scripts are not run: disabled_extensions names regex")
        return ()
    for source in sources:
        for finding in source.scripts.findings:
            if finding.level != "info":
                note = finding.to_note(f"{source.name} regex scripts")
                state.warn(note.message, kind=note.kind, where=note.where)
    return tuple(source for source in sources if source.scripts)


def _of_preset(inputs: SillyInputs) -> RegexScripts:
    """The scripts of the active preset, which in text completion is that of the sampler settings."""
    if inputs.text is None:
        return inputs.preset.regex_scripts
    stored = inputs.text.textgen.get("extensions")
    return RegexScripts.of(stored.get("regex_scripts") if isinstance(stored, Mapping) else None)


def _is_allowed(state: State, inputs: SillyInputs, source: str, scripts: RegexScripts) -> bool:
    """Whether the request allows the scripts of a preset or a card; a note where it does not."""
    if not scripts:
        return False
    field = "character_allowed_regex" if source == "card" else "preset_allowed_regex"
    names, allowed = _names(inputs, source), state.request.settings.get(field)
    if source == "preset" and isinstance(allowed, Mapping):
        allowed = allowed.get(_API if inputs.text is None else _TEXT_API)
    if allowed is True or (isinstance(allowed, (list, tuple)) and any(name in allowed for name in names)):
        return True
    count = sum(not script.disabled for script in scripts.scripts)
    if count:
        enabled = (
            f'["{names[0]}"]'
            if source == "card"
            else f'{{"{_API if inputs.text is None else _TEXT_API}": ["{names[0]}"]}}'
        )
        state.note(
            NoteKind.IGNORED,
            f"the {source}'s regex scripts are not run: {count} that the request does not allow",
            where=Where(asset=source, path="extensions.regex_scripts"),
            hint=f"scripts of a stranger rewrite the chat; to allow them: settings.{field} = {enabled}",
            data={"scripts": tuple(script.title for script in scripts.scripts if not script.disabled)},
        )
    return False


def _names(inputs: SillyInputs, source: str) -> tuple[str, ...]:
    """The names that allow a source: of a card its file, of a preset its own."""
    if source == "card":
        return f"{inputs.filename}.png", inputs.filename
    fields = inputs.preset.raw if inputs.text is None else inputs.text.textgen
    names = [inputs.preset.name if inputs.text is None else "", *(fields.get(key) for key in _PRESET_NAMES)]
    return tuple(name for name in names if isinstance(name, str) and name) or (_UNNAMED_PRESET,)


_PRESET_NAMES: Final = ("preset_settings_openai", "preset")
