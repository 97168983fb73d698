"""Effects on the chat: messages, lorebook entries, notes and descriptions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.taverns.risu.triggers.trigger_texts import CHAT, effect, outcome_of

LORE = ({"comment": "Pier", "key": "p", "content": "old", "insertorder": 5}, {"comment": "Light", "key": "l"})

OUTPUTS: dict[str, tuple[dict[str, Any], str]] = {
    "last": (effect("v2GetLastMessage"), "North, past the light."),
    "last of the user": (effect("v2GetLastUserMessage"), "Where is the pier?"),
    "last of the character": (effect("v2GetLastCharMessage"), "North, past the light."),
    "at an index": (effect("v2GetMessageAtIndex", index="0"), "Where is the pier?"),
    "at none": (effect("v2GetMessageAtIndex", index="-1"), "null"),
    "count": (effect("v2GetMessageCount"), "2"),
    "greeting": (effect("v2GetFirstMessage"), "Hello, {{user}}."),
    "search a word": (effect("v2QuickSearchChat", value="the", depth="1") | {"condition": "strict"}, "1"),
    "search a part": (effect("v2QuickSearchChat", value="PIER", depth="1") | {"condition": "loose"}, "0"),
    "search a pattern": (effect("v2QuickSearchChat", value="p.er", depth="0") | {"condition": "regex"}, "1"),
    "search at no depth": (effect("v2QuickSearchChat", value="the", depth="x") | {"condition": "strict"}, "0"),
    "tokens": (effect("v2Tokenize", value="12345"), "2"),
    "all entries": (effect("v2GetAllLorebooks"), '["old",null]'),
    "entries by name": (effect("v2GetLorebookByName", name="P|L"), "[0,1]"),
    "entry": (effect("v2GetLorebookByIndex", index="0"), "old"),
    "no entry": (effect("v2GetLorebookByIndex", index="7"), "null"),
    "entries": (effect("v2GetLorebookCountNew"), "2"),
    "an entry as it was": (effect("v2GetLorebook", target="Pier"), "null"),
    "author's note": (effect("v2GetAuthorNote"), "note"),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_effect_reads_the_chat(name: str) -> None:
    """The variable that it names has the result."""
    made, result = OUTPUTS[name]
    outcome = outcome_of(made | {"outputVar": "out"}, lorebook=LORE, author_note="note")
    assert (outcome.variables, outcome.lorebook) == ({"out": result}, None)


def test_messages_are_cut_added_and_changed() -> None:
    """An index outside the chat changes nothing."""
    outcome = outcome_of(
        effect("v2CutChat", start="-1", end="x"),
        effect("v2ModifyChat", index="0", value="new"),
        effect("v2ModifyChat", index="5", value="no"),
        effect("v2Impersonate", value="added") | {"role": "user"},
        effect("v2Impersonate", value="nobody") | {"role": "system"},
    )
    assert outcome.messages == ({"role": "char", "data": "new"}, {"role": "user", "data": "added"})
    assert CHAT[1]["data"] == "North, past the light."


def test_lorebook_entries_are_made_changed_and_removed() -> None:
    """``{{slot}}`` is what a field held; an order that is no number is 100, as for a new entry."""
    outcome = outcome_of(
        effect("v2CreateLorebook", name="New", key="k", content="c", insertOrder="x"),
        effect(
            "v2ModifyLorebookByIndex",
            index="0",
            name="{{slot}}!",
            key="q",
            content="[{{slot}}]",
            insertOrder="{{slot}}",
        ),
        effect("v2SetLorebookAlwaysActive", index="0") | {"value": True},
        effect("v2DeleteLorebookByIndex", index="1"),
        lorebook=LORE,
    )
    assert outcome.lorebook is not None
    assert [(entry["comment"], entry["insertorder"]) for entry in outcome.lorebook] == [("Pier!", 5), ("New", 100)]
    assert [outcome.lorebook[0][name] for name in ("key", "content", "alwaysActive")] == ["q", "[old]", True]


def test_texts_are_changed() -> None:
    """Macros read a changed description at once."""
    outcome = outcome_of(
        effect("v2SetCharacterDesc", value="tall"),
        effect("v2SetPersonaDesc", value="{{description}} too"),
        effect("v2SetReplaceGlobalNote", value="global"),
        effect("v2GetReplaceGlobalNote", outputVar="g"),
    )
    assert (outcome.description, outcome.persona, outcome.global_note) == ("tall", "tall too", "global")
    assert outcome.variables == {"g": "global"}


def test_prompts_are_added_and_counted() -> None:
    """Each text ends in an empty line; an unknown place has none."""
    outcome = outcome_of(
        effect("v2SystemPrompt", value="A") | {"location": "promptend"},
        effect("v2SystemPrompt", value="B") | {"location": "promptend"},
        effect("v2SystemPrompt", value="C") | {"location": "nowhere"},
    )
    assert outcome.prompts == {"start": "", "historyend": "", "promptend": "A\n\nB\n\n"}
    assert outcome.tokens == 2
