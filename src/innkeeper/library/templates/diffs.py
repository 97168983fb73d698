"""Diff: what changed between two versions of a template: text, variables, configuration, tokens."""

from __future__ import annotations

import difflib
from typing import Any, Final

import msgspec

from innkeeper.library.templates.template import TemplateVersion, Variable
from innkeeper.prompt.state import TokenCounter

__all__ = ["Change", "VersionDiff", "diff"]

_CONFIG: Final = (
    "key",
    "syntax",
    "token_limit",
    "max_output_tokens",
    "provider",
    "partials",
    "extends",
    "metadata",
)
_LINES: Final = 5_000
"""Of longer texts only the beginnings are compared line by line."""


class Change(msgspec.Struct, frozen=True):
    """One field that differs. None is: not there."""

    path: str
    before: Any
    after: Any


class VersionDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What changed from one version to another. ``text`` is a unified diff, one line an item; empty where texts are equal."""

    before: str
    after: str
    text: tuple[str, ...] = ()
    variables: tuple[Change, ...] = ()
    config: tuple[Change, ...] = ()
    tokens_before: int = 0
    tokens_after: int = 0

    @property
    def tokens(self) -> int:
        """How many tokens longer the text became; below 0 where it is shorter."""
        return self.tokens_after - self.tokens_before

    @property
    def same(self) -> bool:
        """Whether both render to the same from the same values."""
        return not (self.text or self.variables or self.config)


def diff(
    before: TemplateVersion, after: TemplateVersion, *, counter: TokenCounter | None = None, model: str | None = None
) -> VersionDiff:
    """Compare two versions. Tokens are counted for ``model``, or else for the enhancer of the later version."""
    if counter is None:
        from innkeeper.tokens import default_counter

        counter = default_counter()
    reader = model or after.key.enhancer_model or after.key.target_model
    return VersionDiff(
        before=before.version_id,
        after=after.version_id,
        text=_lines(before, after),
        variables=tuple(_variable_changes(before.variables, after.variables)),
        config=tuple(_config_changes(before, after)),
        tokens_before=counter.count(before.system_prompt, reader),
        tokens_after=counter.count(after.system_prompt, reader),
    )


def _lines(before: TemplateVersion, after: TemplateVersion) -> tuple[str, ...]:
    one, other = (version.system_prompt.split("\n") for version in (before, after))
    names = [f"{version.name}@{version.version}" for version in (before, after)]
    found = tuple(difflib.unified_diff(one[:_LINES], other[:_LINES], names[0], names[1], lineterm="", n=2))
    if not found and one != other:
        return (f"beyond line {_LINES}: different",)
    return found


def _variable_changes(before: tuple[Variable, ...], after: tuple[Variable, ...]) -> list[Change]:
    one, other = ({variable.name: msgspec.to_builtins(variable) for variable in side} for side in (before, after))
    return [
        Change(name, one.get(name), other.get(name))
        for name in sorted(one.keys() | other.keys())
        if one.get(name) != other.get(name)
    ]


def _config_changes(before: TemplateVersion, after: TemplateVersion) -> list[Change]:
    one, other = (_flat(version) for version in (before, after))
    return [
        Change(path, one.get(path), other.get(path))
        for path in sorted(one.keys() | other.keys())
        if one.get(path) != other.get(path)
    ]


def _flat(version: TemplateVersion) -> dict[str, Any]:
    """The configuration with a path for each field; objects are taken apart once."""
    flat: dict[str, Any] = {}
    for name in _CONFIG:
        value = msgspec.to_builtins(getattr(version, name))
        flat |= {f"{name}.{key}": item for key, item in value.items()} if isinstance(value, dict) else {name: value}
    return flat
