"""All that there is to say about the assets of one file."""

from __future__ import annotations

from innkeeper.content.character import Character
from innkeeper.content.lorebook import Lorebook
from innkeeper.taverns.silly.lint import lint_fields


def test_each_asset_is_looked_at() -> None:
    """The card's texts and scripts, books beside it and in it, a preset, a story string of settings."""
    entry = {"keys": ["a"], "content": "{{nonsense}}", "enabled": True, "insertion_order": 1, "extensions": {}}
    data = {"name": "C", "description": "{{nothing}}", "character_book": {"entries": [entry], "extensions": {}}}
    data["extensions"] = {"regex_scripts": [{"scriptName": "s", "findRegex": "/(/", "placement": [1]}]}
    card = Character.of({"spec": "chara_card_v2", "spec_version": "2.0", "data": data})
    book = Lorebook.of({"entries": {"0": {"uid": 0, "key": ["x"], "content": "{{nought}}"}}})
    story = {"text": {"context": {"story_string": "{{#if}}"}}}
    found = list(lint_fields({"character": card, "lorebooks": (book,), "settings": story}, None, None))
    told = " ".join(str(finding) for finding in found)
    for word in ("nothing", "nonsense", "nought", "regex_scripts", "story_string"):
        assert word in told


def test_there_is_nothing_to_say_about_nothing() -> None:
    """Without assets there are no findings."""
    assert list(lint_fields({}, None, None)) == []
