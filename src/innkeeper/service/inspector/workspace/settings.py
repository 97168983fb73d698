"""Settings: what is built beside the files: where nobody says, what a profile or a request among the files says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from innkeeper.dialects.registry import TEXT_DIALECTS
from innkeeper.prompt import BuildRequest
from innkeeper.prompt.errors import InnkeeperError, UsageError
from innkeeper.service.inspector.views.workspace import Kind, SettingsChange, SettingsView
from innkeeper.service.inspector.workspace.working import WorkingFile
from innkeeper.taverns.profiles.profile import Profile

TAVERN: Final = "silly"
"""What builds where nobody says."""

_BUILT: Final[tuple[Kind, ...]] = ("character", "lorebook", "preset", "chat", "request")
"""Kinds that a prompt is built of, beside the persona. A request goes alone where nobody says."""


def usual_settings(
    files: Collection[WorkingFile], profile: OpenedProfile | None, now: str, *, every: bool
) -> SettingsView:
    """What is used where nobody says: what a profile among the files names, and of each other kind the first."""
    named = () if profile is None else profile.names
    kinds: dict[str, list[WorkingFile]] = {}
    for file in sorted(files, key=lambda file: named.index(file.name) if file.name in named else len(named)):
        kinds.setdefault(file.kind, []).append(file)
    used: list[WorkingFile] = []
    for kind in _BUILT:
        those = kinds.get(kind, [])
        chosen = those if every else [file for file in those if file.name in named]
        if not chosen and not (kind == "request" and used) and (kind != "lorebook" or profile is None):
            chosen = those if kind == "lorebook" else sorted(those, key=_is_template)[:1]
        used += chosen
    personas = kinds.get("persona", [])
    persona = next((file.id for file in personas if file.name in named), personas[0].id if personas else None)
    base = SettingsView(tavern=TAVERN, now=now, used=tuple(file.id for file in used), persona=persona)
    request = next((file.asset for file in used if file.kind == "request"), None)
    if request is not None and profile is None:
        return with_request(base, request)
    base = base if profile is None else _with_profile(base, profile.profile)
    if request is None:
        return base
    fields = BuildRequest.of(request).to_dict().keys()
    own = with_request(base, request)
    names = {"reserved_tokens": "reserve"}
    return msgspec.structs.replace(
        base,
        **{
            names.get(name, name): getattr(own, names.get(name, name))
            for name in fields
            if name in _SETTINGS_OF_REQUESTS
        },
    )


class OpenedProfile(msgspec.Struct, frozen=True):
    """The profile among the files: what it says, the names of its files in order, and the request of what it holds itself."""

    profile: Profile
    names: tuple[str, ...]
    request: BuildRequest


def profile_of(files: Collection[WorkingFile]) -> OpenedProfile | None:
    """Return the profile among the files; one that cannot be read is its file's problem."""
    from innkeeper.taverns.profiles.opened import open_profile
    from innkeeper.taverns.profiles.profile import parse_profile

    for file in files:
        if file.kind == "profile" and file.name.rpartition("/")[2] == "profile.toml":
            folder = file.name.rpartition("/")[0]
            try:
                profile = parse_profile(file.data, name=folder.rpartition("/")[2] or "profile", asset=file.name)
                request = open_profile(profile.without_files()).request
            except InnkeeperError as error:
                file.problem = error
                continue
            names = tuple(f"{folder}/{name}" if folder else name for name in profile.files)
            return OpenedProfile(profile, names, request.with_(**_OF_SETTINGS))
    return None


TEMPLATES: Final = ("context", "instruct", "sysprompt", "text_preset")
"""Parts of a preset's file that only text completion reads."""


def parts_of(file: WorkingFile) -> tuple[str, ...]:
    """Return the names of the presets and templates in a preset's file."""
    if file.kind != "preset" or file.asset is None:
        return ()
    return tuple(name for name in _PARTS if getattr(file.asset, name) is not None)


_PARTS: Final = ("preset", "reasoning", *TEMPLATES)


def _is_template(file: WorkingFile) -> bool:
    """Whether a file has parts of text completion alone."""
    parts = parts_of(file)
    return bool(parts) and set(parts) <= set(TEMPLATES)


def with_templates(settings: SettingsView, files: Mapping[str, WorkingFile]) -> SettingsView:
    """The settings with the first template of each kind that is wanting, where they are for text completion."""
    if settings.dialect not in TEXT_DIALECTS:
        return settings
    used = list(settings.used)
    for part in TEMPLATES:
        those = [file.id for file in files.values() if part in parts_of(file)]
        used += those[:1] if set(those).isdisjoint(used) else ()
    return msgspec.structs.replace(settings, used=tuple(used))


_SETTINGS_OF_REQUESTS: Final = frozenset({
    "tavern", "profile", "dialect", "model", "context_window", "reserved_tokens", "seed", "now", "message",
})  # fmt: skip
"""Fields of a request that are settings."""

_OF_SETTINGS: Final[Mapping[str, Any]] = {
    "dialect": None, "model": None, "context_window": None, "reserved_tokens": None, "seed": 0, "now": None, "profile": None,
}  # fmt: skip
"""What of a request the settings say."""


def settings_fields(settings: SettingsView) -> dict[str, Any]:
    """The settings as fields of a request: those that say something."""
    fields = {
        "tavern": settings.tavern,
        "profile": settings.profile,
        "dialect": settings.dialect,
        "model": settings.model,
        "context_window": settings.context_window,
        "reserved_tokens": settings.reserve,
        "seed": settings.seed,
        "now": settings.now or None,
        "message": settings.message,
    }
    return {name: value for name, value in fields.items() if value is not None}


def patched(settings: SettingsView, patch: SettingsChange) -> SettingsView:
    """The settings with those of a patch in their place. Raises `UsageError` for a turn below 0."""
    changes: Mapping[str, Any] = {
        name: value for name in patch.__struct_fields__ if (value := getattr(patch, name)) is not msgspec.UNSET
    }
    if isinstance(changes.get("turn"), int) and changes["turn"] < 0:
        raise UsageError("a turn is a number of messages")
    return msgspec.structs.replace(settings, **changes)


def with_request(settings: SettingsView, request: BuildRequest) -> SettingsView:
    """The settings that a request has itself."""
    own = {name: getattr(request, name) for name in ("profile", "dialect", "model", "context_window", "seed")}
    own |= {"tavern": request.tavern or TAVERN, "reserve": request.reserved_tokens}
    return msgspec.structs.replace(settings, **own, now=request.now or settings.now, message=request.message or None)


def _with_profile(settings: SettingsView, profile: Profile) -> SettingsView:
    own = {name: getattr(profile, name) for name in ("tavern", "dialect", "model", "context_window", "reserve")}
    own |= {"profile": profile.variant, "now": settings.now if profile.now == "clock" else profile.now}
    return msgspec.structs.replace(
        settings, **own, seed=profile.seed if isinstance(profile.seed, int) else settings.seed
    )
