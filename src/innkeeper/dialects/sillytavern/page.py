"""What SillyTavern's page asks its server for: the settings of a preset as each source and model may have them.

Three tables, in the order in which they count: what a source is asked besides the common settings, how it takes an effort, and
what models must not be sent. (sillytavern-bodies.md 2, 4.)
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from innkeeper.dialects.options import ResponseFormat, stop_list
from innkeeper.dialects.report import Report
from innkeeper.dialects.sillytavern.bodies.chat import PENALTIES
from innkeeper.dialects.sillytavern.sources import OTHER_SOURCE, SOURCES, CompletionSource, rules_for
from innkeeper.prompt.data import EMPTY

Options = dict[str, Any]

_SAMPLERS: Final = ("temperature", "top_p", *PENALTIES)
_COMMON: Final = (*_SAMPLERS, "max_tokens", "stop", "reasoning_effort", "verbosity", "stream")
_PASSED: Final = ("enable_web_search", "request_images", "request_image_aspect_ratio", "request_image_resolution")
PAGE_OPTIONS: Final = (
    *_COMMON,
    *_PASSED,
    "top_k",
    "top_a",
    "min_p",
    "repetition_penalty",
    "seed",
    "n",
    "logit_bias",
    "logprobs",
)
"""The settings that every request may have, by the neutral names where there are such."""

ADDRESS_OPTIONS: Final = (
    "reverse_proxy", "custom_url", "custom_include_headers", "azure_base_url", "azure_deployment_name", "azure_api_version",
    "vertexai_auth_mode", "vertexai_region", "vertexai_express_project_id", "vertexai_project", "pollinations_endpoint",
    "zai_endpoint", "siliconflow_endpoint", "minimax_endpoint", "workers_ai_account_id", "nanogpt_provider",
)  # fmt: skip
"""The settings that say where a request goes."""

_LONGEST_STOP: Final = 16
"""Characters, as JavaScript counts them, that Google's stop strings may have."""


def page_options(options: Mapping[str, Any], source: str, model: str, report: Report) -> Options:
    """What the page asks ``source`` for with these settings; what it does not send is absent.

    ``options`` are neutral, with SillyTavern's names for what has no neutral one; ``generation`` is the type of the generation.
    """
    asked = {**options, **_routing(options)} if source == "openrouter" else options
    row = SOURCES.get(source, OTHER_SOURCE)
    names = (*_COMMON, *_PASSED, *row.options, *ADDRESS_OPTIONS, *(_ROUTED if source == "openrouter" else ()))
    page = {name: asked[name] for name in names if asked.get(name) is not None}
    page |= {"include_reasoning": options.get("show_thoughts") is not False, "stop": _stop(options, source, row)}
    page |= {"stream": _streams(options, source, model), **_counted(options, page), **_schema(options)}
    if source == "mistralai":
        page["safe_prompt"] = False
    page["reasoning_effort"] = _effort(options, source, model)
    page["verbosity"] = None if options.get("verbosity") == "auto" else options.get("verbosity")
    page = {name: value for name, value in page.items() if value is not None}
    for rule in rules_for(source, model, page):
        page = rule.applied(page)
    bounds = _BOUNDS.get(source)
    return page if bounds is None else bounds(page)


def _stop(options: Mapping[str, Any], source: str, row: CompletionSource) -> list[str] | None:
    texts = stop_list(options.get("stop"))[: row.stops]
    if source in ("makersuite", "vertexai"):
        texts = [text for text in texts if len(text) + sum(char > "\uffff" for char in text) <= _LONGEST_STOP]
    return texts if texts or row.always_stops else None


def _streams(options: Mapping[str, Any], source: str, model: str) -> bool:
    """Whether the reply is streamed: not where nobody watches, nor where the model cannot."""
    first = source in ("openai", "azure_openai", "openrouter") and model in ("o1", "o1-2024-12-17")
    quiet = options.get("generation") == "quiet" or (source == "workers_ai" and bool(_schema(options)))
    return bool(options.get("stream")) and not first and not quiet


_ALONE: Final = ("quiet", "impersonate", "continue")


def _counted(options: Mapping[str, Any], page: Options) -> Options:
    """Seed, number of replies and probabilities, where they are asked for in earnest."""
    seed, count, logprobs = options.get("seed"), options.get("n"), options.get("logprobs")
    several = isinstance(count, int) and count > 1 and options.get("generation") not in _ALONE
    likely = (options.get("top_logprobs") or _PROBABILITIES) if logprobs is True else logprobs
    options_read = {
        "seed": seed if isinstance(seed, int) and seed >= 0 else None,
        "n": count if several else None,
        "logprobs": likely or None,
        "logit_bias": options.get("logit_bias") or None,
    }
    return {name: value for name, value in options_read.items() if name in page}


