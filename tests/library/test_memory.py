"""Memory: how far each tier reaches, and what a conversation's own facts add."""

from innkeeper.library.memory import SCOPES, MemoryRow, reach, remembered
from innkeeper.library.rows import ConversationRow
from innkeeper.prompt.data import freeze


def test_each_tier_reaches_as_far_as_those_before_it() -> None:
    """The nearest scope comes first, and each tier has all that are nearer."""
    assert [reach(scope) for scope in SCOPES] == [SCOPES[:1], SCOPES[:2], SCOPES]


def conversation(facts: object) -> ConversationRow:
    """A conversation that keeps these facts."""
    return ConversationRow(id="c", memory_data=freeze({"key_facts": facts}))


def test_key_facts_of_the_document() -> None:
    """What a conversation keeps under ``key_facts`` is remembered too, each text once; anything else there is nothing."""
    rows = [
        MemoryRow(id=text, scope="profile", content=text, content_sha256="", created_at="", updated_at="")
        for text in ("likes tea", "has a cat")
    ]
    assert remembered(conversation(["has a cat", "sails", 7, " "]), rows) == (
        "likes tea",
        "has a cat",
        "sails",
    )
    assert remembered(conversation({"a": 1}), []) == ()
