"""ChatInputs: the keywords by which a program says who talks, and the request that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, TypeAlias, TypedDict

from innkeeper.content.character import Character
from innkeeper.content.files.loading import load_character, load_lorebook, load_persona, load_preset
from innkeeper.content.lorebook import Lorebook
from innkeeper.content.persona import Persona
from innkeeper.content.preset import Preset
from innkeeper.prompt import BuildRequest
from innkeeper.prompt.errors import UnknownNameError

File: TypeAlias = str | PathLike[str]

Card: TypeAlias = Character | Mapping[str, Any] | File
"""A character: a card, its fields, or its file."""


class ChatInputs(TypedDict, total=False):
    """What a chat is made of beside its card.

    ``persona`` is the user. ``lorebooks`` stand beside the card's own. ``settings`` are the tavern's, which is ``silly`` where
    neither ``tavern`` nor ``request`` says otherwise. ``request`` has every other input of a build.
    """

    persona: Persona | Mapping[str, Any] | File
    lorebooks: Sequence[Lorebook | Mapping[str, Any] | File]
    preset: Preset | Mapping[str, Any] | File
    tavern: str
    settings: Mapping[str, Any]
    request: BuildRequest | Mapping[str, Any]


def chat_request(card: Card | Sequence[Card] | None, inputs: ChatInputs) -> BuildRequest:
    """Return the request that all turns of a chat have in common; several cards are a group.

    Raises `UnknownNameError` for a keyword that there is not, and what reading a file raises.
    """
    unknown = sorted(inputs.keys() - ChatInputs.__annotations__.keys())
    if unknown:
        raise UnknownNameError("input of a chat", unknown[0], ChatInputs.__annotations__)
    fields: dict[str, Any] = {name: inputs[name] for name in ("tavern", "settings") if name in inputs}
    if "persona" in inputs:
        fields["user"] = _read(inputs["persona"], load_persona)
    if "preset" in inputs:
        fields["preset"] = _read(inputs["preset"], load_preset)
    if "lorebooks" in inputs:
        fields["lorebooks"] = tuple(_read(book, load_lorebook) for book in inputs["lorebooks"])
    if isinstance(card, (list, tuple)):
        fields["group"] = {"members": [_read(one, load_character) for one in card]}
    elif card is not None:
        fields["character"] = _read(card, load_character)
    base = BuildRequest.of(inputs["request"]) if "request" in inputs else BuildRequest(tavern="silly")
    return base.with_(**fields)


def _read(value: Any, load: Callable[[File], Any]) -> Any:
    """Return an asset, read from its file where a path is given."""
    return load(value) if isinstance(value, (str, PathLike)) else value
