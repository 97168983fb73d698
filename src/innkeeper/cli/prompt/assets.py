"""AssetFiles: the files of a command line, recognised by their content, become the fields of a build request."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from innkeeper.cli.prompt.asset_options import STDIN, TAVERN
from innkeeper.prompt import BuildLimits, BuildRequest, InnkeeperError, ReplayBundle, UsageError, Where, deep_merge
from innkeeper.prompt.data import MAX_DEPTH, parse_json
from innkeeper.prompt.near import did_you_mean
from innkeeper.taverns.asset_fields import AssetFields, load_as

if TYPE_CHECKING:
    from innkeeper.cli.settings.settings import UserSettings
    from innkeeper.content.files.reader import Source
    from innkeeper.taverns.profiles.opened import OpenProfile
    from innkeeper.taverns.silly.install import InstalledRequest


MAX_COMMAND_SECONDS: Final = 1.5
"""Processor seconds of a command that builds, including reading files and showing the prompt (`AllowanceError`)."""


class AssetFiles(AssetFields):
    """The files of one command line. Add them, then ask for the request; ``findings`` are the problems in them.

    ``chat_file`` is the name of the file with the chat, if there is one.

    Values that the command line, a build request and a SillyTavern folder leave open come from ``settings``, if any.
    """

    def __init__(self, stdin: IO[bytes] | None = None, settings: UserSettings | None = None) -> None:
        super().__init__()
        self.prepared: InstalledRequest | None = None
        self.profile: OpenProfile | None = None
        self.chat_file: str | None = None
        self.settings = settings
        self._stdin = stdin
        self._piped: bytes | None = None

    @classmethod
    def of(
        cls, files: Iterable[str], options: Mapping[str, Any], *, chat_only: bool = False, several: bool = False
    ) -> AssetFiles:
        """Return the files of a command line, followed by those that its options name, as in `asset_options`.

        ``chat_only``: use a SillyTavern folder's settings for chat completion, whichever API is active. ``several`` cards
        are a group.
        """
        from innkeeper.cli.settings.settings import UserSettings

        assets = cls(settings=UserSettings.read())
        assets.several = several
        for name in files:
            assets.add(name)
        kinds = ("card", "persona", "lorebook", "preset", *(() if options.get("sillytavern") else ("chat",)))
        for kind in kinds:
            names = options.get(kind) or ()
            for name in (names,) if isinstance(names, str) else names:
                if not (kind == "preset" and _in_folder(name, options)):
                    assets.add_as(kind, name)
        assets.open_install(options, chat_only=chat_only)
        assets.open_profile(options.get("profile"))
        assets.add_settled()
        return assets

    @property
    def settled(self) -> UserSettings | None:
        """The settings, if they apply to the assets: a build request or a folder brings its own."""
        return None if "request" in self.fields else self.settings

    def add_settled(self) -> None:
        """Add the configured files for those that are missing."""
        for field, name in (("user", "persona"), ("preset", "preset")):
            path = None if self.settled is None or field in self.fields else self.settled.get(name)
            if path is not None:
                self.add_as(name, str(path))

    def open_install(self, options: Mapping[str, Any], *, chat_only: bool = False) -> None:
        """Begin with the selection of a SillyTavern folder, if `install_options` name one; files are added on top.

        Raises `UsageError` for names without a folder, and as `Install.prepare`.
        """
        path = options.get("sillytavern")
        named = [name for name in ("character", "group", "user") if options.get(name) is not None]
        if path is None and named:
            raise UsageError(f"--{named[0]} names something in a SillyTavern folder", hint="add --sillytavern FOLDER")
        if path is None:
            return
        if "request" in self.fields:
            raise UsageError("a folder and a build request are both given", hint="give one of them")
        from innkeeper.taverns.silly.install import Install

        inputs = {name: options[name] for name in ("message", "seed", "now") if options.get(name) is not None}
        chat = None if options.get("chat") is None else str(options["chat"])
        presets = tuple(name for name in options.get("preset") or () if _in_folder(name, options))
        self.prepared = Install.open(path, options.get("user"), linked=options.get("linked") or ()).prepare(
            options.get("character"),
            group=options.get("group"),
            chat=chat,
            presets=presets,
            chat_only=chat_only,
            **inputs,
        )
        self._begin_with(self.prepared.request)

    def open_profile(self, name: str | None) -> None:
        """Begin with a profile, if ``name`` is a folder or a profile in Innkeeper's folder; else it is a variant of the rules.

        Raises `UsageError` together with a build request or a SillyTavern folder, and as opening a profile.
        """
        if name is None:
            return
        from innkeeper.taverns.profiles.opened import open_profile

        folder = find_profile(name)
        if folder is None:
            return
        if "request" in self.fields:
            raise UsageError("a profile and something else to begin with are both given", hint="give one of them")
        self.profile = open_profile(folder)
        self.findings += [finding for _, finding in self.profile.findings]
        self._begin_with(self.profile.request)

    def _begin_with(self, base: BuildRequest) -> None:
        """Begin with a request; given lorebooks and settings extend its own, other assets replace them."""
        if "lorebooks" in self.fields:
            self.fields["lorebooks"] = (*base.lorebooks, *self.fields["lorebooks"])
        if "settings" in self.fields:
            self.fields["settings"] = deep_merge(base.settings, self.fields["settings"])
        if "character" in self.fields and base.group is not None:
            base = base.with_(group=None)
        self.fields["request"] = base

    def add(self, name: str) -> None:
        """Add a file by its content; JSON of no known kind is read as a request, or as one that was recorded.

        Raises the errors of content's readers, and `WrongKindError` for a file that a build cannot use.
        """
        from innkeeper.content.files.loading import load_asset

        self.put(load_asset(self._source(name), unknown=lambda source: _request(source, name)), name)

    def add_as(self, kind: str, name: str) -> None:
        """Add a file as a ``card``, ``persona``, ``lorebook``, ``preset`` or ``chat``."""
        self.put(load_as(kind, self._source(name)), name)

    def put(self, value: Any, name: str) -> None:
        """Put the content of a file; the file of a chat is remembered."""
        super().put(value, name)
        if type(value).__name__ == "ChatLog":
            self.chat_file = name

    def request(self, inputs: Mapping[str, Any], settings: Iterable[str] = ()) -> BuildRequest:
        """Return the request: the file's, then the assets, then ``given`` fields that are not None, then `setting` texts.

        Without a request file the tavern is `TAVERN`, which cards, lorebooks and presets are made for.
        """
        usual = {} if self.settled is None else usual_fields(self.settled)
        fields = dict(self.fields)
        base = fields.pop("request", None) or BuildRequest(tavern=TAVERN)
        inputs_here = {name: value for name, value in inputs.items() if self.profile is None or name != "profile"}
        chosen = usual | {key: value for key, value in inputs_here.items() if value is not None}
        if "limits" in usual and inputs.get("limits") is not None:
            chosen["limits"] = inputs["limits"].with_defaults(usual["limits"])
        return _with_settings(base.with_(**fields, **chosen), tuple(settings))

    def _source(self, name: str) -> str | bytes:
        if name != STDIN:
            return name if self.settings is None else self.settings.card(name)
        if self._piped is None:
            from innkeeper.content.errors import LIMITS, check_limit

            stream = self._stdin or sys.stdin.buffer
            self._piped = stream.read(LIMITS.file_bytes + 1)
            check_limit(LIMITS, "file_bytes", len(self._piped), "the standard input", asset="stdin")
        return self._piped


def find_profile(name: str) -> Path | None:
    """Return the folder of a profile, by path or by name in Innkeeper's folder; None if there is none."""
    from innkeeper.taverns.profiles.opened import is_profile

    own = (profiles_folder() / name,) if name and Path(name).name == name else ()
    return next((path for path in (Path(name), *own) if is_profile(path)), None)


