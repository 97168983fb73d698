"""Output tags: control tags in an answer are made regular, renamed or taken out, while code and escaped tags stay.

For finished answers (the tool loop's and the directives'), never for what a single request gives: a caller who wants the
text as the model wrote it gets it from `PromptRunner`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.inference.output_tags.config import OutputTagsConfig
from innkeeper.inference.output_tags.lang_spans import LangSpans, sanitize_lang_spans
from innkeeper.inference.output_tags.rules import apply_rule
from innkeeper.macros.verbatim import CODE_ZONES, Escape, Zone, mask, unmask
from innkeeper.prompt import thaw

__all__ = ["SANITIZERS", "Sanitizer", "TagResult", "transform_tags"]

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