_PROBABILITIES: Final = 5
"""Of how many tokens the page wants the probabilities."""


def _schema(options: Mapping[str, Any]) -> Options:
    if options.get("response_format") is None:
        return {}
    form = ResponseFormat.of(options["response_format"])
    if form.kind != "json_schema" or not form.schema:
        return {}
    known = {"name": form.name, "description": form.description, "strict": form.strict, "value": form.schema}
    return {"json_schema": {name: value for name, value in known.items() if value is not None}}


_ROUTED: Final = ("middleout", "provider", "quantizations", "allow_fallbacks", "use_fallback", "caches")
_MIDDLEOUT: Final = "on"

SOURCE_OPTIONS: Final = (
    *dict.fromkeys(name for source in SOURCES.values() for name in source.options),
    *(f"openrouter_{name}" for name in (*_ROUTED, "providers")),
)
"""The settings that single sources are asked with, and those that say whom OpenRouter asks."""


def _routing(options: Mapping[str, Any]) -> Options:
    routed = {name: options.get(f"openrouter_{name}") for name in _ROUTED}
    return {
        **routed,
        "provider": options.get("openrouter_providers"),
        "middleout": routed["middleout"] or _MIDDLEOUT,
        "caches": (options.get("model_list") or EMPTY).get("prices_cache_writes"),
    }


# ---- effort

_BY_MODEL: Final = (
    (re.compile(r"gpt-6-astra"), {"min": "low"}),
    (re.compile(r"gpt-5\.6"), {"min": "none", "max": "xhigh"}),
    (re.compile(r"gpt-5\.[45]"), {"min": "none", "max": "high"}),
    (re.compile(r"gpt-5"), {"min": "minimal", "max": "high"}),
)
"""OpenAI's models and the efforts that have other names with them."""
_KOBOLD: Final = {"min": "minimal", "max": "xhigh"}


def _effort(options: Mapping[str, Any], source: str, model: str) -> str | None:
    row, word = SOURCES.get(source, OTHER_SOURCE), str(options.get("reasoning_effort") or "auto")
    if row.raw_effort:
        return word
    if word == "auto":
        return None
    if source == "openrouter" and word == "min" and options.get("show_thoughts") is False:
        return "none"
    efforts = row.efforts
    if source == "custom" and model.startswith("koboldcpp/"):
        efforts = _KOBOLD
    elif source in ("openai", "azure_openai"):
        efforts = next((efforts for pattern, efforts in _BY_MODEL if pattern.match(model)), efforts)
    named = efforts.get(word, word)
    if source == "electronhub" and named not in ((options.get("model_list") or EMPTY).get("reasoning_efforts") or ()):
        return None
    return named


# ---- what a source takes only within bounds


def _within(page: Options, name: str, least: float, most: float = sys.float_info.max) -> Options:
    return {**page, name: min(max(page[name], least), most)} if name in page else page


def _cohere(page: Options) -> Options:
    page = _within(page, "top_p", 0.01, 0.99)
    for name in PENALTIES:
        page = _within(page, name, 0, 1)
    return page


def _positive_top_k(page: Options, most: int | None = None) -> Options:
    if page.get("top_k", 1) > 0:
        return page if most is None or "top_k" not in page else {**page, "top_k": min(page["top_k"], most)}
    return {name: value for name, value in page.items() if name != "top_k"}


def _workers(page: Options) -> Options:
    page = _within(_positive_top_k(page, 50), "top_p", 0.001)
    return page if page.get("seed", 1) >= 1 else {name: value for name, value in page.items() if name != "seed"}


def _not_zero(page: Options, name: str, least: float) -> Options:
    return page if page.get(name, 1) else {**page, name: least}


_BOUNDS: Final[Mapping[str, Callable[[Options], Options]]] = {
    "cohere": _cohere,
    "chutes": _positive_top_k,
    "workers_ai": _workers,
    "deepseek": lambda page: _not_zero(page, "top_p", sys.float_info.epsilon),
    "zai": lambda page: _not_zero(
        {name: value for name, value in page.items() if name not in PENALTIES}, "top_p", 0.01
    ),
    "minimax": lambda page: _within(page, "temperature", sys.float_info.epsilon, 1),
}
