"""Small SillyTavern folders for tests: settings, cards, chats, books and groups as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from innkeeper.content import blank_png, embed_in_png
from innkeeper.content.character import Character
from tests.shared import VECTORS

__all__ = ["RECORDED", "book", "card", "chat", "folder", "group", "persona"]

RECORDED = VECTORS / "silly" / "folder" / "data"
"""A data folder that SillyTavern's server wrote."""


def folder(root: Path, **settings: Any) -> Path:
    """A user's folder with these settings, one card and nothing else."""
    for name in ("characters", "chats", "groups", "group chats", "worlds", "User Avatars"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "settings.json").write_text(json.dumps({"main_api": "openai", "username": "Ilse", **settings}))
    card(root, "Mira")
    return root


def card(root: Path, file: str, name: str | None = None, *, chat: str = "", **data: Any) -> None:
    """A card in the file of this name."""
    fields = {"name": name or file, "description": f"{name or file} keeps the inn.", "first_mes": "Come in!", **data}
    raw = {"spec": "chara_card_v2", "spec_version": "2.0", "data": fields, "chat": chat}
    image = embed_in_png(blank_png(2, 2), Character.of(raw), "both")
    (root / "characters" / f"{file}.png").write_bytes(image)


def chat(root: Path, file: str, name: str, *lines: str, where: str = "chats", **metadata: Any) -> None:
    """A chat of a card: what is said by turns, the character's first."""
    place = root / where / file
    place.mkdir(parents=True, exist_ok=True)
    said = [
        {"name": ("Mira", "Ilse")[index % 2], "is_user": bool(index % 2), "mes": text}
        for index, text in enumerate(lines)
    ]
    (place / f"{name}.jsonl").write_text("\n".join(map(json.dumps, [{"chat_metadata": metadata}, *said])))


def book(root: Path, name: str, text: str) -> None:
    """A lorebook with one entry that always counts."""
    entries = {"0": {"uid": 0, "key": [], "content": text, "constant": True, "order": 100, "position": 0}}
    (root / "worlds" / f"{name}.json").write_text(json.dumps({"entries": entries}))


def group(root: Path, file: str, name: str, *members: str, **fields: Any) -> None:
    """A group of these card files."""
    raw = {"id": file, "name": name, "members": list(members), "chat_id": "all", "chats": ["all"], **fields}
    (root / "groups" / f"{file}.json").write_text(json.dumps(raw))


def persona(root: Path, *files: str) -> None:
    """Pictures of personas."""
    for file in files:
        (root / "User Avatars" / file).write_bytes(b"")
