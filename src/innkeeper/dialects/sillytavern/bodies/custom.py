"""Servers of the user's own: fields that the preset puts into a body, and fields that it takes out, as YAML.

YAML that cannot be read is ignored, as SillyTavern does, with a note. It is read by the rules of YAML 1.2 (``yes`` is a text),
without aliases. (sillytavern-bodies.md 7, custom.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from innkeeper.dialects.report import Report, jsonable
from innkeeper.dialects.sillytavern.request import ProviderRequest
from innkeeper.prompt.allowance import charge
from innkeeper.prompt.note import NoteKind
from innkeeper.text.javascript.values import strip

MAX_YAML_CHARS: Final = 32_768
"""Characters of a preset's text of fields (a note; it is not read)."""

MAX_YAML_DEPTH: Final = 32
"""Lists and maps inside one another in a preset's text of fields (a note; it is not read)."""

_TOO_DEEP: Final = f"it nests deeper than MAX_YAML_DEPTH = {MAX_YAML_DEPTH}"

_STEPS_A_CHAR: Final = 50
"""The steps charged for reading a character of YAML, at most."""

_CORE: Final = (
    ("tag:yaml.org,2002:null", r"~|null|Null|NULL|", "~nN\0"),
    ("tag:yaml.org,2002:bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("tag:yaml.org,2002:int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("tag:yaml.org,2002:float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
)
"""The scalars of YAML 1.2 that are not text: the tag, its pattern, and its first characters."""


def included(request: ProviderRequest, name: str = "custom_include_body") -> dict[str, Any]:
    """The fields of a setting that is a map, or a list of maps."""
    fields = read_yaml(str(request.options.get(name) or ""), name, request.report)
    maps = fields if isinstance(fields, list) else [fields]
    return {str(key): value for one in maps if isinstance(one, dict) for key, value in one.items()}


def without_excluded(request: ProviderRequest, body: Mapping[str, Any]) -> dict[str, Any]:
    """The body without the fields of ``custom_exclude_body``: a list of names, a map's keys, or one name."""
    name = "custom_exclude_body"
    fields = read_yaml(str(request.options.get(name) or ""), name, request.report)
    names = {fields} if isinstance(fields, str) else {item for item in fields or () if isinstance(item, str)}
    return {key: value for key, value in body.items() if key not in names}


def read_yaml(text: str, name: str, report: Report) -> Any:
    """Read YAML as plain data; ``None`` for nothing, and with a note for an error.

    Raises `AllowanceError`.
    """
    if not strip(text):
        return None
    try:
        import yaml
    except ImportError:
        report.loss(f"{name} is not read: that needs the package pyyaml")
        return None
    if len(text) > MAX_YAML_CHARS:
        report.add(NoteKind.LIMIT, f"{name} is longer than MAX_YAML_CHARS = {MAX_YAML_CHARS} and is not read")
        return None
    charge("dialects", _STEPS_A_CHAR * len(text))
    try:
        if problem := _problem(text, yaml):
            report.add(problem[0], f"{name} is not read: {problem[1]}")
            return None
        return jsonable(yaml.load(text, _loader(yaml)))  # noqa: S506 - a SafeLoader with fewer words
    except (yaml.YAMLError, ValueError) as error:
        if "nesting depth" in str(error):  # libyaml has a limit of its own, and looks ahead of its events
            report.add(NoteKind.LIMIT, f"{name} is not read: {_TOO_DEEP}")
        else:
            report.add(NoteKind.IGNORED, f"{name} is not read: it is not YAML ({type(error).__name__})")
        return None


def _problem(text: str, yaml: Any) -> tuple[NoteKind, str] | None:
    """Why a text is not to be loaded. It is gone through event by event, up to the first that is too deep or an alias."""
    depth = 0
    for event in yaml.parse(text, _base(yaml)):
        if isinstance(event, yaml.AliasEvent):
            return NoteKind.IGNORED, "it has aliases"
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_YAML_DEPTH:
            return NoteKind.LIMIT, _TOO_DEEP
    return None


def _base(yaml: Any) -> Any:
    """The loader written in C if it is installed."""
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _loader(yaml: Any) -> Any:
    class Core(_base(yaml)):  # type: ignore[misc]
        """YAML 1.2's core schema."""

        yaml_implicit_resolvers: Mapping[str, Any] = {}

    for tag, pattern, first in _CORE:
        Core.add_implicit_resolver(
            tag, re.compile(f"^(?:{pattern})$"), ["" if char == "\0" else char for char in first]
        )
    Core.add_constructor(_CORE[2][0], lambda loader, node: _integer(loader.construct_scalar(node)))
    return Core


def _integer(text: str) -> int:
    return int(text, 0 if text[:2] in ("0o", "0x") else 10)
