"""What kind of document JSON is, by its keys."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.json.kinds import JSON_KINDS, kind_of_json

KINDS: list[tuple[str, Any]] = [
    ("character", {"spec": "chara_card_v3"}),
    ("character", {"data": {"name": "Mira", "first_mes": "Hi"}}),
    ("character", {"name": "Mira", "description": "A clockmaker.", "personality": "calm"}),
    ("character", {"char_name": "Mira", "char_greeting": "Hi"}),
    ("character", {"name": "Mira", "message": ["Hi"], "type": "sandbox"}),
    ("byaf character", {"persona": "", "loreItems": [], "displayName": "Mira"}),
    ("byaf manifest", {"characters": [], "scenarios": [], "schemaVersion": 1}),
    ("lorebook", {"entries": {}}),
    ("lorebook", {"spec": "lorebook_v3"}),
    ("lorebook", {"type": "risu", "data": []}),
    ("master export", {"instruct": {}, "context": {}}),
    ("chat header", {"user_name": "Ann", "character_name": "Mira"}),
    ("chat message", {"mes": "Hi", "is_user": False}),
    ("chat preset", {"prompt_order": []}),
    ("instruct template", {"input_sequence": "", "output_sequence": ""}),
    ("context template", {"story_string": ""}),
    ("reasoning template", {"prefix": "", "suffix": "", "separator": ""}),
    ("text preset", {"temp": 1, "top_p": 1, "top_k": 0}),
    ("tavernkit preset", {"tavernkit_preset_version": 1}),
    ("system prompt", {"name": "Plain", "content": "Write."}),
    ("persona", {"name": "Ann", "description": ""}),
    ("persona", {"personas": {}}),
    ("chat", {"messages": []}),
    ("chat", [{"role": "user"}]),
    ("chat", [None, {"mes": "Hi"}]),
    ("lorebook", [{"keys": []}]),
    ("unknown", [{"name": "Mira"}]),
    ("unknown", {"name": "Mira", "description": 1, "data": {}}),
    ("unknown", {"instruct": "", "context": []}),
    ("unknown", {"spec": "something else", "name": "Mira", "description": "x"}),
]


@pytest.mark.parametrize(("kind", "tree"), KINDS)
def test_a_kind_is_known_by_its_keys(kind: str, tree: Any) -> None:
    """The first kind whose test holds counts, and what none of them knows is unknown."""
    assert kind_of_json(tree) == kind


def test_every_kind_has_an_example_here() -> None:
    """No kind is without a document that is of it."""
    assert {kind for kind, _ in KINDS} == {*JSON_KINDS, "unknown"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["spec", "data", "name", "message", "entries", "type", "personas", "messages", "char_name"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=6,
)


@given(JSON)
def test_any_tree_has_a_kind(tree: Any) -> None:
    """Whatever stands under the keys, a document is of a known kind or unknown."""
    assert kind_of_json(tree) in {*JSON_KINDS, "unknown"}
