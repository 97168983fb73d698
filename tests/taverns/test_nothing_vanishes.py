"""What used to vanish: each case with the rule that it belongs to, and what is said or sent instead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from innkeeper.content.character import Character
from innkeeper.prompt import FormatError, InMemoryVariables, InnkeeperError, Plan, StrictModeError
from innkeeper.taverns import TAVERNS

FLAT: dict[str, Any] = {"name": "Mira", "description": "D"}
BOOK = {"name": "Sea", "entries": {"0": {"uid": 0, "key": ["reef"], "content": "A bell."}}}


def _told(plan: Plan) -> dict[str, str]:
    """Each input that a note is about, with the hint."""
    told: dict[str, str] = {}
    for note in (*plan.warnings, *plan.notes):
        name = note.data.get("input") or (note.where.path if note.where else None) or ""
        fields = [f"{name}.{each}" for each in note.data.get("fields", ())] or [name]
        told |= dict.fromkeys(fields, note.hint or "")
    return told


@dataclass(frozen=True)
class Case:
    """Inputs of a tavern: what is in the prompt, or what a note names, with a part of its hint."""

    name: str
    tavern: str
    inputs: dict[str, Any]
    texts: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    hint: str = ""


SEARCH_RESULT: dict[str, Any] = {
    "type": "search_result",
    "source": "https://example.com",
    "title": "Tides",
    "content": [{"type": "text", "text": "High at six."}],
}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
GROUPS: tuple[dict[str, Any], ...] = ({}, {"members": []})

CASES = [
    *(
        Case(
            f"flat cards keep fields of later versions, {tavern}",
            tavern,
            {"character": {**FLAT, "system_prompt": "SP", "post_history_instructions": "PHI"}},
            texts=("SP", "PHI"),
        )
        for tavern in ("vibe", "silly")
    ),
    *(
        Case(
            f"a flat card's own book, {tavern}",
            tavern,
            {"character": {**FLAT, "character_book": BOOK}, "message": "the reef"},
            texts=("A bell.",),
        )
        for tavern in ("silly", "smart")
    ),
    Case(
        "card texts without a place in smart",
        "smart",
        {"character": {**FLAT, "personality": "P", "scenario": "S", "system_prompt": "SP", "mes_example": "ME"}},
        named=("character.personality", "character.scenario", "character.system_prompt", "character.mes_example"),
    ),
    *(
        Case(
            f"a note at an interval of {interval} says when it comes",
            "silly",
            {"character": FLAT, "message": "hi", "authors_note": {"text": "AN", "interval": interval}},
            named=("authors_note.interval",),
        )
        for interval in (-1, 0, 5)
    ),
    Case(
        "prompts that no order lists",
        "silly",
        {"character": FLAT, "preset": {"prompts": [{"identifier": "own", "content": "OWN"}]}},
        named=("preset.prompts",),
    ),
    Case(
        "blocks of a provider in a text prompt",
        "silly",
        {"dialect": "text", "history": [{"role": "user", "content": [SEARCH_RESULT]}]},
        named=("history.parts",),
    ),
    Case(
        "a preset without prompts in smart",
        "smart",
        {"character": FLAT, "user": {"name": "Z", "description": "DD"}, "preset": {"temperature": 0.3}},
        texts=("D", "DD"),
    ),
    Case(
        "what the vibe tavern has no place for",
        "vibe",
        {
            "character": {
                **FLAT,
                "mes_example": "ME",
                "character_book": BOOK,
                "extensions": {"depth_prompt": {"prompt": "DP"}},
            }
        },
        named=("character.mes_example", "character.book", "character.extensions.depth_prompt"),
    ),
    Case(
        "what a message has beside its text in silly",
        "silly",
        {"history": [{"role": "user", "content": "x", "signature": "S", "reasoning": "R", "zzz": 1, "metadata": {"m": 1}}]},
        named=("history.signature", "history.reasoning", "history.zzz", "history.m"),
    ),
    *(
        Case(f"forced entries that nobody knows: {forced}", "silly", {"force_lore": forced, "lorebooks": [BOOK]},
             named=("force_lore",))
        for forced in (["nonexistent"], ["c"], [{"world": "L", "uid": 0}], "x", 5)
    ),
    Case("the nearest forced entry", "silly", {"force_lore": ["sea.0"], "lorebooks": [BOOK]},
         named=("force_lore",), hint="Sea.0"),
    *(
        Case(f"a lore state that is none: {state}", "silly", {"lore_state": state}, named=("lore_state",))
        for state in (5, "x", {"x": 1})
    ),
    Case("a note at a depth that there is not", "silly", {"authors_note": {"text": "AN", "depth": -3}},
         named=("authors_note.depth",)),
    *(
        Case(f"a group without members: {group}", "silly", {"group": group, "character": None}, named=("group",))
        for group in GROUPS
    ),
    *(
        Case(f"two texts for one persona, {tavern}", tavern, {"user": {"name": "Z", "persona": "PP", "description": "DD"}},
             texts=("DD",), named=("user.persona",))
        for tavern in ("vibe", "silly", "smart")
    ),
    *(
        Case(f"a misspelt key of a persona, {tavern}", tavern, {"user": {"name": "Z", "persna": "PP"}},
             named=("user.persna",), hint="persona")
        for tavern in ("vibe", "silly", "smart")
    ),
    *(
        Case(f"a book in nobody's words, {tavern}", tavern,
             {"lorebooks": [{"entries": {"0": {"keywords": ["reef"], "text": "A bell."}}}]},
             named=("lorebooks.entries.keywords", "lorebooks.entries.text"), hint="keys")
        for tavern in ("silly", "smart")
    ),
    *(
        Case(f"a greeting that there is not: {tavern}", tavern, {"character": {**FLAT, "first_mes": "Hi"}, "greeting": -5},
             named=("",))
        for tavern in ("silly", "smart")
    ),
    *(Case(f"provider, {tavern}", tavern, {"provider": "openai"}, named=("provider",)) for tavern in TAVERNS),
    *(Case(f"locale, {tavern}", tavern, {"locale": "de-DE"}, named=("locale",)) for tavern in TAVERNS),
    *(
        Case(f"a mark on a part of a message, {tavern}", tavern,
             {"history": [{"role": "user", "content": [{"type": "text", "text": "T", "cache_control": {"type": "ephemeral"}}]}]},
             texts=("T",))
        for tavern in ("vibe", "smart", "template")
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_is_sent_or_named(case: Case) -> None:
    """A text is in the prompt, or a note names the field, with the nearest name where it is misspelt."""
    plan = TAVERNS[case.tavern].build({"character": FLAT, "message": "Hi", **case.inputs})
    sent = "\n".join(message.content for message in plan.messages)
    told = _told(plan)
    assert [text for text in case.texts if text not in sent] == []
    assert [name for name in case.named if name not in told] == []
    assert case.hint in " ".join(told.values())


@pytest.mark.parametrize("role", ["usr", "narrator", "wizard"])
@pytest.mark.parametrize("tavern", TAVERNS)
def test_an_unknown_role_is_the_users_everywhere(tavern: str, role: str) -> None:
    """It is a warning, and the message is the user's in every tavern."""
    plan = TAVERNS[tavern].build(history=[{"role": role, "content": "Ahoy"}])
    assert [message.role for message in plan.messages if message.content == "Ahoy"] == ["user"]
    assert [str(note.where) for note in plan.warnings if role in note.message] == ["history: [0].role"]
    with pytest.raises(InnkeeperError, match=role):
        TAVERNS[tavern].build(history=[{"role": role, "content": "Ahoy"}], strict=True)