def profiles_folder() -> Path:
    """Return Innkeeper's folder of profiles."""
    from innkeeper.prompt.machine import home

    return home() / "profiles"


def _in_folder(name: str, options: Mapping[str, Any]) -> bool:
    """Whether a name means a preset of the SillyTavern folder: no file of this name exists here."""
    return bool(options.get("sillytavern")) and not Path(name).exists()


def _request(source: Source, name: str) -> BuildRequest:
    from innkeeper.content.files.reader import Reader

    with Reader(source) as reader:
        try:
            data = reader.all()
            facts = parse_json(data, asset=name)
            if isinstance(facts, dict) and "innkeeper_replay" in facts:
                return ReplayBundle.from_json(data, asset=name).request
            return BuildRequest.of(facts)
        except InnkeeperError as error:
            error.where = msgspec.structs.replace(error.where or Where(), asset=name)
            raise


def request_fields(options: Mapping[str, Any], *more: str) -> dict[str, Any]:
    """Return the `asset_options` that are fields of a request, and those of ``more``."""
    names = ("tavern", "profile", "now", "seed", "context_window", *more)
    facts = {
        "reserved_tokens": options["reserve"],
        "limits": BuildLimits.read(options["limits"]) if options["limits"] else None,
        "strict": options["strict"] or None,
    }
    return {name: options[name] for name in names} | facts


def command_limits(request: BuildRequest) -> BuildLimits:
    """Return the limits of a command that builds this request; by default `MAX_COMMAND_SECONDS`."""
    return (request.limits or BuildLimits()).with_defaults(BuildLimits(seconds=MAX_COMMAND_SECONDS))


def usual_fields(settings: UserSettings) -> dict[str, Any]:
    """Return the fields of a request that settings define."""
    names = {name: name for name in ("tavern", "dialect", "context_window")} | {"reserve": "reserved_tokens"}
    values = {field: settings.get(name) for name, field in names.items()}
    limits = {name: settings.get(f"limits.{name}") for name in BuildLimits.__struct_fields__}
    if any(value is not None for value in limits.values()):
        values["limits"] = BuildLimits(**limits)
    return {name: value for name, value in values.items() if value is not None}


def setting(text: str) -> tuple[list[str], Any]:
    """Read ``FIELD.KEY=JSON`` as a path and a value; other values are text. Raises `UsageError`."""
    path, sign, value = text.partition("=")
    keys = path.split(".")
    if not sign or not all(keys) or len(keys) > MAX_DEPTH:
        raise UsageError(f"not a setting: {text[:60]!r}", hint="write it like options.temperature=0.7")
    try:
        return keys, json.loads(value)
    except ValueError:
        return keys, value


def _with_settings(request: BuildRequest, texts: tuple[str, ...]) -> BuildRequest:
    for keys, value in map(setting, texts):
        field, *rest = keys
        if field not in request.__struct_fields__:
            listed = f"fields: {', '.join(request.__struct_fields__)}"
            hint = did_you_mean(field, request.__struct_fields__, listed)
            raise UsageError(f"a request has no field {field!r}", hint=hint)
        before = getattr(request, field)
        request = request.with_(**{field: placed(before, rest, value)})
    return BuildRequest.of(request.to_dict()) if texts else request


def placed(before: Any, keys: list[str], value: Any) -> Any:
    """Return a copy of an object with a value at a path of keys."""
    if not keys:
        return value
    inner = before if isinstance(before, Mapping) else {}
    return {**inner, keys[0]: placed(inner.get(keys[0]), keys[1:], value)}
