"""Control tags in answers: rules that strip, drop or rename them, sanitizers that make them regular."""

from innkeeper.inference.output_tags.markup import LangSpans, language_code, sanitize_lang_spans
from innkeeper.inference.output_tags.transform import (
    SANITIZERS,
    EscapeHatch,
    OutputTagsConfig,
    Sanitizer,
    TagResult,
    TagRule,
    apply_rule,
    transform_tags,
)

__all__ = [
    "SANITIZERS",
    "EscapeHatch",
    "LangSpans",
    "OutputTagsConfig",
    "Sanitizer",
    "TagResult",
    "TagRule",
    "apply_rule",
    "language_code",
    "sanitize_lang_spans",
    "transform_tags",
]
