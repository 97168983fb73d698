"""Talk: who can be asked, what is sent, and what comes back."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from innkeeper.service.inspector.views.inspection import InspectionView
from innkeeper.service.inspector.views.workspace import Variation


class TalkModel(msgspec.Struct, frozen=True, kw_only=True):
    """A route: its model, and what a request to it may say.

    ``window`` is in tokens, None where nobody says. ``options`` are neutral names that its dialect writes. ``tools`` and
    ``schema``: whether the model calls functions and keeps to an answer's JSON schema.
    """

    name: str
    provider: str
    model: str
    dialect: str
    window: int | None
    options: tuple[str, ...]
    tools: bool
    schema: bool


class TalkRequest(msgspec.Struct, frozen=True):
    """Send the prompt, with ``message`` in place of the settings' own; ``route`` names who answers, None the usual one.

    ``variation`` is of the workspace. ``options`` (by neutral names) and ``tools`` (as Chat Completions has them) win over the
    preset's. ``instructions`` are sent in place of the prompt, with the message alone; their answer has no plan.
    """

    message: str | None = None
    route: str | None = None
    variation: Variation | UnsetType = UNSET
    options: dict[str, Any] = {}
    tools: tuple[dict[str, Any], ...] = ()
    instructions: str | None = None


class TalkDelta(msgspec.Struct, frozen=True):
    """Text of an answer as it comes."""

    text: str


class TalkCall(msgspec.Struct, frozen=True):
    """A function that the model calls; its arguments as it wrote them."""

    name: str
    arguments: str


class TalkAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A whole answer. Tokens are the provider's own count, None where it gives none; ``finish`` is why it ended."""

    message: str
    thoughts: str = ""
    refusal: str = ""
    calls: tuple[TalkCall, ...] = ()
    finish: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class TalkEnd(TalkAnswer, frozen=True, kw_only=True):
    """A whole answer, and the plan that made it; None where instructions took the prompt's place."""

    plan: InspectionView | None
