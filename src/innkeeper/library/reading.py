"""Reading templates from plain data, as files and snapshots hold them, and writing them as such."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from innkeeper.library.key import TemplateKey
from innkeeper.library.template import TemplateVersion
from innkeeper.prompt.errors import FormatError, Where
from innkeeper.prompt.frozen import freeze

__all__ = ["read_version", "write_version"]

_PLACE: Final = re.compile(r"(.*) - at `\$?\.?(.*)`", re.DOTALL)


def read_version(data: Any, *, asset: str | None = None) -> TemplateVersion:
    """A version from plain data. Blank parts of its key are None.

    Raises:
        FormatError: a field is missing or of the wrong kind; an unknown tier is one. ``where`` has its path.
    """
    try:
        version = msgspec.convert(data, TemplateVersion, dec_hook=_hook)
    except msgspec.ValidationError as error:
        found = _PLACE.fullmatch(str(error))
        message, path = (found[1], found[2]) if found else (str(error), None)
        raise FormatError(f"not a template: {message}", where=Where(asset, path)) from error
    return msgspec.structs.replace(version, key=_plain_key(version.key))


def _hook(_kind: type, value: Any) -> Any:
    if not isinstance(value, Mapping):
        msg = f"Expected `object`, got `{type(value).__name__}`"
        raise TypeError(msg)  # msgspec adds the path
    return freeze(dict(value))


def _plain_key(key: TemplateKey) -> TemplateKey:
    return TemplateKey.of(key.use_case, key.content_mode, key.target_model, key.enhancer_model, key.job_type)


def write_version(version: TemplateVersion) -> dict[str, Any]:
    """The version as plain data, all fields; `read_version` gives back an equal one."""
    return {name: msgspec.to_builtins(getattr(version, name)) for name in version.__struct_fields__}
