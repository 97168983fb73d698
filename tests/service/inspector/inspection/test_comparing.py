"""Two prompts side by side."""

from __future__ import annotations

from innkeeper.service.inspector.inspection.comparing import compared
from innkeeper.service.inspector.views.exchanges import CompareRequest
from innkeeper.service.inspector.views.workspace import SettingsChange, Variation
from tests.service.inspector.workspace.test_workspace import _edit, example

NOW = Variation()


def test_a_prompt_is_the_same_as_itself() -> None:
    """All of it is in a provider's cache."""
    found = compared(example(message="Hm?"), CompareRequest(NOW, NOW))
    assert found.same
    assert {pair.kind for pair in found.messages} == {"same"}
    assert found.verdicts == ()
    assert found.cache.broken_tokens <= 4  # the start of the reply belongs to no message
    assert found.tokens.a == found.tokens.b


def test_an_edit_breaks_the_cache_where_it_is() -> None:
    """What comes before is kept; the message that changed is one message."""
    workspace = example(message="Hm?")
    workspace.files["wenna.png"].apply(_edit("data", "personality"), "loud and quick")
    found = compared(workspace, CompareRequest(Variation(saved=True), NOW))
    changed = [pair for pair in found.messages if pair.kind != "same"]
    assert [pair.kind for pair in changed] == ["changed"]
    assert "loud and quick" in (changed[0].b or "")
    assert 0 < found.cache.common_tokens < found.tokens.b
    assert found.cache.common_tokens + found.cache.broken_tokens == found.tokens.b


def test_another_message_flips_verdicts() -> None:
    """Entries that one of both has are listed with both reasons."""
    other = Variation(settings=SettingsChange(message="The reef!", turn=1))
    found = compared(example(message="Hm?"), CompareRequest(NOW, other))
    assert [(pair.title, pair.a, pair.b) for pair in found.verdicts] == [("The Bell Reef", "no_match", "key")]
    kinds = [pair.kind for pair in found.messages]
    assert "removed" in kinds
    assert {pair.index_b for pair in found.messages if pair.kind == "removed"} == {None}
