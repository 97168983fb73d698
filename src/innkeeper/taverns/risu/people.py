"""People: who answers, the group it is of, and the names of all who speak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from innkeeper.prompt import NoteKind, State
from innkeeper.prompt.data import EMPTY
from innkeeper.prompt.errors import Where
from innkeeper.taverns.assets import Assets
from innkeeper.taverns.inputs import note_unread
from innkeeper.taverns.risu.group import GroupMember, next_speakers
from innkeeper.taverns.risu.imports import stored_character
from innkeeper.taverns.risu.stored import StoredCharacter, read_stored, stored_object


def people_of(
    state: State, assets: Assets, own: Mapping[str, Any]
) -> tuple[StoredCharacter | None, StoredCharacter, dict[str, str]]:
    """The group, who answers, and the names of all speakers by their ids."""
    card = {} if assets.character is None else stored_character(assets.character)
    character_fields = {**card, **stored_object(own, "character")}
    listed = own.get("members")
    members = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
    members = members or [stored_character(member.card) for member in assets.members]
    if not members:
        character = read_stored(StoredCharacter, character_fields)
        _note_of_groups(state, assets)
        return None, character, {character.cha_id: character.nickname or character.name}
    people = [read_stored(StoredCharacter, member) for member in members]
    names = {person.cha_id: person.nickname or person.name for person in people}
    fields = state.request.group if isinstance(state.request.group, Mapping) else EMPTY
    if unread := sorted(fields.keys() - {"members", "speaker"}):
        note_unread(state, "group", unread, "groups of RisuAI have no such setting")
    note_unread(state, "group", ["members"], "of all but the one who answers, a prompt has the names alone")
    speaker = own.get("speaker", fields.get("speaker"))
    if not isinstance(speaker, int):
        speaker = _chosen(state, assets, people)
    return read_stored(StoredCharacter, character_fields), people[speaker if 0 <= speaker < len(people) else 0], names


def _note_of_groups(state: State, assets: Assets) -> None:
    if state.request.group is not None:
        state.warn("the group has no members", where=Where(asset="request", path="group"))
    if any(message.name for message in assets.history):
        note_unread(state, "history", ["name"], "only groups have several speakers")


def _chosen(state: State, assets: Assets, people: Sequence[StoredCharacter]) -> int:
    """The first of the members that answer, noted with the others."""
    cards = [member.card for member in assets.members]
    members = [GroupMember(person.name, 1) for person in people]
    members = [GroupMember(card.name, card.talkativeness) for card in cards] or members
    last = assets.history[-1] if assets.history else None
    names = [member.name for member in members]
    speaker = names.index(last.name) if last is not None and last.name in names else None
    text = state.request.message or (last.content if last is not None else "")
    chosen = next_speakers(members, text, speaker, state.inputs.random.stream("risu-speakers"))
    chosen_names = ", ".join(names[index] for index in chosen) or "nobody"
    state.note(NoteKind.FALLBACK, f"no speaker was given: {chosen_names} would answer", data={"speakers": chosen})
    return chosen[0] if chosen else 0
