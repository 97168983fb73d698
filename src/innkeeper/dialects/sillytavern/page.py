"""What SillyTavern's page asks its server for: the settings of a preset as each source and model may have them.

Three tables, in the order in which they count: what a source is asked besides the common settings, how it takes an effort, and
what models must not be sent. (sillytavern-bodies.md 2, 4.)
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from innkeeper.dialects.options import ResponseFormat, stop_list
from innkeeper.dialects.report import Report
from innkeeper.prompt.data import EMPTY

Options = dict[str, Any]

PENALTIES: Final = ("presence_penalty", "frequency_penalty")
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

PLACES: Final = (
    "reverse_proxy", "custom_url", "custom_include_headers", "azure_base_url", "azure_deployment_name", "azure_api_version",
    "vertexai_auth_mode", "vertexai_region", "vertexai_express_project_id", "vertexai_project", "pollinations_endpoint",
    "zai_endpoint", "siliconflow_endpoint", "minimax_endpoint", "workers_ai_account_id", "nanogpt_provider",
)  # fmt: skip
"""The settings that say where a request goes."""

_MORE_SAMPLING: Final = ("top_k", "min_p", "top_a", "repetition_penalty")
_OPENAI: Final = ("seed", "n", "logit_bias", "logprobs")
_ASKED: Final[Mapping[str, tuple[str, ...]]] = {
    "openai": _OPENAI,
    "azure_openai": _OPENAI,
    "custom": (*_OPENAI, "custom_include_body", "custom_exclude_body"),
    "claude": ("top_k", "use_sysprompt", "assistant_prefill"),
    "makersuite": ("top_k", "use_sysprompt", "seed"),
    "vertexai": ("top_k", "use_sysprompt", "seed"),
    "openrouter": (*_MORE_SAMPLING, "seed", "logit_bias", "logprobs"),
    "mistralai": ("seed",),
    "cohere": ("top_k", "seed"),
    "perplexity": ("top_k",),
    "groq": ("seed",),
    "chutes": ("top_k", "min_p", "repetition_penalty", "seed", "logit_bias", "logprobs"),
    "electronhub": ("top_k", "seed", "logit_bias"),
    "nanogpt": (*_MORE_SAMPLING, "seed", "nanogpt_payg_override"),
    "deepseek": ("logprobs",),
    "aimlapi": ("seed", "n", "logprobs"),
    "xai": ("seed", "n", "logprobs"),
    "pollinations": ("seed",),
    "moonshot": ("n",),
    "workers_ai": ("top_k", "repetition_penalty", "seed"),
}
"""What a source is asked besides the common settings."""

_STOPS: Final[Mapping[str, int | None]] = {
    "claude": None, "mistralai": None, "chutes": None, "makersuite": 5, "vertexai": 5, "cohere": 5, "zai": 1, "perplexity": 0,
}  # fmt: skip
"""How many stop strings a source is sent; four where it is not named, all for ``None``."""
_MOST_STOPS: Final = 4
_ALWAYS_STOP: Final = frozenset({"claude", "chutes", "cohere", "zai"})
"""The sources that are sent a list even where nothing is in it."""
_LONGEST_STOP: Final = 16
"""Characters, as JavaScript counts them, that Google's stop strings may have."""


def page_options(options: Mapping[str, Any], source: str, model: str, report: Report) -> Options:
    """What the page asks ``source`` for with these settings; what it does not send is absent.

    ``options`` are neutral, with SillyTavern's names for what has no neutral one; ``generation`` is the type of the generation.
    """
    asked = {**options, **_routing(options)} if source == "openrouter" else options
    names = (*_COMMON, *_PASSED, *_ASKED.get(source, ()), *PLACES, *(_ROUTED if source == "openrouter" else ()))
    page = {name: asked[name] for name in names if asked.get(name) is not None}
    page |= {"include_reasoning": options.get("show_thoughts") is not False, "stop": _stop(options, source)}
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


def _stop(options: Mapping[str, Any], source: str) -> list[str] | None:
    texts = stop_list(options.get("stop"))[: _STOPS.get(source, _MOST_STOPS)]
    if source in ("makersuite", "vertexai"):
        texts = [text for text in texts if len(text) + sum(char > "\uffff" for char in text) <= _LONGEST_STOP]
    return texts if texts or source in _ALWAYS_STOP else None


def _streams(options: Mapping[str, Any], source: str, model: str) -> bool:
    """Whether the reply is streamed: not where nobody watches, nor where the model cannot."""
    first = source in _GPT and model in ("o1", "o1-2024-12-17")
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
    *dict.fromkeys(name for names in _ASKED.values() for name in names),
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

_RAW: Final = frozenset({
    "claude", "makersuite", "vertexai", "ai21", "mistralai", "cohere", "groq", "nanogpt", "moonshot", "zai", "siliconflow",
    "minimax", "workers_ai",
})  # fmt: skip
"""The sources whose server reads the effort as the preset has it."""
_HIGH: Final = {"min": "low", "max": "high"}
_BY_SOURCE: Final[Mapping[str, Mapping[str, str]]] = {
    "deepseek": {"min": "low", "medium": "high"},
    "fireworks": {"min": "low"},
}
_BY_MODEL: Final = (
    (re.compile(r"gpt-6-astra"), {"min": "low"}),
    (re.compile(r"gpt-5\.6"), {"min": "none", "max": "xhigh"}),
    (re.compile(r"gpt-5\.[45]"), {"min": "none", "max": "high"}),
    (re.compile(r"gpt-5"), {"min": "minimal", "max": "high"}),
)
"""OpenAI's models and the efforts that have other names with them."""
_KOBOLD: Final = {"min": "minimal", "max": "xhigh"}


