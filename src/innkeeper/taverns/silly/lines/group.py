"""Group: a group chat's settings and members, and which of them speaks in a build."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from innkeeper.content.character import Character
from innkeeper.content.filled import filled
from innkeeper.prompt.determinism import Randomness
from innkeeper.prompt.errors import Where
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.run.state import State
from innkeeper.taverns.assets import Assets
from innkeeper.taverns.inputs import note_unread
from innkeeper.taverns.silly.lines.line import lines_of
from innkeeper.taverns.silly.lines.speakers import choose_speakers
from innkeeper.taverns.silly.settings import GroupSettings, noted_settings

_OF_GROUPS: Final = frozenset({"group_only_greetings", "extensions.talkativeness"})
"""Fields of cards that count in groups alone."""


class MemberFacts(NamedTuple):
    """What lore is filtered by of a member: the name of its file, and its tags."""

    file: str
    tags: tuple[str, ...]


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A group chat: its settings and its members' cards."""

    settings: GroupSettings
    members: tuple[Character, ...]
    files: tuple[str, ...]
    tags: tuple[tuple[str, ...], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All members' names, muted ones too."""
        return tuple(member.name for member in self.members)

    @property
    def active_names(self) -> tuple[str, ...]:
        """The names of members who are not muted."""
        return tuple(name for index, name in enumerate(self.names) if index not in self.settings.disabled)

    def member(self, character: Character) -> MemberFacts | None:
        """The facts of a member; None for somebody else."""
        if character not in self.members:
            return None
        index = self.members.index(character)
        return MemberFacts(self.files[index], self.tags[index])


def group_of(state: State, assets: Assets) -> Group | None:
    """The request's group, if it has one; notes what of it has no effect."""
    if state.request.group is None:
        return None
    if not assets.members:
        state.warn("the group has no members", where=Where(asset="request", path="group"))
    settings = noted_settings(state, GroupSettings, state.request.group, "group")
    if settings.name != GroupSettings().name:
        message = "group.name has no effect in this tavern: prompts name a group's members"
        state.note(NoteKind.IGNORED, message, data={"input": "group.name"})
    members = assets.members
    return Group(
        settings=settings,
        members=tuple(member.card for member in members),
        files=tuple(member.filename for member in members),
        tags=tuple(member.tags for member in members),
    )


def speaker_of(state: State, assets: Assets, group: Group | None) -> Character:
    """Who speaks: in a group the member that is named or that its strategy chooses, else the request's character."""
    if group is not None and group.members:
        if state.request.character is not None:
            reason = "character has no effect in this tavern: in a group its members speak"
            state.note(NoteKind.IGNORED, reason, data={"input": "character"})
        speaker = group.settings.speaker
        if speaker is None:
            speaker = _chosen(state, assets, group)
        return group.members[speaker if 0 <= speaker < len(group.members) else 0]
    if assets.character is None:
        state.warn("there is no character: card fields are empty", kind=NoteKind.WARNING)
        return Character(name="")
    if group is None and (fields := [name for name in filled(assets.character).fields if name in _OF_GROUPS]):
        note_unread(state, "character", fields, "only groups have a use for it")
    return assets.character


def _chosen(state: State, assets: Assets, group: Group) -> int:
    """The first of the speakers that the group's strategy chooses, noted with the others; else the first member."""
    request = state.request
    chance = Randomness(request.seed).stream("speakers")
    lines = lines_of(assets.history, user=assets.persona.name, char="").lines
    chosen = choose_speakers(group, lines, chance, generation=request.generation, text=request.message)
    everybody = group.names
    names = [everybody[index] for index in chosen]
    message = f"the group's strategy chose {', '.join(names)}" if names else "the group's strategy chose nobody"
    state.note(NoteKind.FALLBACK, f"no speaker was given: {message}", data={"speakers": chosen})
    return chosen[0] if chosen else 0