@pytest.mark.parametrize(("role", "meaning"), [("developer", "system"), ("model", "assistant")])
@pytest.mark.parametrize("tavern", TAVERNS)
def test_a_foreign_role_means_the_same_everywhere(tavern: str, role: str, meaning: str) -> None:
    """What other providers call system and assistant is that, without a warning."""
    plan = TAVERNS[tavern].build(character="Ann", history=[{"role": role, "content": "Ahoy"}])
    assert [message.role for message in plan.messages if message.content == "Ahoy"] == [meaning]
    assert plan.warnings == ()


@pytest.mark.parametrize("tavern", TAVERNS)
def test_a_window_of_nothing_is_no_limit_everywhere(tavern: str) -> None:
    """A window of 0 evicts nothing, whatever the tavern's own is."""
    history = [{"role": "user", "content": "reef " * 500}] * 40
    plan = TAVERNS[tavern].build(character=FLAT, history=history, message="Hi", context_window=0)
    assert sum(message.content.count("reef") for message in plan.messages) >= 20_000


@pytest.mark.parametrize("tavern", TAVERNS)
def test_an_unknown_dialect_is_refused_by_the_build(tavern: str) -> None:
    """It is refused where it is given, with the nearest name."""
    with pytest.raises(InnkeeperError, match="opnai") as caught:
        TAVERNS[tavern].build(message="Hi", dialect="opnai")
    assert "openai" in (caught.value.hint or "")


