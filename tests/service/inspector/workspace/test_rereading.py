"""What is read again after an edit is what reading all would give."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.files.formats import open_card
from innkeeper.content.json import ABSENT
from innkeeper.prompt.errors import InnkeeperError
from innkeeper.service.inspector.workspace.edits import edited, plain
from innkeeper.service.inspector.workspace.rereading import read_tree, reread
from tests.service.inspector.opened import EXAMPLES

BOOK = json.loads((EXAMPLES / "larks.lorebook.json").read_text())
CARD = open_card((EXAMPLES / "wenna.png").read_bytes()).character.document.tree
LINES = [json.loads(line) for line in (EXAMPLES / "wenna.chat.jsonl").read_text().splitlines()]
TREES = {"lorebook": BOOK, "character": CARD, "chat": {"header": LINES[0], "messages": LINES[1:]}}

VALUES = (
    st.none() | st.booleans() | st.integers(-3, 300) | st.text(max_size=5) | st.lists(st.text(max_size=3), max_size=3)
)


def paths(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a tree."""
    items: list[tuple[Any, Any]] = []
    if isinstance(tree, dict):
        items = list(tree.items())
    elif isinstance(tree, list):
        items = list(enumerate(tree))
    return [path, *(place for key, item in items for place in paths(item, (*path, key)))]


def facts(asset: Any) -> Any:
    """What is built of an asset."""
    if asset is None:
        return None
    book = getattr(asset, "book", asset if hasattr(asset, "entries") else None)
    findings = sorted(str(finding) for finding in asset.findings)
    own = {name: getattr(asset, name) for name in asset.__struct_fields__}
    apart = ("document", "findings", "raw", "book", "entries", "data", "header_data", "is_lines", "messages")
    entries = None if book is None else [msgspec.structs.astuple(entry) for entry in book.entries]
    messages = [(one.role, one.text, one.name, one.raw) for one in getattr(asset, "messages", ())]
    return {name: value for name, value in own.items() if name not in apart}, entries, messages, set(findings)


def result(read: Any) -> Any:
    """What is read, or the kind of error."""
    try:
        return facts(read())
    except InnkeeperError as error:
        return error.kind


@pytest.mark.parametrize("kind", TREES)
@given(data=st.data())
def test_it_is_the_same_as_reading_all(kind: str, data: st.DataObject) -> None:
    """Whatever is changed, and wherever, in three steps."""
    tree = TREES[kind]
    asset = read_tree(kind, tree)
    for _ in range(3):
        path = data.draw(st.sampled_from(paths(tree)))
        value = plain(data.draw(VALUES | st.just({"content": "new", "keys": ["k"], "key": ["k"]})))
        if path and data.draw(st.booleans()) and data.draw(st.booleans()):
            value = ABSENT
        if not path:
            continue
        tree = edited(tree, path, value)
        changed = path[:-1] if value is ABSENT else path
        assert result(lambda: reread(kind, asset, tree, changed)) == result(lambda: read_tree(kind, tree))  # noqa: B023
        try:
            asset = reread(kind, asset, tree, changed)
        except InnkeeperError:
            asset = None


def test_entries_that_did_not_change_are_the_same_objects() -> None:
    """A keystroke in one entry costs that entry, and messages that did not change stay, too."""
    before = read_tree("lorebook", BOOK)
    tree = edited(BOOK, ("entries", "1", "content"), "new")
    after = reread("lorebook", before, tree, ("entries", "1", "content"))
    assert sum(one is not other for one, other in zip(before.entries, after.entries, strict=True)) == 1
    chat = read_tree("chat", TREES["chat"])
    again = reread("chat", chat, edited(TREES["chat"], ("messages", 0, "mes"), "new"), ("messages", 0, "mes"))
    assert [one is other for one, other in zip(chat.messages, again.messages, strict=True)] == [False, True, True]
    card = read_tree("character", CARD)
    named = reread("character", card, edited(CARD, ("data", "name"), "Other"), ("data", "name"))
    assert named.name == "Other"
    assert named.book.entries is card.book.entries
