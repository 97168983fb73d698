"""PrepareRequest: what a prompt is wanted for, and the texts of a request that the tier gate checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any, Final

import msgspec

from innkeeper.library.catalogue.resolver import ResolveRequest
from innkeeper.library.prepare.segments import Segment
from innkeeper.library.templates.template import PRODUCTION
from innkeeper.library.tier import Ceilings, Tier
from innkeeper.library.tiers.gate import TextKind
from innkeeper.library.wrong_kinds import need, need_texts
from innkeeper.prompt.frozen import EMPTY
from innkeeper.prompt.message import Message

__all__ = ["PrepareRequest", "texts_of"]


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
    client_msg_id: str | None = None
    """The id under which the client sent ``text``; a message of the history that has it is left out."""

    def __post_init__(self) -> None:
        """Raise `RequestError` for a field of a wrong kind. ``content_mode`` may be anything: what is no tier is ``sfw``."""
        need_texts(self, _NEEDED, _OPTIONAL)
        need("text", self.text, str, "text")
        need("negative", self.negative, str, "text")
        need("lower_tier", self.lower_tier, bool, "true or false")
        need("values", self.values, Mapping, "values by name")
        need("overlays", self.overlays, Mapping, "texts by name")
        need("ceilings", self.ceilings, Ceilings, "ceilings")
        need("target_budget", self.target_budget, (int, NoneType), "a number of tokens or nothing")
        need("segments", self.segments, (tuple, list), "segments")
        for number, segment in enumerate(self.segments):
            need(f"segments[{number}]", segment, Segment, "a segment")
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
)


def texts_of(request: PrepareRequest) -> dict[str, str]:
    """Every text of a request that people wrote, by where it enters."""
    found = {
        TextKind.USER_TEXT.value: request.text,
        f"{TextKind.USER_TEXT}:negative": request.negative,
        TextKind.HISTORY.value: "\n".join(_told(message) for message in request.history),
        f"{TextKind.USER_TEXT}:segments": "\n".join(segment.text for segment in request.segments),
        **{f"{TextKind.USER_TEXT}:{name}": text for name, text in request.overlays.items()},
    }
    return {name: text for name, text in (*found.items(), *_value_texts(request.values)) if text}


def _told(message: Message) -> str:
    return message.content if message.name is None else f"{message.name}: {message.content}"


def _value_texts(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, (list, tuple)):
            yield f"{TextKind.CARD}:{name}", "\n".join(map(str, value))
        elif isinstance(value, str):
            yield f"{TextKind.CARD}:{name}", value
