"""A group in a build: its members' cards, the muted ones, and the speaker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Self

import msgspec

from innkeeper.content.chat_message import ChatMessage
from innkeeper.prompt.determinism import RandomStream
from innkeeper.prompt.errors import UnknownNameError
from innkeeper.prompt.note import NoteKind
from innkeeper.prompt.request import BuildRequest
from innkeeper.taverns.silly.install.chats import OpenChat
from innkeeper.taverns.silly.install.files import UserFolder, list_of
from innkeeper.taverns.silly.install.names import GroupFile, NamedCard
from innkeeper.taverns.silly.lines.group import Group
from innkeeper.taverns.silly.lines.line import lines_of
from innkeeper.taverns.silly.lines.speakers import choose_speakers
from innkeeper.taverns.silly.settings import GroupSettings

_NUMBERS: Final = ("activation_strategy", "generation_mode")
_TEXTS: Final[Mapping[str, str]] = {
    "generation_mode_join_prefix": "join_prefix",
    "generation_mode_join_suffix": "join_suffix",
}


class OpenGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group with its cards. ``speaker`` is a place among the members."""

    id: str
    settings: GroupSettings
    members: tuple[NamedCard, ...]
    speaker: int | None = None

    @property
    def card(self) -> NamedCard | None:
        """The speaker."""
        return None if self.speaker is None else self.members[self.speaker]

    def with_speaker(self, name: str) -> Self:
        """The group with this member speaking: the name of a card's file, or of its character. Raises `UnknownNameError`."""
        names = [(member.avatar, member.stem) for member in self.members] + [(member.name,) for member in self.members]
        for index, known in enumerate(names):
            if name in known:
                return msgspec.structs.replace(self, speaker=index % len(self.members))
        raise UnknownNameError("member of the group", name, [member.name for member in self.members])

    def speaking(self, folder: UserFolder, request: BuildRequest, chance: RandomStream) -> Self:
        """The group with a speaker: the named one, else the first that its strategy chooses, which is noted."""
        if self.speaker is not None or not self.members:
            return self
        cards, files = tuple(member.card for member in self.members), tuple(member.stem for member in self.members)
        lines = lines_of(request.history, user=str(request.user.get("name", "")), char="").lines
        chosen = choose_speakers(
            Group(settings=self.settings, members=cards, files=files),
            lines,
            chance,
            generation=request.generation,
            text=request.message,
        )
        names = ", ".join(self.members[index].name for index in chosen) or "nobody"
        folder.note(f"no speaker was named: the group's strategy chose {names}", kind=NoteKind.FALLBACK)
        return msgspec.structs.replace(self, speaker=chosen[0] if chosen else 0)

    def request_fields(self) -> dict[str, Any]:
        """The group as a request takes it."""
        fields = {name: getattr(self.settings, name) for name in self.settings.__struct_fields__}
        members = [{"card": member.card, "filename": member.stem} for member in self.members]
        return fields | {"members": members, "speaker": self.speaker}


def open_group(file: GroupFile, members: tuple[NamedCard, ...]) -> OpenGroup:
    """The group of a file; ``members`` are its cards in its order. Values of other types have their defaults."""
    muted = set(filter(lambda avatar: isinstance(avatar, str), list_of(file.raw.get("disabled_members"))))
    own: dict[str, Any] = {name: value for name in _NUMBERS if isinstance(value := file.raw.get(name), int)}
    own |= {field: value for name, field in _TEXTS.items() if isinstance(value := file.raw.get(name), str)}
    settings = GroupSettings(
        name=file.name,
        disabled=tuple(index for index, member in enumerate(members) if member.avatar in muted),
        allow_self_responses=bool(file.raw.get("allow_self_responses")),
        **own,
    )
    return OpenGroup(id=file.id, settings=settings, members=members)


def greet(
    folder: UserFolder, opened: OpenChat, group: OpenGroup, request: BuildRequest, chance: RandomStream
) -> OpenChat:
    """Begin a group chat: each member speaks one of its greetings, chosen at random, with its macros replaced."""
    from innkeeper.taverns.silly import substitute

    folder.note("there is no chat yet: each member greets", kind=NoteKind.FALLBACK, at="/".join(opened.parts))
    chat = opened.chat
    for index, member in enumerate(group.members):
        texts = [text for text in member.card.greetings() if text]
        if texts:
            speaking = msgspec.structs.replace(group, speaker=index)
            chosen = texts[int(chance.random() * len(texts))]
            (text,), _ = substitute(request.with_(group=speaking.request_fields()), [chosen])
            chat = chat.append(ChatMessage.create("assistant", text, name=member.name, avatar=member.avatar))
    return msgspec.structs.replace(opened, chat=chat)