def _effort(options: Mapping[str, Any], source: str, model: str) -> str | None:
    word = str(options.get("reasoning_effort") or "auto")
    if source in _RAW:
        return word
    if word == "auto":
        return None
    if source == "electronhub":
        named = _HIGH.get(word, word)
        return named if named in ((options.get("model_list") or EMPTY).get("reasoning_efforts") or ()) else None
    if source == "openrouter" and word == "min" and options.get("show_thoughts") is False:
        return "none"
    return _words(source, model).get(word, word)


def _words(source: str, model: str) -> Mapping[str, str]:
    if source in _BY_SOURCE:
        return _BY_SOURCE[source]
    if source == "custom" and model.startswith("koboldcpp/"):
        return _KOBOLD
    if source not in ("openai", "azure_openai"):
        return _HIGH
    return next((words for pattern, words in _BY_MODEL if pattern.match(model)), _HIGH)


# ---- what models must not be sent


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """For models of these sources (all for none): what is left out, and whether the length has its longer name."""

    pattern: re.Pattern[str]
    sources: frozenset[str] = frozenset()
    drops: tuple[str, ...] = ()
    lengthens: bool = False
    spares: frozenset[str] = frozenset()
    """The sources that are sent an effort nevertheless."""
    silent: bool | None = None
    """Only where no effort is asked for (true), or only where one is (false)."""
    no_tools: bool = False
    no_system: bool = False
    no_own_pictures: bool = False
    """Only the user may show pictures."""

    def matches(self, source: str, model: str, page: Mapping[str, Any]) -> bool:
        """Whether it is a rule for this request."""
        if self.sources and source not in self.sources:
            return False
        if self.silent is not None and ("reasoning_effort" in page) is self.silent:
            return False
        return source not in self.spares and bool(self.pattern.search(model))

    def applied(self, page: Options) -> Options:
        """The page's options by this rule."""
        made = {name: value for name, value in page.items() if name not in self.drops}
        if self.lengthens and "max_tokens" in made:
            made["max_completion_tokens"] = made.pop("max_tokens")
        return made


_GPT: Final = frozenset({"openai", "azure_openai", "openrouter"})
_OWN: Final = frozenset({"openai", "azure_openai"})
_THINKING_DROPS: Final = ("logprobs", "stop", "logit_bias", *_SAMPLERS)


def _rule(pattern: str, sources: Any = (), *drops: str, **more: Any) -> Rule:
    return Rule(pattern=re.compile(pattern), sources=frozenset(sources), drops=drops, **more)


_NEWEST_CLAUDE: Final = r"claude-(fable|opus-5|sonnet-5)"
RULES: Final = (
    _rule(r"(?=.*gpt).*vision", _GPT, "logit_bias", "stop", "logprobs"),
    _rule(r"gpt-4\.5", _GPT, "logprobs"),
    _rule(r"^(?!.*grok-3-mini)", {"xai"}, "reasoning_effort"),
    _rule(r"grok-3-mini", {"xai"}, *PENALTIES, "stop"),
    _rule(r"grok-4|grok-code", {"xai"}, *PENALTIES),
    _rule(r"^(?!.*grok-4-fast-non-reasoning).*(grok-4|grok-code)", {"xai"}, "stop"),
    _rule(r"kimi-k2\.5", {"moonshot"}, *_SAMPLERS),
    _rule(r"^o[34]", _OWN, *_THINKING_DROPS, lengthens=True),
    _rule(r"^o1", _OWN, *_THINKING_DROPS, "n", lengthens=True, no_tools=True, no_system=True),
    _rule(r"^openai/o[34]", {"openrouter"}, *_THINKING_DROPS, lengthens=True),
    _rule(r"^openai/o1", {"openrouter"}, *_THINKING_DROPS, "n", lengthens=True, no_tools=True, no_system=True),
    _rule(r"gpt-5", _GPT, "logprobs", lengthens=True),
    _rule(r"gpt-5-chat-latest", _GPT, no_tools=True),
    _rule(r"gpt-5\.[1-4](?!.*chat-latest)", _GPT, *PENALTIES, "logit_bias", "stop", silent=True),
    _rule(r"gpt-5\.[1-4](?!.*chat-latest)", _GPT, *_THINKING_DROPS, silent=False),
    _rule(r"gpt-5\.[1-4].*chat-latest|gpt-5(?!\.[1-4]|-chat-latest)", _GPT, *_THINKING_DROPS),
    _rule(r"gpt-6-astra", _GPT, "temperature", "top_p", "logprobs", lengthens=True),
    _rule(r"gpt-6-astra", _OWN, no_tools=True),
    _rule(_NEWEST_CLAUDE, (), *_SAMPLERS, "top_k"),
    _rule(_NEWEST_CLAUDE, (), "reasoning_effort", spares=frozenset({"claude"})),
    _rule(r"deepseek-v4-flash-vision-exp", (), no_own_pictures=True),
)
"""In the original's order."""


def rules_for(source: str, model: str, page: Mapping[str, Any] = EMPTY) -> tuple[Rule, ...]:
    """The rules for a request of this model."""
    return tuple(rule for rule in RULES if rule.matches(source, model, page))


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
