"""Control tags in answers are made regular, renamed or taken out, while code and escaped tags stay (``context.output_tags``).

Sanitizers run first, then the rules, which strip a tag, drop it with its content, or rename it. This is for finished answers (the
tool loop's and the directives'), never for the answer to a single request: a caller who wants the text as the model wrote it gets
it from `PromptRunner`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

import msgspec

from innkeeper.inference.output_tags.markup import (
    LangSpans,
    Tag,
    attributes,
    sanitize_lang_spans,
    scan,
    write_attributes,
)
from innkeeper.inference.sections import read_config, refuse_config, section_of
from innkeeper.prompt import thaw
from innkeeper.prompt.data import EMPTY, FrozenDict
from innkeeper.text.verbatim import CODE_ZONES, Escape, Zone, mask, unmask

__all__ = [
    "SANITIZERS",
    "EscapeHatch",
    "OutputTagsConfig",
    "Sanitizer",
    "TagResult",
    "TagRule",
    "apply_rule",
    "transform_tags",
]

_LOG: Final = logging.getLogger(__name__)

Sanitizer = Callable[[str, Mapping[str, Any]], tuple[str, list[str]]]
"""``(text, options) -> (text, warnings)``."""


class TagResult(msgspec.Struct, frozen=True):
    """The text after the transformation, and what was wrong with it."""

    text: str
    warnings: tuple[str, ...] = ()


def lang_spans(text: str, options: Mapping[str, Any]) -> tuple[str, list[str]]:
    """`sanitize_lang_spans` with plain options."""
    return sanitize_lang_spans(text, msgspec.convert(thaw(dict(options)), LangSpans))


SANITIZERS: Final[Mapping[str, Sanitizer]] = {"lang_spans": lang_spans}
"""The built-in sanitizers by name."""


def transform_tags(text: str, config: OutputTagsConfig, sanitizers: Mapping[str, Sanitizer] = SANITIZERS) -> TagResult:
    """``text`` with the sanitizers that are enabled, then the rules, applied in order. Linear in the text for each.

    Unknown and failing sanitizers are warnings. Warnings are in the result, and go to the config's ``warner`` or the log.
    """
    if not config.enabled or not (config.rules or config.sanitizers):
        return TagResult(text)
    hatch = {Zone.ESCAPE} if config.escape_hatch.enabled else set()
    masked = mask(text, CODE_ZONES | hatch, Escape(config.escape_hatch.mode))
    changed, warnings = _sanitized(masked.text, config, sanitizers)
    for rule in config.rules:
        changed = apply_rule(changed, rule)
    _report(warnings, config)
    return TagResult(unmask(changed, masked.spans), tuple(warnings))


def _sanitized(text: str, config: OutputTagsConfig, known: Mapping[str, Sanitizer]) -> tuple[str, list[str]]:
    warnings: list[str] = []
    for name, options in config.sanitizers.items():
        if not options.get("enabled"):
            continue
        if name not in known:
            warnings.append(f"no sanitizer is called {name!r}")
            continue
        try:
            text, found = known[name](text, options)
        except Exception as error:  # noqa: BLE001 - a guest's sanitizer may raise anything; the answer stays as it was
            found = [f"the sanitizer {name!r} failed ({type(error).__name__}: {error})"]
        warnings += found
    return text, warnings


def _report(warnings: list[str], config: OutputTagsConfig) -> None:
    tell = config.warner or (_LOG.warning if config.warn else None)
    if tell is not None:
        for warning in warnings:
            tell(warning)


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


class TagRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What happens to ``<tag …>…</tag>``, written in any case.

    ``strip`` keeps what is inside, ``drop`` does not, ``rename`` makes it ``<to …>`` with attribute names mapped through
    ``attrs``.
    """

    tag: str
    action: Literal["strip", "drop", "rename"]
    to: str | None = None
    attrs: FrozenDict = EMPTY


def apply_rule(text: str, rule: TagRule) -> str:
    """``text`` after one rule. Linear in the text."""
    pieces = scan(text, {rule.tag.lower()})
    if rule.action == "strip":
        return "".join(piece for piece in pieces if isinstance(piece, str))
    return "".join(_kept(pieces) if rule.action == "drop" else _renamed(pieces, rule.to or rule.tag, rule.attrs))


def _kept(pieces: Iterable[str | Tag]) -> Iterable[str]:
    """The text outside all spans; a span that is not closed reaches to the end, a stray closer is nothing."""
    depth = 0
    for piece in pieces:
        if isinstance(piece, str):
            if not depth:
                yield piece
        elif piece.closing:
            depth = max(depth - 1, 0)
        elif not piece.empty:
            depth += 1


def _renamed(pieces: Iterable[str | Tag], to: str, names: Mapping[str, str]) -> Iterable[str]:
    """Tags under their new name; stray closers go, missing ones come at the end."""
    open_tags = 0
    lower = {name.lower(): new for name, new in names.items()}
    for piece in pieces:
        if isinstance(piece, str):
            yield piece
        elif not piece.closing:
            open_tags += not piece.empty
            yield _opener(piece, to, lower)
        elif open_tags:
            open_tags -= 1
            yield f"</{to}>"
    yield f"</{to}>" * open_tags


def _opener(tag: Tag, to: str, names: Mapping[str, str]) -> str:
    pairs = [(names.get(name.lower(), name), value) for name, value in attributes(tag)]
    return f"<{to}{write_attributes(pairs)}{'/' if tag.empty else ''}>"
