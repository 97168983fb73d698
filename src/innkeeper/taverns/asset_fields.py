"""AssetFields: what files hold becomes the fields of a build request, for command lines and profiles alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from innkeeper.prompt import UsageError, Where, deep_merge
from innkeeper.prompt.errors import InputError

if TYPE_CHECKING:
    from innkeeper.content.files.loading import PresetFile
    from innkeeper.content.files.reader import Source
    from innkeeper.content.finding import Finding


_FIELDS: Final = {"Character": "character", "Persona": "user", "ChatLog": "history", "BuildRequest": "request"}
"""The fields of a request that assets go to, by their types; the request itself is what they are put over."""


def load_as(kind: str, source: Source) -> Any:
    """A ``card``, ``persona``, ``lorebook``, ``preset`` or ``chat``. Raises what the readers of content raise.

    A module of RisuAI's counts as a preset.
    """
    from innkeeper.content.files import loading
    from innkeeper.content.files.formats import sniff

    loader = {"card": "load_character", "preset": "load_preset_file"}.get(kind, f"load_{kind}")
    try:
        return getattr(loading, loader)(source)
    except InputError:
        if kind != "preset" or sniff(source).kind != "risu module":
            raise
        return loading.load_risu_module(source)


class AssetFields:
    """The ``fields`` of a request, made of assets one after the other; ``findings`` has their defects.

    With ``several``, cards after the first make a group of all.
    """

    def __init__(self, *, several: bool = False) -> None:
        self.fields: dict[str, Any] = {}
        self.findings: list[Finding] = []
        self.several = several

    def put(self, value: Any, name: str) -> None:
        """Put the contents of the file ``name`` into its field. Raises `UsageError` for a second asset of a single field."""
        from innkeeper.content.files.loading import PresetFile
        from innkeeper.content.lorebook import Lorebook

        self.findings += getattr(value, "findings", ())
        if isinstance(value, Lorebook):
            self.fields["lorebooks"] = (*self.fields.get("lorebooks", ()), value)
        elif isinstance(value, PresetFile):
            self._put_presets(value, name)
        elif type(value).__name__ == "RisuModule":
            self._put_module(value.module, name)
        elif self.several and type(value).__name__ == "Character" and {"character", "group"} & self.fields.keys():
            # one more card: with those before it, a group
            first = self.fields.pop("character", None)
            members = self.fields["group"]["members"] if first is None else (first,)
            self.fields["group"] = {"members": (*members, value)}
        else:
            self._set(_FIELDS[type(value).__name__], value, name)

    def _put_presets(self, file: PresetFile, name: str) -> None:
        """A preset, and templates of text completion, which are settings."""
        if file.preset is not None:
            self._set("preset", file.preset, name)
        parts = {"context": file.context, "instruct": file.instruct, "sysprompt": file.sysprompt}
        text = {key: part.to_dict() for key, part in parts.items() if part is not None}
        if file.text_preset is not None:
            text["textgen"] = file.text_preset.to_dict()
        settings: dict[str, Any] = {"text": text} if text else {}
        if file.reasoning is not None:
            settings["power_user"] = {"reasoning": file.reasoning.to_dict()}
        if settings:
            self.fields["settings"] = deep_merge(self.fields.get("settings", {}), settings)

    def _put_module(self, module: dict[str, Any], name: str) -> None:
        """A module of RisuAI's, enabled beside those before it; one without an id has its file's name."""
        module = {"id": name, **module}
        database = self.fields.setdefault("settings", {}).setdefault("risu", {}).setdefault("database", {})
        database.setdefault("modules", []).append(module)
        database.setdefault("enabledModules", []).append(module["id"])

    def _set(self, field: str, value: Any, name: str) -> None:
        if field in self.fields:
            raise UsageError(f"a second {field} is given", where=Where(asset=name), hint="give one")
        self.fields[field] = value
