"""Plan: blocks in order, what is sent, and its fingerprint."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt import (
    Attachment,
    Block,
    FrozenDict,
    InsertionPoint,
    Note,
    NoteKind,
    Origin,
    Piece,
    Plan,
    ReplayError,
    Tool,
    UnknownNameError,
    UsageError,
)
from tests.prompt.doubles import BARE, Bare, plan_of


def _chat(content: str, *, depth: int = 4, role: str = "system", **fields: Any) -> Block:
    return Block(role=role, content=content, insertion_point=InsertionPoint.IN_CHAT, depth=depth, **fields)


def _system(content: str, **fields: Any) -> Block:
    return Block(role="system", content=content, **fields)


@dataclass(frozen=True)
class SentCase:
    id: str
    blocks: tuple[Block, ...]
    sent: list[str]
    options: dict[str, Any] = field(default_factory=dict)


IMAGE = (Attachment("image", url="u"),)
SENT = [
    SentCase("disabled-are-left-out", (_system("a"), _system("b", enabled=False)), ["a"]),
    SentCase("relative-blocks-stay-apart", (_system("a"), _system("b")), ["a", "b"]),
    SentCase("in-chat-of-one-place-join", (_chat(" a "), _chat("\nb"), _chat("c")), ["a\nb\nc"]),
    SentCase("empty-ones-leave-no-line", (_chat("a"), _chat("  "), _chat("c")), ["a\nc"]),
    SentCase("other-depth", (_chat("a"), _chat("b", depth=3)), ["a", "b"]),
    SentCase("other-role", (_chat("a"), _chat("b", role="user")), ["a", "b"]),
    SentCase("other-order", (_chat("a"), _chat("b", order=5)), ["a", "b"]),
    SentCase("not-adjacent", (_chat("a"), _system("x"), _chat("b")), ["a", "x", "b"]),
    SentCase("joins-over-disabled", (_chat("a"), _system("x", enabled=False), _chat("b")), ["a\nb"]),
    SentCase("with-attachments", (_chat("a"), _chat("b", attachments=IMAGE)), ["a", "b"]),
    SentCase("with-metadata", (_chat("a"), _chat("b", message_metadata=FrozenDict(x=1))), ["a", "b"]),
    SentCase("squash", (_system("a"), _system(""), _system(" b"), Block(role="user", content="u"), _system("c")),
             ["a\n b", "u", "c"], {"squash": True}),
    SentCase("squash-keeps-named", (_system("a"), _system("b", name="n"), _system("c")), ["a", "b", "c"], {"squash": True}),
    SentCase("squash-keeps-media", (_system("a"), _system("", attachments=IMAGE)), ["a", ""], {"squash": True}),
    SentCase("squash-keeps-apart", (_system("a"), _system("b", slot="new_chat"), _system("c")), ["a", "b", "c"],
             {"squash": True, "keep_apart": lambda block: block.slot == "new_chat"}),
]  # fmt: skip


@pytest.mark.parametrize("case", SENT, ids=lambda case: case.id)
def test_what_is_sent(case: SentCase) -> None:
    """Adjacent in-chat blocks of one role, depth and order are one message; squashing joins plain system blocks (§3.4)."""
    plan = Plan(blocks=case.blocks)
    assert [block.content for block in plan.sent_blocks(**case.options)] == case.sent


def test_a_joined_block_keeps_the_firsts_fields() -> None:
    """Its name, id and slot are those of the first."""
    first = _chat("a", id="one", name="n", slot="s").with_(name="n")
    assert Plan(blocks=(first, _chat("b", id="two"))).sent_blocks() == (first.with_(content="a\nb"),)


ORIGINS = st.sampled_from([Origin("note"), Origin("lore", entry="3"), Origin("persona")])
RUNS = st.lists(st.builds(Piece, st.text(alphabet=" \nab", max_size=4), ORIGINS), max_size=3)


@st.composite
def _blocks(draw: st.DrawFn) -> Block:
    pieces = tuple(draw(RUNS))
    text = "".join(piece.text for piece in pieces)
    block: Block = draw(st.sampled_from([_chat, _system]))(text)
    return block.with_(pieces=pieces if draw(st.booleans()) else (), origin=draw(st.none() | ORIGINS))


@given(st.lists(_blocks(), max_size=5), st.booleans())
def test_joining_keeps_every_origin(blocks: list[Block], squash: bool) -> None:
    """Every range of a sent block equals its slice, and no text is without an origin that some block has."""
    for block in Plan(blocks=tuple(blocks)).sent_blocks(squash=squash):
        assert "".join(piece.text for piece in block.ranges()) == block.content
        known = {piece.origin for other in blocks for piece in other.ranges()} | {
            Origin("engine", "separator"),
            Origin("unknown"),
        }
        assert {piece.origin for piece in block.ranges()} <= known


def test_joined_text_says_where_it_came_from() -> None:
    """An injected note and a lore entry in one message are still told apart."""
    plan = Plan(blocks=(_chat(" note", origin=Origin("note")), _chat("lore ", origin=Origin("book", entry="3"))))
    (sent,) = plan.sent_blocks()
    assert [(piece.text, str(piece.origin)) for piece in sent.pieces] == [
        ("note", "note"),
        ("\n", "engine.separator"),
        ("lore", "book[3]"),
    ]


def test_blocks_without_an_id_get_one_from_their_place() -> None:
    """Equal plans have equal ids, and no two blocks of a plan have the same one."""
    plan = plan_of("a", "b")
    assert [block.id for block in plan.blocks] == ["user-0", "user-1"]
    grown = plan.insert_before("nowhere", Block(role="user", content="c")).with_blocks(
        (Block(role="user", content="d"), *plan.blocks)
    )
    ids = [block.id for block in grown.blocks]
    assert len(set(ids)) == len(ids)
    assert ids[1:] == ["user-0", "user-1"]


def test_blocks_are_placed_by_slot() -> None:
    """Before the first of a slot, after the last, at the end where the slot is missing (§3.4)."""
    a, b, c, new = (Block(role="user", content=text, slot=slot) for text, slot in ("ax", "bs", "cs", "n-"))
    plan = Plan(blocks=(a, b, c))
    for grown, order in (
        (plan.insert_before("s", new), "anbc"),
        (plan.insert_after("s", new), "abcn"),
        (plan.insert_after("x", new), "anbc"),
        (plan.insert_before("nothing", new), "abcn"),
        (plan.append(new), "abcn"),
    ):
        assert "".join(block.content for block in grown.blocks) == order
    assert len(plan.blocks) == 3


def test_only_blocks_are_placed() -> None:
    """Anything else is a usage error; so is an unknown field."""
    with pytest.raises(UsageError, match="holds Block values, not text"):
        plan_of().append("x")  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        plan_of().with_(colour="red")


def test_a_plan_cannot_be_changed() -> None:
    """Nobody rewrites a prompt after its plan."""
    with pytest.raises(AttributeError):
        plan_of("a").blocks = ()  # type: ignore[misc]


def test_rendering_uses_the_plans_dialect_and_registry() -> None:
    """The plan's own dialects, or those of the call; an empty registry is not the default one."""
    plan = plan_of("a", dialect="openai")
    assert plan.to_messages() == [{"role": "user", "content": "a"}]
    with pytest.raises(UnknownNameError):
        plan.to_messages("nothing")
    with pytest.raises(UnknownNameError):
        plan.to_messages(dialects=type(BARE)())


