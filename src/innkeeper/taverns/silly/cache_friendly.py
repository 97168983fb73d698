"""Cache-friendly prompts: what changes from turn to turn moves seldom, so that a provider's prefix cache serves the rest.

``settings.cache_friendly`` is off by default, and SillyTavern has nothing like it. With it, texts at a depth of the chat stand
still for ``step_messages`` messages and then move by as many (lore, which comes and goes, stays where it is), and a full chat is
cut in steps. With ``freeze`` a lorebook entry that fired at a depth stays where it was first inserted, word for word, like the
result of a tool, until it is cut out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from innkeeper.content.entry import LorePosition
from innkeeper.prompt.block import Block, Origin, OriginAsset, Piece
from innkeeper.prompt.errors import ConfigError, Where
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.text import kind_of
from innkeeper.prompt.typed.once import convert
from innkeeper.taverns.silly.expansion import text_of, trimmed

if TYPE_CHECKING:
    from innkeeper.lore import Activated
    from innkeeper.prompt.run.state import State
    from innkeeper.taverns.silly.lines.line import Line
    from innkeeper.taverns.silly.scene import Scene

MAX_FROZEN: Final = 200
"""Entries that are frozen in one chat (no error: the oldest are released)."""

CUTS: Final = 4
"""A full chat is cut by one part in so many of its room: then it goes on for many turns before the next cut."""

_SETTING: Final = "cache_friendly"


class CacheFriendly(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``step_messages``: for how many messages a text at a depth stands still. ``freeze``: whether entries that fired stay.

    A frozen entry is released when the message before it is cut out, or after ``expires`` messages.
    """

    step_messages: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 16
    freeze: bool = False
    expires: Annotated[int, msgspec.Meta(ge=1)] | None = None

    @classmethod
    def of(cls, value: Any) -> CacheFriendly | None:
        """Read the setting: ``true``, or its fields; None where it is off. Raises `ConfigError`."""
        if not isinstance(value, Mapping):
            if value is None or isinstance(value, bool):
                return cls() if value else None
            raise ConfigError(
                f"{_SETTING} is true, false or an object, not {kind_of(value)}",
                where=Where(asset="settings", path=_SETTING),
            )
        try:
            return convert(dict(value), cls)
        except msgspec.ValidationError as error:
            raise ConfigError(str(error), where=Where(asset="settings", path=_SETTING)) from error

    def depth(self, depth: int, length: int) -> int:
        """Where a text at a depth stands in a chat of so many messages: as deep, or held back by less than a step."""
        return depth + (length - depth) % self.step_messages if 0 < depth < length else depth


class FrozenEntry(msgspec.Struct, frozen=True):
    """An entry that stays: its key, the text as it was sent, its role, and the index of the message that it stands behind."""

    key: str
    text: str
    role: str
    behind: int


def read_frozen(raw: Any) -> tuple[FrozenEntry, ...]:
    """The frozen entries in a carry; none where it holds something else."""
    try:
        return convert(raw or (), tuple[FrozenEntry, ...])[-MAX_FROZEN:]
    except msgspec.ValidationError:
        return ()


def freeze(
    scene: Scene, lines: Sequence[Line], activated: Sequence[Activated], before: Iterable[FrozenEntry], known: Any
) -> tuple[FrozenEntry, ...]:
    """The frozen entries of this turn: those of ``before`` that stay, and those at a depth that fire for the first time.

    ``lines`` are those that are sent; ``known`` holds the compiled entries of the books by key: what is in none is released.
    """
    friendly = scene.inputs.cache
    if friendly is None or not friendly.freeze:
        return ()
    newest = lines[-1].index if lines else -1
    stays = [
        msgspec.structs.replace(each, role=known[each.key].entry.role)
        for each in before
        if each.key in known
        and each.behind < newest
        and (friendly.expires is None or newest - each.behind < friendly.expires)
    ]
    held = {each.key for each in stays}
    return (
        *stays,
        *(_frozen(scene, lines, item) for item in activated if freezes(item) and item.compiled.key not in held),
    )


def freezes(item: Activated) -> bool:
    """Whether an entry that fired can stay in the chat: those at a depth that are not always there."""
    entry = item.compiled.entry
    return entry.position is LorePosition.AT_DEPTH and not entry.constant


def _frozen(scene: Scene, lines: Sequence[Line], item: Activated) -> FrozenEntry:
    entry = item.compiled.entry
    index = max(len(lines) - min(entry.depth, 1), 0)  # deeper, each new entry would move the messages behind it
    text = text_of(trimmed(scene.expand.pieces(trimmed(item.pieces))))
    return FrozenEntry(item.compiled.key, text, entry.role, lines[index - 1].index if index else -1)


def depth_of(entry: FrozenEntry, lines: Sequence[Line]) -> int:
    """How many messages stand behind a frozen entry."""
    return sum(line.index > entry.behind for line in lines)


def pieces_of_frozen(entry: FrozenEntry) -> tuple[Piece, ...]:
    """Its text, with the entry as its origin."""
    book, _, uid = entry.key.rpartition(".")
    return (Piece(entry.text, Origin(OriginAsset.LOREBOOK, field="content", entry=uid, name=book)),)


class Cut(msgspec.Struct, frozen=True):
    """Where a full chat was cut: the index of the first message that is sent, and the room in tokens that it was cut for."""

    first: int
    room: int


def read_cut(raw: Any) -> Cut | None:
    """The cut in a carry; None where it holds something else."""
    try:
        return convert(raw, Cut | None)
    except msgspec.ValidationError:
        return None


def cut_of(scene: Scene, blocks: Iterable[Block]) -> Cut | None:
    """Where the chat of this turn is cut, for the next turn to begin there too; None without the setting."""
    if scene.inputs.cache is None:
        return None
    sent = [int(block.id.removeprefix(_LINE)) for block in blocks if block.enabled and block.id.startswith(_LINE)]
    return Cut(min(sent), scene.inputs.context_tokens) if sent else None


def is_before(line: Line, cut: Cut | None, scene: Scene) -> bool:
    """Whether a message was cut out in a turn before, for the same room."""
    return cut is not None and cut.room == scene.inputs.context_tokens and line.index < cut.first


_LINE: Final = "history-"


def note_friendly(state: State, friendly: CacheFriendly, frozen: Sequence[FrozenEntry], fired: Iterable[str]) -> None:
    """Note how the prompt deviates from SillyTavern's, and the entries that would have left it."""
    firing = set(fired)
    extra = [entry for entry in frozen if entry.key not in firing]
    message = f"{_SETTING}: texts at a depth move every {friendly.step_messages} messages, and the chat is cut in steps"
    if frozen:
        message += f"; {len(frozen)} entries are frozen in the chat, {len(extra)} of which no key matches now"
    data = {"input": f"settings.{_SETTING}", "frozen": tuple(entry.key for entry in frozen)}
    state.note(NoteKind.MOVED, message, data={**data, "unmatched": tuple(entry.key for entry in extra)})
