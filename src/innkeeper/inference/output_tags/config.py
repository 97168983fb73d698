"""OutputTagsConfig: what is done with control tags in answers (``context.output_tags``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import msgspec

from innkeeper.inference.config import read_config, refuse_config, section_of
from innkeeper.inference.output_tags.rules import TagRule
from innkeeper.prompt.frozen import EMPTY, FrozenDict

__all__ = ["EscapeHatch", "OutputTagsConfig"]

_SECTION: Final = "output_tags"


class EscapeHatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    r"""Whether ``\<`` keeps a tag from being one, and what it becomes: ``&lt;``, ``<`` or itself."""

    enabled: bool = False
    mode: Literal["html_entity", "literal", "keep_backslash"] = "html_entity"


class OutputTagsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``rules`` in the order they apply; ``sanitizers`` by name with their options, applied before the rules.

    ``warner`` is called with each warning; without one ``warn`` sends them to the log.
    """

    enabled: bool = False
    escape_hatch: EscapeHatch = EscapeHatch(enabled=True)
    rules: tuple[TagRule, ...] = ()
    sanitizers: FrozenDict = EMPTY
    warn: bool = False
    warner: Callable[[str], Any] | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any] | None = None) -> OutputTagsConfig:
        """A config from plain values; ``None`` is the default, which does nothing. Raises `ConfigError`."""
        if isinstance(values, cls):
            return values
        fields = dict(section_of(values, _SECTION))
        warner = fields.pop("warner", None)
        config = read_config(cls, fields, _SECTION)
        _check(config, warner)
        return msgspec.structs.replace(config, warner=warner)


def _check(config: OutputTagsConfig, warner: Any) -> None:
    if warner is not None and not callable(warner):
        refuse_config(_SECTION, "warner must be callable")
    for rule in config.rules:
        if not rule.tag.strip() or (rule.action == "rename" and not (rule.to or "").strip()):
            refuse_config(_SECTION, f"a rule needs a tag, and to rename it also `to`: {rule.tag!r} {rule.action}")
    if not all(isinstance(options, Mapping) for options in config.sanitizers.values()):
        refuse_config(_SECTION, "sanitizers map names to mappings of options")
