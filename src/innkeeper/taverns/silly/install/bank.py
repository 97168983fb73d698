"""The data bank of a folder: files for all chats, for one, or for a character, with their texts, for the vector storage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from innkeeper.taverns.silly.install.files import UserFolder
from innkeeper.taverns.silly.install.json_values import list_of, mapping_of, text_of
from innkeeper.taverns.silly.install.names import CardFile
from innkeeper.taverns.silly.install.selected import Selected

__all__ = ["data_bank"]


def data_bank(
    folder: UserFolder, selected: Selected, metadata: Mapping[str, Any], card: CardFile | None
) -> dict[str, Any]:
    """The setting ``attachments``, each file with its text; nothing where the vector storage does not search files.

    Those of all chats come first, then the chat's, then the character's, without those that are switched off.
    """
    if "vectors" in selected.disabled or not mapping_of(selected.extensions, "vectors").get("enabled_files"):
        return {}
    off = set(map(text_of, list_of(selected.extensions.get("disabled_attachments"))))
    files = [file for file in _listed(selected, metadata, card) if text_of(file.get("url")) not in off]
    return (
        {"attachments": [{**file, "text": _text(folder, text_of(file.get("url")))} for file in files]} if files else {}
    )


def _listed(selected: Selected, metadata: Mapping[str, Any], card: CardFile | None) -> Iterator[Mapping[str, Any]]:
    of_character = mapping_of(selected.extensions, "character_attachments").get(card.avatar) if card else None
    for files in (selected.extensions.get("attachments"), metadata.get("attachments"), of_character):
        yield from filter(None, map(mapping_of, list_of(files)))


def _text(folder: UserFolder, url: str) -> str | None:
    """The text behind an address such as ``/user/files/NAME``; ``None`` where there is none."""
    data = folder.media(url)
    return None if data is None else data.decode("utf-8-sig", errors="replace")
