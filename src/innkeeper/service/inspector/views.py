"""Views: everything that the inspector's page is given and gives back. The one schema: the page's types are written from it.

`scripts/inspector_types.py` turns these structs into ``inspector/src/api/types.ts``. Places in a file are paths of keys and
indexes from the root of its document; characters are counted in code points.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

__all__ = [
    "COLOURS",
    "VIEWS",
    "CacheCost",
    "Changes",
    "CompareRequest",
    "Comparison",
    "Edit",
    "FileContent",
    "FileReply",
    "FileView",
    "Finding",
    "GroupContest",
    "Inspection",
    "InspectionUpdate",
    "KeyMatch",
    "Kind",
    "LiveFailure",
    "LiveFiles",
    "LiveReply",
    "LiveRequest",
    "LoreView",
    "MessageChanges",
    "MessagePair",
    "MessageView",
    "Origin",
    "PairTokens",
    "Path",
    "Piece",
    "Problem",
    "Roll",
    "Saved",
    "SettingsPatch",
    "SettingsView",
    "TalkDelta",
    "TalkEnd",
    "TalkRequest",
    "TimedEffect",
    "TokenGroup",
    "Tokens",
    "Trim",
    "Variation",
    "Verdict",
    "VerdictChanges",
    "VerdictPair",
    "Wire",
    "WireRange",
    "Workspace",
]

Kind = Literal["character", "lorebook", "preset", "persona", "chat", "request", "profile", "other"]
"""What a file holds."""

Path = tuple[str | int, ...]
"""A place in a document."""

COLOURS: Final = 12
"""How many colours origins have."""


class Problem(msgspec.Struct, frozen=True):
    """Why something was not done: a kind of error, a sentence, how to mend it, and where."""

    code: str
    message: str
    hint: str | None = None
    where: str | None = None


class Finding(msgspec.Struct, frozen=True):
    """Something to know about a place in a file, or about the prompt. ``fix`` is an edit that mends it, where one is safe."""

    severity: Literal["error", "warning", "note"]
    code: str
    message: str
    hint: str | None = None
    file: str | None = None
    path: Path = ()
    fix: Edit | None = None


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a working copy: the ``value`` at ``path``, or with ``remove`` nothing there.

    An empty path replaces the whole document. In a list, the index after the last appends, and with ``insert`` the value goes
    in before what is there.
    """

    file: str
    path: Path
    value: Any | UnsetType = UNSET
    remove: bool = False
    insert: bool = False


class FileView(msgspec.Struct, frozen=True):
    """A file of the workspace. ``bytes`` as saved, ``used`` by the settings, ``changed`` since it was saved."""

    id: str
    name: str
    kind: Kind
    bytes: int
    used: bool
    changed: bool
    writable: bool
    picture: bool
    findings: tuple[Finding, ...] = ()


class SettingsView(msgspec.Struct, frozen=True, kw_only=True):
    """What is built beside the files. ``used`` are ids of files; ``turn`` cuts the chat after so many messages of it.

    ``reserve``: tokens kept free for the answer. ``persona``: the id of the file of the one that is used.
    """

    tavern: str
    profile: str | None = None
    model: str | None = None
    context_window: int | None = None
    reserve: int | None = None
    seed: int = 0
    now: str = ""
    message: str | None = None
    turn: int | None = None
    persona: str | None = None
    used: tuple[str, ...] = ()