def test_system_messages_are_squashed_on_request() -> None:
    """B12: the option of `to_messages` reaches the messages."""
    plan = Plan(blocks=(_system("a"), _system("b")), dialects=BARE)
    assert len(plan.to_messages()) == 2
    assert plan.to_messages(squash_system_messages=True) == [{"role": "system", "content": "a\nb"}]


def test_the_request_has_options_stop_and_tools() -> None:
    """The plan's options, its stop strings, and those of the call over them; B23: the plan's own stay as they are."""
    plan = plan_of("a", model="m", options=FrozenDict(temperature=1), stop=("\n",), tools=(Tool("add"),))
    body = plan.to_request(temperature=0).body
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "a"}],
        "tools": 1,
        "temperature": 0,
        "stop": ["\n"],
    }
    assert plan.options == {"temperature": 1}


SENSITIVE = {
    "content": plan_of("b"),
    "role": Plan(blocks=(_system("a"),), dialects=BARE),
    "name": Plan(blocks=(Block(role="user", content="a", name="n"),), dialects=BARE),
    "attachment": Plan(blocks=(Block(role="user", content="a", attachments=IMAGE),), dialects=BARE),
    "metadata": Plan(
        blocks=(Block(role="user", content="a", message_metadata=FrozenDict(tool_call_id="c")),), dialects=BARE
    ),
    "model": plan_of("a", model="m"),
    "options": plan_of("a", options=FrozenDict(temperature=1)),
    "stop": plan_of("a", stop=("\n",)),
    "tools": plan_of("a", tools=(Tool("add"),)),
}
INSENSITIVE = {
    "id": Plan(blocks=(Block(role="user", content="a", id="other"),), dialects=BARE),
    "slot": Plan(blocks=(Block(role="user", content="a", slot="s", priority=5),), dialects=BARE),
    "disabled-block": Plan(blocks=(_system("x", enabled=False), Block(role="user", content="a")), dialects=BARE),
    "notes": plan_of("a", notes=(Note(NoteKind.LOSS, "x"),), warnings=(Note(NoteKind.WARNING, "x"),)),
    "trace": plan_of("a", tavern="silly", variables=FrozenDict(local={})),
}


