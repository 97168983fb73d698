"""PrepareRequest: what a prompt is wanted for, and the texts of it.

The answers are here too: what was resolved, rendered and prepared, each with its reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any, Final, NamedTuple

import msgspec

from innkeeper.budget import Evicted
from innkeeper.budget.window import evicted_of
from innkeeper.gate.gate import TextKind
from innkeeper.gate.tier import Ceilings, Decision, Tier, TierDecision
from innkeeper.library.catalogue.resolver import Resolution, ResolveRequest
from innkeeper.library.errors import need, need_texts
from innkeeper.library.models.facts import NegativePrompt
from innkeeper.library.prepare.budget import Budget, Fitted
from innkeeper.library.prepare.parts import PromptPart, part_texts
from innkeeper.library.prepare.segments import Segment
from innkeeper.library.templates.rendering import RenderedTemplate
from innkeeper.library.templates.template import PRODUCTION, TemplateVersion
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import StrictModeError
from innkeeper.prompt.message import Message
from innkeeper.prompt.plan import Plan
from innkeeper.taverns.template import HISTORY_ID


class PrepareRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a prompt is wanted for.

    ``content_mode`` is the tier *asked for*; what is no tier is ``sfw``. ``ceilings`` come from the caller's own records
    (account, workspace, character, scene, region), never from what a client sends; those of model and provider are added from
    the catalogue. ``overlays`` are texts that are put to the prompt later (``ui``, ``suffix``): room is kept for them.
    """

    use_case: str
    text: str = ""
    """What the user wrote."""
    job_type: str | None = None
    target_model: str | None = None
    target_family: str | None = None
    enhancer_model: str | None = None
    enhancer_family: str | None = None
    content_mode: Any = None
    label: str = PRODUCTION
    lower_tier: bool = True
    values: Mapping[str, Any] = EMPTY
    ceilings: Ceilings = Ceilings()
    history: tuple[Message, ...] = ()
    overlays: Mapping[str, str] = EMPTY
    target_budget: int | None = None
    negative: str = ""
    """The user's own negative prompt."""
    generation_mode: str = "txt2img"
    request_id: str | None = None
    user_id: str | None = None
    conversation_id: str | None = None
    job_id: str | None = None
    experiment_id: str | None = None
    variant: str | None = None
    dialect: str | None = None
    """How the messages are written for the provider, which also says what a message costs; OpenAI's where it is not known."""
    segments: tuple[Segment, ...] = ()
    """The prompt for the target in parts with roles, in place of ``text``; it goes to the target where no template answers."""
    context_window: int | None = None
    """Tokens that the model reads which gets the messages, where that is known better than from the catalogue."""
    client_msg_id: str | None = None
    """The id under which the client sent ``text``; a message of the history that has it is left out."""
    system: str | None = None
    """A system prompt in place of the text of the template that answers, whose limits still count. It is an administrator's to
    give, and judged like any other text."""
    parts: tuple[PromptPart, ...] = ()
    """What is remembered, a scene, examples of a voice: beside the template's own text, or in it where it has a variable."""

    def __post_init__(self) -> None:
        """Raise `FieldError` for a field of a wrong kind. ``content_mode`` may be anything: what is no tier is ``sfw``."""
        need_texts(self, _NEEDED, _OPTIONAL)
        need("text", self.text, str, "text")
        need("negative", self.negative, str, "text")
        need("lower_tier", self.lower_tier, bool, "true or false")
        need("values", self.values, Mapping, "values by name")
        need("overlays", self.overlays, Mapping, "texts by name")
        need("ceilings", self.ceilings, Ceilings, "ceilings")
        need("target_budget", self.target_budget, (int, NoneType), "a number of tokens or nothing")
        need("context_window", self.context_window, (int, NoneType), "a number of tokens or nothing")
        need("segments", self.segments, (tuple, list), "segments")
        for number, segment in enumerate(self.segments):
            need(f"segments[{number}]", segment, Segment, "a segment")
        need("parts", self.parts, (tuple, list), "parts")
        for number, part in enumerate(self.parts):
            need(f"parts[{number}]", part, PromptPart, "a part")
        need("history", self.history, (tuple, list), "messages")
        for number, message in enumerate(self.history):
            need(f"history[{number}]", message, Message, "a message")
        for name, value in (*self.overlays.items(), *((f"key {key!r}"[:80], key) for key in self.values)):
            need(str(name), value, str, "text")

    def asked(self, tier: Tier) -> ResolveRequest:
        """The question to the resolver, in the tier that was granted."""
        return ResolveRequest(
            use_case=self.use_case,
            job_type=self.job_type,
            target_model=self.target_model,
            target_family=self.target_family,
            enhancer_model=self.enhancer_model,
            enhancer_family=self.enhancer_family,
            content_mode=tier,
            label=self.label,
            lower_tier=self.lower_tier,
        )