@pytest.mark.parametrize("group", [5, "x", [], {"members": 5}, {"members": "Ann"}], ids=str)
def test_a_group_of_a_wrong_type_is_refused(group: Any) -> None:
    """The error is of what was given, with its place."""
    with pytest.raises(InnkeeperError, match="group") as caught:
        TAVERNS["silly"].build(group=group)
    assert caught.value.exit_code not in {1, 70}


@pytest.mark.parametrize(
    "given",
    [
        [{"id": "a", "content": "old"}, {"id": "a", "content": "fresh", "position": "chat"}],
        {"a": {"content": "fresh", "position": "chat"}},
        {"a": {"value": "fresh", "position": 1}},
        {"id": "a", "content": "fresh", "position": "chat"},
    ],
    ids=["twice", "by id", "as SillyTavern saves them", "one"],
)
def test_injections_are_by_id(given: Any) -> None:
    """Registering replaces: of two with one id the last counts; a mapping has the ids as keys."""
    texts = [message.content for message in TAVERNS["silly"].build(character=FLAT, injections=given).messages]
    assert sum("fresh" in text for text in texts) == 1
    assert not any("old" in text for text in texts)


def test_a_misspelt_key_of_an_injection_is_refused() -> None:
    """As it is by the registry, with the nearest."""
    with pytest.raises(FormatError, match="dept") as caught:
        TAVERNS["silly"].build(injections=[{"id": "a", "content": "x", "dept": 3}])
    assert "depth" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("tools", "said"),
    [([{"name": "look"}, {"name": "look"}], "look"), ([{"name": "look around"}], "look around")],
    ids=["twice", "blanks"],
)
def test_names_of_tools_are_looked_at(tools: list[dict[str, Any]], said: str) -> None:
    """Two of one name, and names that providers refuse, are warnings."""
    assert [said in note.message for note in TAVERNS["vibe"].build(message="Hi", tools=tools).warnings] == [True]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("{{random::a::b}} {{pick::x,y}} {{roll::1d6}} {{roll 2d6}}", r"[ab] [xy] \d \d+"),
        ("{{setvar::n::3}}{{getvar::n}} <USER> <bot>", "3 Bob Mira"),
    ],
)
@pytest.mark.parametrize("where", ["card", "preset", "book"])
def test_smart_reads_macros_of_sillytavern(where: str, written: str, meant: str) -> None:
    """Macros of its cards, presets and books mean in smart what they mean there."""
    prompt = {"identifier": "main", "content": written, "system_prompt": True}
    fields: dict[str, dict[str, Any]] = {
        "card": {"character": {**FLAT, "description": written}},
        "preset": {"character": FLAT, "preset": {"prompts": [prompt]}},
        "book": {
            "character": FLAT,
            "lorebooks": [{"entries": [{"keys": ["hi"], "content": written, "constant": True}]}],
        },
    }
    plan = TAVERNS["smart"].build(user="Bob", message="Hi", **fields[where])
    assert [message for message in plan.messages if re.fullmatch(meant, message.content)]
    assert [note for note in plan.warnings if "macro" in note.message] == []


@pytest.mark.parametrize(
    ("before", "more", "after"), [(None, 2, 2), (None, "a", "a"), (True, 2, "true2"), ("a", 2, "a2")], ids=str
)
def test_adding_to_what_is_no_number(before: Any, more: Any, after: Any) -> None:
    """Null counts as absent; what is no number is text."""
    store = InMemoryVariables({"local": {"n": before}})
    assert store.add("n", more) == after


def test_a_name_and_one_text_make_a_card() -> None:
    """A name and any text of a card are one."""
    assert Character.of({"name": "M", "system_prompt": "SP"}).system_prompt == "SP"


