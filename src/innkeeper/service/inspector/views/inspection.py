"""Inspection: a prompt by origin, the verdict on every lorebook entry, the budget, and what a provider gets of it."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from innkeeper.service.inspector.views.workspace import FindingView, Path

COLOURS: Final = 12
"""How many colours origins have."""


class OriginView(msgspec.Struct, frozen=True):
    """Where text came from: a kind of asset, and where it is known the place in a file. ``colour`` is 0 to 11."""

    file: str | None
    asset: str
    path: Path
    label: str
    colour: int


class PieceView(msgspec.Struct, frozen=True):
    """A run of text and its origin, an index into the table of origins."""

    text: str
    origin: int | None = None


class Tokens(msgspec.Struct, frozen=True, rename={"total": "used", "reserve": "reserved"}):
    """The budget in tokens. ``window`` is 0 where there is none; ``error_percent`` is how far an estimate may be off."""

    total: int
    reserve: int
    free: int
    window: int
    exact: bool
    tokenizer: str
    error_percent: float | None
    fits: bool


class TokenGroup(msgspec.Struct, frozen=True):
    """The tokens of one budget group."""

    name: str
    tokens: int


class MessageView(msgspec.Struct, frozen=True):
    """A message as the model gets it. ``depth`` counts from the end of the chat.

    ``attachments`` are the kinds of what goes with it: pictures and the like.
    """

    index: int
    id: str
    role: str
    name: str | None
    slot: str | None
    group: str
    tokens: int
    depth: int | None
    pieces: tuple[PieceView, ...]
    attachments: tuple[str, ...] = ()


class LoreView(msgspec.Struct, frozen=True):
    """The scan of the lorebooks: its budget in tokens, whether entries did not fit, and how often the texts were searched."""

    budget: int | None = None
    overflowed: bool = False
    passes: int = 0


class KeyMatch(msgspec.Struct, frozen=True):
    """Where a key matched: in a message of the chat (its index from 0, None: the one being written), or in another text."""

    where: Literal["chat", "other"]
    message: int | None
    start: int
    end: int


class GroupContest(msgspec.Struct, frozen=True):
    """The inclusion group that an entry was in, and who won it and how."""

    name: str
    winner: str | None = None
    how: str | None = None


class Roll(msgspec.Struct, frozen=True):
    """What was rolled against an entry's probability in per cent."""

    value: float | None
    probability: float | None


class TimedEffect(msgspec.Struct, frozen=True):
    """A timed effect: until which message of the chat it lasts."""

    effect: Literal["sticky", "cooldown", "delay"]
    until: int | None


class VerdictView(msgspec.Struct, frozen=True, kw_only=True):
    """Why an entry is in the prompt or the first rule that kept it out. ``index`` is its place among the verdicts.

    The page has a sentence for each ``reason``, with ``parameters`` in it. ``remark`` is what would have let it fire.
    """

    id: str
    file: str | None = None
    path: Path = ()
    index: int = 0
    book: str = ""
    uid: str | int = ""
    title: str = ""
    fired: bool = False
    reason: str = ""
    parameters: dict[str, str] = {}
    remark: str = ""
    key: str | None = None
    at: KeyMatch | None = None
    pass_: int | None = msgspec.field(default=None, name="pass")
    group: GroupContest | None = None
    roll: Roll | None = None
    timed: TimedEffect | None = None
    tokens: int | None = None
    position: str | None = None
    order: int | None = None


class Trim(
    msgspec.Struct,
    frozen=True,
    rename={"block_id": "id", "budget_group": "group", "token_count": "tokens", "reason": "rule"},
):
    """Something that was left out to fit the window, and by which rule; ``role`` says it.

    It would have stood before the message with the index ``before``; None: at the end.
    """

    block_id: str
    budget_group: str
    token_count: int
    reason: str
    text: str
    role: str
    before: int | None


class InspectionFacts(msgspec.Struct, frozen=True):
    """What a prompt came to: all but the long lists of what is in it. ``stop``: at which texts an answer ends."""

    fingerprint: str
    tavern: str
    profile: str | None
    model: str | None
    dialect: str
    turns: int
    tokens: Tokens
    groups: tuple[TokenGroup, ...]
    lore: LoreView
    stop: tuple[str, ...]
    notes: tuple[FindingView, ...]


class InspectionView(InspectionFacts, frozen=True):
    """A prompt and why it is as it is."""

    origins: tuple[OriginView, ...]
    messages: tuple[MessageView, ...]
    verdicts: tuple[VerdictView, ...]
    trims: tuple[Trim, ...]


class StepText(msgspec.Struct, frozen=True):
    """A text of which a step has replaced the macros, and the stage of the order of evaluation."""

    stage: str
    text: str


class StepView(msgspec.Struct, frozen=True):
    """A step of a build: its milliseconds, the texts that it wrote, what it counted, and what it warned of."""

    name: str
    own_ms: float
    texts: tuple[StepText, ...]
    counts: dict[str, int]
    warnings: tuple[str, ...]


class WireRange(msgspec.Struct, frozen=True):
    """Characters of the pretty body, and the origin of their text."""

    start: int
    end: int
    origin: int


class Wire(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider gets: the body, ``text`` where the dialect makes one text, and how to send it by hand.

    ``ranges`` are of ``pretty``, ``text_ranges`` of ``text``. ``lacks_model``: what is sent by hand has a word in its place.
    """

    dialect: str
    body: Any
    text: str | None
    pretty: str
    lost: tuple[FindingView, ...]
    stop: tuple[str, ...]
    fingerprint: str
    ranges: tuple[WireRange, ...]
    text_ranges: tuple[WireRange, ...]
    origins: tuple[OriginView, ...]
    address: str
    lacks_model: bool
    curl: str
    python: str
    javascript: str