class SettingsPatch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Some of the settings: those that are not left out."""

    tavern: str | UnsetType = UNSET
    profile: str | UnsetType | None = UNSET
    model: str | UnsetType | None = UNSET
    context_window: int | UnsetType | None = UNSET
    reserve: int | UnsetType | None = UNSET
    seed: int | UnsetType = UNSET
    now: str | UnsetType = UNSET
    message: str | UnsetType | None = UNSET
    turn: int | UnsetType | None = UNSET
    persona: str | UnsetType | None = UNSET
    used: tuple[str, ...] | UnsetType = UNSET


class Workspace(msgspec.Struct, frozen=True):
    """What is open. ``turns``: messages of the chat; ``library`` and ``talk``: whether those rooms are there."""

    title: str
    files: tuple[FileView, ...]
    settings: SettingsView
    taverns: tuple[str, ...]
    dialects: tuple[str, ...]
    turns: int
    library: bool
    talk: bool
    profiles: tuple[str, ...] = ()
    formats: dict[str, tuple[str, ...]] = {}
    routes: tuple[str, ...] = ()


class FileContent(msgspec.Struct, frozen=True):
    """A working copy: its document, or its text where that is no JSON."""

    file: FileView
    document: Any = None
    text: str | None = None


class FileReply(msgspec.Struct, frozen=True):
    """The file after it was reverted."""

    file: FileView


class Changes(msgspec.Struct, frozen=True):
    """What saving would change: the document as saved and as edited, indented."""

    before: str
    after: str


class Saved(msgspec.Struct, frozen=True):
    """The file after it was saved; ``backup`` is the name of the original, kept beside it."""

    file: FileView
    backup: str | None = None


class Origin(msgspec.Struct, frozen=True):
    """Where text came from: a kind of asset, and where it is known the place in a file. ``colour`` is 0 to 11."""

    file: str | None
    asset: str
    path: Path
    label: str
    colour: int


class Piece(msgspec.Struct, frozen=True):
    """A run of text and its origin, an index into the table of origins."""

    text: str
    origin: int | None = None


class Tokens(msgspec.Struct, frozen=True):
    """The budget in tokens. ``window`` is 0 where there is none; ``error_percent`` is how far an estimate may be off."""

    used: int
    reserved: int
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

    ``share`` is its part of the used tokens when it was sent; a message of which nothing else changed is not sent again.

    ``attachments`` are the kinds of what goes with it: pictures and the like.
    """

    index: int
    id: str
    role: str
    name: str | None
    slot: str | None
    group: str
    tokens: int
    share: float
    depth: int | None
    pieces: tuple[Piece, ...]
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


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Why an entry is in the prompt or the first rule that kept it out. ``index`` is its place among the verdicts."""

    id: str
    file: str | None = None
    path: Path = ()
    index: int = 0
    book: str = ""
    uid: str | int = ""
    title: str = ""
    fired: bool = False
    reason: str = ""
    text: str = ""
    key: str | None = None
    at: KeyMatch | None = None
    pass_: int | None = msgspec.field(default=None, name="pass")
    group: GroupContest | None = None
    roll: Roll | None = None
    timed: TimedEffect | None = None
    tokens: int | None = None
    position: str | None = None
    order: int | None = None


class Trim(msgspec.Struct, frozen=True):
    """Something that was left out to fit the window, and by which rule."""

    id: str
    group: str
    tokens: int
    rule: str
    text: str


class Inspection(msgspec.Struct, frozen=True):
    """A prompt and why it is as it is."""

    fingerprint: str
    tavern: str
    profile: str | None
    model: str | None
    turns: int
    tokens: Tokens
    groups: tuple[TokenGroup, ...]
    origins: tuple[Origin, ...]
    messages: tuple[MessageView, ...]
    lore: LoreView
    verdicts: tuple[Verdict, ...]
    trims: tuple[Trim, ...]
    notes: tuple[Finding, ...]


class MessageChanges(msgspec.Struct, frozen=True):
    """The messages as they differ from those before: how many there are, and those that are others, by index."""

    length: int
    changed: dict[str, MessageView]


class VerdictChanges(msgspec.Struct, frozen=True):
    """The verdicts as they differ from those before: how many there are, and those that are others, by index."""

    length: int
    changed: dict[str, Verdict]


class InspectionUpdate(msgspec.Struct, frozen=True, omit_defaults=True):
    """An inspection after the first of a connection: long lists may come as what changed in them."""

    fingerprint: str
    tavern: str
    profile: str | None
    model: str | None
    turns: int
    tokens: Tokens
    groups: tuple[TokenGroup, ...]
    origins: tuple[Origin, ...]
    lore: LoreView
    trims: tuple[Trim, ...]
    notes: tuple[Finding, ...]
    messages: tuple[MessageView, ...] | UnsetType = UNSET
    verdicts: tuple[Verdict, ...] | UnsetType = UNSET
    messages_changed: MessageChanges | UnsetType = UNSET
    verdicts_changed: VerdictChanges | UnsetType = UNSET


class LiveRequest(msgspec.Struct, frozen=True):
    """What the page changes. ``serial`` comes back with the answer; a request that a later one overtook has none."""

    serial: int
    edits: tuple[Edit, ...] = ()
    settings: SettingsPatch | UnsetType = UNSET


class LiveReply(msgspec.Struct, frozen=True):
    """The newest state, and how long it took. ``files`` are those whose state or findings are others than last told."""

    serial: int
    took_ms: float
    inspection: InspectionUpdate
    files: tuple[FileView, ...] = ()


class LiveFailure(msgspec.Struct, frozen=True):
    """Why there is no inspection of the newest state."""

    serial: int
    error: Problem
    files: tuple[FileView, ...] = ()


class LiveFiles(msgspec.Struct, frozen=True):
    """Files of which more is known now: findings that are looked for while nobody types."""

    serial: int
    files: tuple[FileView, ...]


class WireRange(msgspec.Struct, frozen=True):
    """Characters of the pretty body, and the origin of their text."""

    start: int
    end: int
    origin: int


class Wire(msgspec.Struct, frozen=True):
    """What a provider gets: the body, ``text`` where the dialect makes one text, and how to send it by hand."""

    dialect: str
    body: Any
    text: str | None
    pretty: str
    lost: tuple[Finding, ...]
    stop: tuple[str, ...]
    fingerprint: str
    ranges: tuple[WireRange, ...]
    origins: tuple[Origin, ...]
    curl: str
    python: str


class Variation(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The workspace with other settings; with ``saved``, its files as they were saved and not as edited."""

    settings: SettingsPatch | UnsetType = UNSET
    saved: bool = False


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


class TalkRequest(msgspec.Struct, frozen=True):
    """Send the prompt, with ``message`` in place of the settings' own; ``route`` names who answers, None the usual one."""

    message: str | None = None
    route: str | None = None


class TalkDelta(msgspec.Struct, frozen=True):
    """Text of an answer as it comes."""

    text: str


class TalkEnd(msgspec.Struct, frozen=True):
    """A whole answer, and the plan that made it."""

    message: str
    plan: Inspection


VIEWS: Final[tuple[type[msgspec.Struct], ...]] = (
    Problem,
    Finding,
    Edit,
    FileView,
    SettingsView,
    SettingsPatch,
    Workspace,
    FileContent,
    FileReply,
    Changes,
    Saved,
    Origin,
    Piece,
    Tokens,
    TokenGroup,
    MessageView,
    LoreView,
    KeyMatch,
    GroupContest,
    Roll,
    TimedEffect,
    Verdict,
    Trim,
    Inspection,
    MessageChanges,
    VerdictChanges,
    InspectionUpdate,
    LiveRequest,
    LiveReply,
    LiveFailure,
    LiveFiles,
    WireRange,
    Wire,
    Variation,
    CompareRequest,
    MessagePair,
    PairTokens,
    VerdictPair,
    CacheCost,
    Comparison,
    TalkRequest,
    TalkDelta,
    TalkEnd,
)
"""Every view, in the order in which the page's types are written."""