_NEEDED: Final = ("use_case", "label", "generation_mode")
_OPTIONAL: Final = (
    *("job_type", "target_model", "target_family", "enhancer_model", "enhancer_family"),
    *("request_id", "user_id", "conversation_id", "job_id", "experiment_id", "variant", "dialect", "client_msg_id"),
    "system",
)


def texts_of(request: PrepareRequest) -> dict[str, str]:
    """Every text of a request that people wrote, by where it enters."""
    texts = {
        TextKind.USER_TEXT.value: request.text,
        f"{TextKind.USER_TEXT}:negative": request.negative,
        TextKind.HISTORY.value: "\n".join(
            message.content if message.name is None else f"{message.name}: {message.content}"
            for message in request.history
        ),
        f"{TextKind.USER_TEXT}:segments": "\n".join(segment.text for segment in request.segments),
        **{f"{TextKind.USER_TEXT}:{name}": text for name, text in request.overlays.items()},
        **part_texts(request.parts),
    }
    return {name: text for name, text in (*texts.items(), *_value_texts(request.values)) if text}


def _value_texts(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, (list, tuple)):
            yield f"{TextKind.CARD}:{name}", "\n".join(map(str, value))
        elif isinstance(value, str):
            yield f"{TextKind.CARD}:{name}", value


class Resolved(msgspec.Struct, frozen=True):
    """A resolution in the tier that was granted."""

    tier: TierDecision
    resolution: Resolution

    @property
    def degraded(self) -> bool:
        """Whether the answer is less than what was asked for."""
        return bool(self.reasons)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is, in words for programs."""
        return (*_tier_reasons(self.tier), *self.resolution.reasons)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts."""
        return {**resolution_facts(self.resolution), **_common(self), "tier": tier_facts(self.tier)}


class Decided(NamedTuple):
    """What is decided before a prompt is built: the tier, the template and its text, None where none answers."""

    tier: TierDecision
    resolution: Resolution
    rendered: RenderedTemplate | None


class RenderedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A rendered template. ``cached``: the text was kept from an equal request before."""

    tier: TierDecision
    resolution: Resolution | None
    rendered: RenderedTemplate
    cached: bool = False

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the answer is a makeshift, where it is."""
        return (*_tier_reasons(self.tier), *(self.resolution.reasons if self.resolution else ()))

    @property
    def degraded(self) -> bool:
        """Whether the answer is less than what was asked for."""
        return bool(self.reasons)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts."""
        facts = {**msgspec.to_builtins(self.rendered), **_common(self), "tier": tier_facts(self.tier)}
        return facts if self.resolution is None else {**facts, "resolution": resolution_facts(self.resolution)}


class PreparedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt, ready to be sent, and everything that was decided on the way to it.

    ``plan`` is what a model gets, with the origin of every range of it, for any dialect; its ``messages`` are for the enhancer or
    chat model. Where no template answered (``execution`` is ``none``) there are none: then the plan holds the text for the
    target as it is, and so does ``fitted``. ``budget`` is the room of what the target reads, ``window_limit`` that of
    the model that reads the messages, each None where nobody knows it. ``log_id`` is known where the row was written at once.
    """

    request: PrepareRequest
    request_id: str
    tier: TierDecision
    resolution: Resolution
    rendered: RenderedTemplate | None = None
    plan: Plan
    fitted: Fitted | None = None
    budget: Budget | None = None
    input_tokens: int = 0
    window_limit: int | None = None
    negative: NegativePrompt | None = None
    cached: bool = False
    latency_ms: dict[str, float] = {}
    notes: tuple[str, ...] = ()
    """Further reasons why the answer is a makeshift: ``log_failed``, ``rules_unread``, ``window_unknown`` …"""
    cache_age_s: float | None = None
    log_id: int | None = None
    left_out: tuple[Evicted, ...] = ()
    """Parts that the template has a variable for, and that there was no room for."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the enhancer or chat model is sent; nothing where no template answered."""
        return () if self.rendered is None else self.plan.messages

    @property
    def evicted(self) -> tuple[Evicted, ...]:
        """Which messages and parts were left out, by their places: 0 is the system prompt with its parts, then the history."""
        report = self.plan.trim_report
        return self.left_out if report is None else (*self.left_out, *evicted_of(report, _position))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the answer is a makeshift, where it is."""
        shortened = ("shortened",) if self.shortened else ()
        return tuple(dict.fromkeys((*_tier_reasons(self.tier), *self.resolution.reasons, *shortened, *self.notes)))

    @property
    def degraded(self) -> bool:
        """Whether the answer is less than what was asked for."""
        return bool(self.reasons)

    @property
    def shortened(self) -> bool:
        """Whether the text for the target lost anything but what was empty or said twice."""
        fitted = self.fitted
        return fitted is not None and (bool(fitted.cut) or any(one.reason in _LOST for one in fitted.dropped))

    @property
    def compressed(self) -> bool:
        """Whether anything was left out to make it fit."""
        return bool(self.evicted or (self.fitted and (self.fitted.cut or self.fitted.dropped)))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready facts, the texts among them."""
        return {
            "request_id": self.request_id,
            **_common(self),
            "tier": tier_facts(self.tier),
            "resolution": resolution_facts(self.resolution),
            "messages": [{"role": message.role, "content": message.content} for message in self.messages],
            "text": None if self.fitted is None else self.fitted.text,
            "variables": [] if self.rendered is None else msgspec.to_builtins(self.rendered.variables),
            "budget": msgspec.to_builtins(self.budget),
            "tokens": {"input": self.input_tokens, "window": self.window_limit},
            "evicted": msgspec.to_builtins(self.evicted),
            "negative": msgspec.to_builtins(self.negative),
            "cached": self.cached,
            "latency_ms": self.latency_ms,
            "log_id": self.log_id,
        }


def _position(block: str) -> int:
    """The place of a block: 0 for the system prompt and its parts, then the messages."""
    return 1 + int(block.removeprefix(HISTORY_ID)) if block.startswith(HISTORY_ID) else 0


_LOST: Final = frozenset({"budget", "tail", "cut"})
"""The reasons of `Dropped` that take something away."""


def _tier_reasons(tier: TierDecision) -> tuple[str, ...]:
    lowered = tier.effective.rank < tier.requested.rank
    return tier.reasons if lowered or tier.decision is Decision.REVIEW else ()


def _common(answer: Resolved | RenderedAnswer | PreparedPrompt) -> dict[str, Any]:
    return {"degraded": answer.degraded, "reasons": list(answer.reasons)}


def require_complete(answer: Resolved | RenderedAnswer | PreparedPrompt) -> None:
    """Raise `StrictModeError` for an answer that is less than what was asked for."""
    if answer.degraded:
        raise StrictModeError(
            f"only a makeshift answers: {', '.join(answer.reasons)}",
            hint="leave strict out to take what there is",
            reasons=list(answer.reasons),
        )


def tier_facts(tier: TierDecision) -> dict[str, Any]:
    """A tier decision, JSON-ready; it never holds a text."""
    facts: dict[str, Any] = msgspec.to_builtins(tier)
    return {**facts, "passed": tier.passed}


def resolution_facts(resolution: Resolution) -> dict[str, Any]:
    """A resolution, JSON-ready, without the template's text."""
    return {
        "level": resolution.level.value,
        "matched": resolution.matched.value,
        "fallback_level": resolution.fallback_level,
        "source": resolution.source.value,
        "execution": resolution.execution.value,
        "tier_lowered": resolution.tier_lowered,
        "enhanced": resolution.enhanced,
        "template": None if resolution.template is None else template_facts(resolution.template),
        "trace": [msgspec.to_builtins(step) for step in resolution.trace],
        "revision": resolution.revision,
    }


def template_facts(version: TemplateVersion) -> dict[str, Any]:
    """What names a version and its budgets."""
    return {
        "name": version.name,
        "version": version.version,
        "id": version.template_id,
        "key": msgspec.to_builtins(version.key),
        "token_limit": version.token_limit,
        "max_output_tokens": version.max_output_tokens,
        "sha256": version.content_sha256,
    }