@pytest.mark.parametrize("tavern", ["silly", "smart", "vibe", "risu"])
@pytest.mark.parametrize("dialect", ["openai", "text"])
def test_what_does_not_fit_is_a_note(tavern: str, dialect: str) -> None:
    """In every tavern, whoever chose what is left out: one note, and none where all of it is sent."""
    history = [{"role": ("assistant", "user")[at % 2], "content": f"{at} " + "fog " * 30} for at in range(40)]
    for window, count in ((700, 1), (16_000, 0)):
        fields: dict[str, Any] = {"message": "x", "history": history, "context_window": window, "reserved_tokens": 77}
        plan = TAVERNS[tavern].build(model="gpt-4o", dialect=dialect, **fields)
        assert sum("left out" in note.message for note in plan.notes) == count


@pytest.mark.parametrize("tavern", ["silly", "smart", "vibe", "risu"])
def test_an_unknown_macro_is_a_warning(tavern: str) -> None:
    """It stays in the text as it is, with a warning, or a note where no macro runs; in strict mode a warning is an error."""
    fields: dict[str, Any] = {"character": {"name": "Mara", "description": "Before {{nosuch::x}}."}, "message": "x"}
    plan = TAVERNS[tavern].build(**fields)
    assert "{{nosuch::x}}" in "".join(message.content for message in plan.messages)
    assert any("nosuch" in note.message for note in (*plan.warnings, *plan.notes))
    if plan.warnings:
        with pytest.raises(StrictModeError):
            TAVERNS[tavern].build(strict=True, **fields)


@pytest.mark.parametrize("tavern", ["vibe", "silly", "smart", "template"])
def test_parts_are_an_ordered_list_to_the_end(tavern: str) -> None:
    """Texts stay between their pictures, marks and blocks of a provider where they stood, in every tavern."""
    mark = {"cache_control": {"type": "ephemeral"}}
    content = [
        {"type": "text", "text": "First:"},
        PICTURE,
        {"type": "text", "text": "Second:", **mark},
        PICTURE,
        SEARCH_RESULT,
    ]
    asked: dict[str, Any] = {
        "character": FLAT,
        "history": [{"role": "user", "content": content}, {"role": "assistant", "content": "Yes."}],
    }
    plan = TAVERNS[tavern].build(**asked, model="claude-sonnet-4-5", dialect="anthropic")
    sent = next(each["content"] for each in plan.to_request("anthropic").body["messages"] if each["role"] == "user")
    assert [part["type"] for part in sent] == ["text", "image", "text", "image", "search_result"]
    assert [part.get("text") for part in sent[:3:2]] == ["First:", "Second:"]
    assert sent[2]["cache_control"] == mark["cache_control"]
    others = plan.to_request("openai")
    assert [part["type"] for part in others.body["messages"][-2]["content"]] == [
        "text",
        "image_url",
        "text",
        "image_url",
    ]
    assert any("search_result" in note.message for note in others.notes)


@pytest.mark.parametrize(("field", "name"), [("position", "nowhere"), ("role", "boss")])
def test_a_name_that_a_note_does_not_have(field: str, name: str) -> None:
    """The error says which field of the note it is, and the nearest names."""
    with pytest.raises(InnkeeperError, match=f"unknown {field} '{name}'") as caught:
        TAVERNS["silly"].build(character=FLAT, message="hi", authors_note={"text": "AN", field: name})
    assert caught.value.where is not None
    assert caught.value.where.path == f"authors_note.{field}"


def test_a_warning_names_card_field_and_entry_once() -> None:
    """Among many texts the one with an unknown macro is found: its asset, field and entry, line and column, in one warning."""
    book = {"name": "Sea", "entries": {"0": {"uid": 7, "key": ["reef"], "content": "A bell.\n{{nopeB}}"}}}
    card = {**FLAT, "description": "D {{nopeA}}"}
    plan = TAVERNS["silly"].build(character=card, lorebooks=[book], message="the reef")
    assert [(warning.message, str(warning.where)) for warning in plan.warnings] == [
        ("there is no macro {{nopeA}}", "Mira:1:3: description"),
        ("there is no macro {{nopeB}}", "Sea:2:1: entries[7].content"),
    ]
