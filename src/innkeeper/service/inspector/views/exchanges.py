"""Exchanges: what the page asks and gets: rebuilds while somebody types, and comparisons."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from innkeeper.service.inspector.views.inspection import InspectionFacts, MessageView, OriginView, Trim, VerdictView
from innkeeper.service.inspector.views.workspace import Edit, FileView, ProblemView, SettingsChange, Variation


class MessageChanges(msgspec.Struct, frozen=True):
    """The messages as they differ from those before: how many there are, and those that are others, by index."""

    length: int
    changed: dict[str, MessageView]


class VerdictChanges(msgspec.Struct, frozen=True):
    """The verdicts as they differ from those before: how many there are, and those that are others, by index."""

    length: int
    changed: dict[str, VerdictView]


class OriginChanges(msgspec.Struct, frozen=True):
    """The table of origins as it differs from the one before: how many there are, and those that are others, by index."""

    length: int
    changed: dict[str, OriginView]


class TrimChanges(msgspec.Struct, frozen=True):
    """What was left out as it differs from what was before: how much there is, and what is other, by index."""

    length: int
    changed: dict[str, Trim]


class InspectionUpdate(InspectionFacts, frozen=True, omit_defaults=True):
    """An inspection after the first of a connection: long lists may come as what changed in them."""

    messages: tuple[MessageView, ...] | UnsetType = UNSET
    verdicts: tuple[VerdictView, ...] | UnsetType = UNSET
    origins: tuple[OriginView, ...] | UnsetType = UNSET
    trims: tuple[Trim, ...] | UnsetType = UNSET
    messages_changed: MessageChanges | UnsetType = UNSET
    verdicts_changed: VerdictChanges | UnsetType = UNSET
    origins_changed: OriginChanges | UnsetType = UNSET
    trims_changed: TrimChanges | UnsetType = UNSET


class LiveRequest(msgspec.Struct, frozen=True):
    """What the page changes. ``serial`` comes back with the answer; a request that a later one overtook has none."""

    serial: int
    edits: tuple[Edit, ...] = ()
    settings: SettingsChange | UnsetType = UNSET


class SharedChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """What another page of the workspace changed. ``reload``: more than edits and settings; ask for the workspace again."""

    edits: tuple[Edit, ...] = ()
    settings: SettingsChange | UnsetType = UNSET
    reload: bool = False


class LiveShared(msgspec.Struct, frozen=True):
    """A change that comes without being asked for; the prompt with it is to be asked for."""

    shared: SharedChange


class LiveReply(msgspec.Struct, frozen=True):
    """The newest state, and how long it took. ``files`` are those whose state or findings are others than last told.

    ``settings`` are those that changed with what was asked for.
    """

    serial: int
    took_ms: float
    inspection: InspectionUpdate
    files: tuple[FileView, ...] = ()
    settings: SettingsChange = SettingsChange()


class LiveFailure(msgspec.Struct, frozen=True):
    """Why there is no inspection of the newest state."""

    serial: int
    error: ProblemView
    files: tuple[FileView, ...] = ()


class LiveFiles(msgspec.Struct, frozen=True):
    """Files of which more is known now: findings that are looked for while nobody types."""

    serial: int
    files: tuple[FileView, ...]


class CompareRequest(msgspec.Struct, frozen=True):
    """The two that are compared."""

    a: Variation
    b: Variation


class MessagePair(msgspec.Struct, frozen=True):
    """A message in both, or in one of the two."""

    index_a: int | None
    index_b: int | None
    kind: Literal["same", "changed", "added", "removed"]
    a: str | None
    b: str | None
    tokens_a: int
    tokens_b: int
    role: str = ""


class PairTokens(msgspec.Struct, frozen=True):
    """Used tokens of both."""

    a: int
    b: int


class VerdictPair(msgspec.Struct, frozen=True):
    """An entry that is in one of the two prompts only, and the reasons; none where the entry is not there at all."""

    id: str
    title: str
    a: str | None
    b: str | None


class CacheCost(msgspec.Struct, frozen=True):
    """Tokens of b that a provider's cache of a still holds, and those that it must read again."""

    common_tokens: int
    broken_tokens: int


class Comparison(msgspec.Struct, frozen=True):
    """Two prompts side by side."""

    same: bool
    messages: tuple[MessagePair, ...]
    tokens: PairTokens
    verdicts: tuple[VerdictPair, ...]
    cache: CacheCost
