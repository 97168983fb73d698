"""TextLocator: a warning about a macro names asset, field, entry, line and column, once, in every tavern that has macros."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import Plan, StrictModeError, Where
from innkeeper.taverns import silly, smart

CARD = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Mara", "description": "A keeper."}}


def book(name: str, content: str, uid: int = 5) -> dict[str, Any]:
    """A book of SillyTavern's with one entry, which is always active."""
    entry = {"uid": uid, "key": [], "constant": True, "content": content, "comment": "", "disable": False}
    return {"name": name, "entries": {str(uid): entry}}


def card(**fields: Any) -> dict[str, Any]:
    """A card with these fields."""
    return {**CARD, "data": {**CARD["data"], **fields}}  # type: ignore[dict-item]


RELATIVE = {"enabled": True, "position": "relative"}
CHAT = {**RELATIVE, "identifier": "chatHistory"}
OWN_ENTRY = {"id": 7, "keys": [], "constant": True, "enabled": True, "insertion_order": 1, "extensions": {}}
OWN_BOOK = {"name": "Docks", "entries": [{**OWN_ENTRY, "content": "a {{nope}}"}]}


@dataclass(frozen=True)
class Case:
    """Inputs with one unknown macro, and where it is."""

    name: str
    inputs: dict[str, Any]
    asset: str
    path: str | None
    taverns: tuple[Any, ...] = (silly, smart)
    line: int = 1
    column: int = 3


CASES = [
    Case("field", {"character": card(description="a {{nope}}")}, "Mara", "description"),
    Case("line", {"character": card(description="a\n\n  b {{nope}}")}, "Mara", "description", line=3, column=5),
    Case("example", {"character": card(mes_example="a {{nope}}")}, "Mara", "mes_example", taverns=(silly,)),
    Case("persona", {"user": {"name": "Zoe", "description": "a {{nope}}"}}, "user", "description"),
    Case("message", {"message": "a {{nope}}"}, "message", None),
    Case("history", {"history": [{"role": "user", "content": "a {{nope}}"}]}, "history", "[0].content"),
    Case("note", {"authors_note": "a {{nope}}"}, "authors_note", None, taverns=(silly,)),
    Case("entry", {"lorebooks": [book("Barrels", "a {{nope}}")]}, "Barrels", "entries[5].content"),
    Case("second book", {"lorebooks": [book("A", "none"), book("B", "a {{nope}}")]}, "B", "entries[5].content"),
    Case(
        "embedded book",
        {"character": card(character_book=OWN_BOOK)},
        "Docks",
        "entries[7].content",
    ),
    Case("preset", {"preset": {"new_chat_prompt": "a {{nope}}"}}, "preset", "new_chat_prompt", taverns=(silly,)),
    Case(
        "prompt",
        {"preset": {"prompts": [{**RELATIVE, "identifier": "main", "content": "a {{nope}}"}, CHAT], "regex_rules": []}},
        "preset",
        "prompts[main].content",
        taverns=(smart,),
    ),
]


def each() -> Iterator[Any]:
    """Each case in each tavern that it is for."""
    for case in CASES:
        for tavern in case.taverns:
            yield pytest.param(case, tavern, id=f"{case.name}, {tavern.__name__.rpartition('.')[2]}")


def built(tavern: Any, inputs: dict[str, Any], **more: Any) -> Plan:
    """A build of these inputs."""
    usual = {"character": CARD, "user": "Zoe", "message": "Hi."}
    plan: Plan = tavern.build(**{**usual, **inputs, **more})
    return plan


@pytest.mark.parametrize(("case", "tavern"), list(each()))
def test_place(case: Case, tavern: Any) -> None:
    """The one warning names the place, and so does the error of a strict build."""
    (warning,) = [note for note in built(tavern, case.inputs).warnings if "nope" in note.message]
    assert place(warning.where) == (case.asset, case.path, case.line, case.column)
    with pytest.raises(StrictModeError, match="nope") as caught:
        built(tavern, case.inputs, strict=True)
    assert caught.value.where == warning.where


def place(where: Where | None) -> tuple[Any, ...]:
    """What a warning says about where."""
    assert where is not None
    return where.asset, where.path, where.line, where.column


@pytest.mark.parametrize("tavern", [silly, smart], ids=["silly", "smart"])
@given(
    st.lists(st.sampled_from(["a {{nope}}", "a {{other}}", "plain {{char}}", "a\n{{nope}} b {{other}}"]), max_size=4)
)
def test_each_once(tavern: Any, contents: list[str]) -> None:
    """Each macro of each entry of each book has one warning, however alike the books are."""
    books = [book(f"Book {index}", content, index) for index, content in enumerate(contents)]
    warnings = [note for note in built(tavern, {"lorebooks": books}).warnings if "no macro" in note.message]
    places = [place(note.where) for note in warnings]
    assert len(set(places)) == len(places) == sum(text.count("{{nope") + text.count("{{other") for text in contents)
    assert {asset for asset, *_ in places} == {b["name"] for b in books if "nope" in str(b) or "other" in str(b)}
