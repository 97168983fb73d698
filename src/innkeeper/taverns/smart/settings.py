"""SmartSettings: what a request's ``settings`` say to this tavern."""

from __future__ import annotations

from typing import Any

import msgspec

from innkeeper.prompt.errors import ConfigError, Where
from innkeeper.prompt.frozen import thaw
from innkeeper.prompt.request import BuildRequest
from innkeeper.taverns.smart.compat import Compat, compat_of

__all__ = ["SmartSettings", "read_settings"]


class SmartSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``regex_rules`` are rules beside the preset's and the character's. ``policy`` says what undefined variables are.

    ``python`` off leaves ``{{python:…}}`` without a result; ``compat`` changes single switches of the profile.
    """

    regex_rules: Any = None
    policy: dict[str, Any] = {}
    python: bool = True
    compat: Compat = Compat()


def read_settings(request: BuildRequest) -> SmartSettings:
    """The settings of a request. Raises `ConfigError` for unknown keys and wrong types, `UnknownNameError` for a profile."""
    given = thaw(dict(request.settings))
    given.pop("chat_metadata", None)
    try:
        switches = {**msgspec.structs.asdict(compat_of(request.profile)), **given.pop("compat", {})}
        return msgspec.convert({**given, "compat": switches}, SmartSettings)
    except (msgspec.ValidationError, TypeError) as error:
        known = ", ".join(SmartSettings.__struct_fields__)
        raise ConfigError(f"invalid settings: {error}", where=Where(asset="settings"), hint=f"keys: {known}") from error