@pytest.mark.parametrize("what", SENSITIVE)
def test_the_fingerprint_sees_what_the_model_gets(what: str) -> None:
    """Any difference in what is sent, attachments and model included, is another fingerprint."""
    assert SENSITIVE[what].fingerprint() != plan_of("a").fingerprint()


@pytest.mark.parametrize("what", INSENSITIVE)
def test_the_fingerprint_sees_nothing_else(what: str) -> None:
    """Ids, places, disabled blocks and reports do not change it (§3.5)."""
    assert INSENSITIVE[what].fingerprint() == plan_of("a").fingerprint()


def test_a_fingerprint_is_a_sha_256_that_stays() -> None:
    """Lower-case hex, the same in every process; a change of this value is a change of `FINGERPRINT_VERSION`."""
    plan = plan_of("a", options=FrozenDict({"b": 1, "a": 2}))
    assert plan.fingerprint() == "5a03d009d95b191f70e7697b82ee4462488cd20c6a8b5250eef432e4de452c44"
    assert plan_of("\ud800", options=FrozenDict({"\ud800": "\ud800"})).fingerprint() != plan.fingerprint()


def test_the_plans_facts_are_json_without_the_empty_ones() -> None:
    """For ``--json`` and HTTP: reports by their own data, everything else by its fields."""
    plan = plan_of("a", tavern="vibe", greeting_index=0, lore=Bare(), variables=FrozenDict(local=FrozenDict(a=(1,))))
    facts = json.loads(json.dumps(plan.to_dict()))
    assert facts["blocks"] == [{"role": "user", "content": "a", "id": "user-0"}]
    assert facts.keys() == {"blocks", "tavern", "greeting_index", "lore", "variables"}
    assert "Bare" in facts["lore"]


def test_a_plan_that_was_not_built_cannot_be_replayed() -> None:
    """There is no request to store."""
    with pytest.raises(ReplayError, match="the request cannot be stored"):
        plan_of("a").replay()


def test_a_plan_without_a_tavern_says_what_it_wants() -> None:
    """A plan made by hand has no dialects and nobody to explain it; the errors say how to have both."""
    plan = Plan(blocks=(_system("a"),))
    with pytest.raises(UsageError, match="no dialects") as caught:
        plan.to_messages()
    assert "innkeeper.dialects.DIALECTS" in str(caught.value.hint)
    assert plan.render(dialects=BARE).body == plan.with_(dialects=BARE).to_messages()
    with pytest.raises(UsageError, match="not built by a tavern") as caught:
        plan.explain()
    assert "innkeeper.budget.explain" in str(caught.value.hint)
