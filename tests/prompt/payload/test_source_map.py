"""Source maps: every character of a payload has an origin, for our dialects and for those of guests."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper import BuildRequest, build
from innkeeper.dialects import DIALECTS
from innkeeper.prompt import (
    Attachment,
    Block,
    Dialects,
    FrozenDict,
    InsertionPoint,
    Message,
    Origin,
    Payload,
    Piece,
    PipelineError,
    Plan,
    Tool,
    UnknownNameError,
    UsageError,
)
from innkeeper.prompt.payload.source_map import DIALECT, SourceMap, SourceRange
from innkeeper.prompt.text import scalar_text
from tests.prompt.doubles import ANY_TEXT

ALL = sorted(DIALECTS)
CARD = Origin("character", "description")
MACRO = Origin("character", "description", macro="char")
HISTORY = Origin("history")
WRITERS = ("text", "llamacpp", "koboldcpp")


def leaves(value: Any, pointer: str = "") -> dict[str, str]:
    """Every string of a payload by its JSON Pointer."""
    if isinstance(value, str):
        return {pointer: value}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: dict[str, str] = {}
    for key, item in items:
        found |= leaves(item, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")
    return found


def check(made: SourceMap) -> None:
    """The invariants: ranges of a string follow each other, equal their slices, and are the whole of it; each has an origin."""
    read: dict[str, str] = {}
    for found in made.ranges:
        before = read.get(found.pointer, "")
        assert found.start == len(before)
        assert found.end == found.start + len(found.text) > found.start
        assert isinstance(found.origin, Origin)
        assert (found.block_id is None) == (found.origin.asset in ("dialect", "request"))
        read[found.pointer] = before + found.text
    assert read == {pointer: text for pointer, text in leaves(made.payload).items() if text}


def shown(made: SourceMap, pointer: str) -> list[tuple[str, str, str | None]]:
    """The ranges of one string as text, origin and block."""
    return [(found.text, str(found.origin), found.block_id) for found in made.leaf(pointer)]


CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a":"deep"}'}}
PLAN = Plan(
    blocks=(
        Block(role="system", id="card", content="You are Al. ", pieces=(Piece("You are ", CARD), Piece("Al. ", MACRO))),
        Block(role="assistant", id="greeting", content="Hello!", name="Al", origin=HISTORY),
        Block(role="user", id="bob", content="Add it", name="Bob Smith", origin=HISTORY),
        Block(role="user", id="off", content="never sent", enabled=False),
        Block(role="assistant", id="call", content="", message_metadata=FrozenDict(tool_calls=(CALL,)), origin=HISTORY),
        Block(role="tool", id="result", content='{"sum": "two"}', message_metadata=FrozenDict(tool_call_id="call_1")),
        Block(
            role="user",
            id="see",
            content="  see \ud800 ",
            attachments=(Attachment("image", data="aGk=", media_type="image/png"),),
        ),
        Block(role="system", id="a", content=" note a ", insertion_point=InsertionPoint.IN_CHAT),
        Block(role="system", id="b", content="note b", insertion_point=InsertionPoint.IN_CHAT),
    ),
    model="model-1",
    stop=("STOP",),
    tools=(Tool("add", "Adds."),),
    options=FrozenDict(user="u-1"),
    dialects=DIALECTS,
)


@pytest.mark.parametrize("request_too", [False, True], ids=["messages", "request"])
@pytest.mark.parametrize("dialect", ALL)
def test_every_dialect(dialect: str, request_too: bool) -> None:
    """Of a plan with a bit of everything, every dialect's payload is mapped whole."""
    made = PLAN.source_map(dialect, request=request_too)
    wanted = PLAN.to_request(dialect).body if request_too else PLAN.to_messages(dialect)
    assert made.payload == wanted
    check(made)
    for block in PLAN.enabled_blocks:
        text = scalar_text(block.content).strip()
        if text and block.id != "result":
            assert text in "".join(found.text for found in made.of_block(block.id))
    assert made.of_block("off") == ()


def test_openai() -> None:
    """Content by its pieces, names, ids and media by their block, what the dialect wrote by the dialect."""
    made = PLAN.source_map("openai")
    assert shown(made, "/0/content") == [
        ("You are ", "character.description", "card"),
        ("Al. ", "character.description {{char}}", "card"),
    ]
    assert shown(made, "/0/role") == [("system", "dialect", None)]
    assert shown(made, "/1/name") == [("Al", "history.name", "greeting")]
    assert shown(made, "/3/tool_calls/0/id") == [("call_1", "history.metadata.tool_calls.id", "call")]
    assert shown(made, "/3/tool_calls/0/function/arguments")[0][2] == "call"
    assert shown(made, "/4/tool_call_id")[0][2] == "result"
    assert shown(made, "/5/content/0/text") == [("  see \ufffd ", "unknown", "see")]
    assert shown(made, "/5/content/1/image_url/url") == [
        ("data:image/png;base64,", "dialect", None),
        ("aGk=", "unknown.attachments.data", "see"),
    ]
    assert shown(made, "/6/content") == [
        ("note a", "unknown", "a"),
        ("\n", "dialect", None),
        ("note b", "unknown", "b"),
    ]


def test_a_name_that_had_to_be_changed() -> None:
    """Where the dialect changed a text, the whole string is laid to its block, and said not to be exact."""
    made = PLAN.source_map("openai")
    (found,) = made.leaf("/2/name")
    assert (found.text, found.block_id, found.exact) == ("Bob_Smith", "bob", False)
    assert not made.exact


def test_text_that_was_taken_apart() -> None:
    """JSON that the dialect unfolds is laid to the block it came from."""
    made = PLAN.source_map("gemini")
    (found,) = made.leaf("/contents/3/parts/0/functionResponse/response/sum")
    assert (found.text, found.block_id, found.exact) == ("two", "result", False)
    (inner,) = made.leaf("/contents/2/parts/0/functionCall/args/a")
    assert (inner.text, inner.block_id, inner.exact) == ("deep", "call", False)


def test_request() -> None:
    """A request's own strings have the request's fields as origin."""
    made = PLAN.source_map("openai", request=True)
    found = {
        pointer: str(made.at(pointer).origin) for pointer in ("/model", "/stop/0", "/tools/0/function/name", "/user")
    }
    assert found == {
        "/model": "request.model",
        "/stop/0": "request.stop",
        "/tools/0/function/name": "request.tools",
        "/user": "request.options.user",
    }
    assert made.at("/messages/1/content", 3).block_id == "greeting"


def test_text_dialect() -> None:
    """One long prompt is mapped piece by piece, the format's marks are the dialect's."""
    made = PLAN.source_map("text", instruct="chatml")
    assert made.exact
    marks = [found.text for found in made.ranges if found.origin == DIALECT]
    assert "".join(marks).count("<|im_start|>") == 8


def test_options_reach_the_dialect() -> None:
    """What changes the payload changes its map: squashing, modes, names in front."""
    blocks = (Block(role="system", id="a", content="A"), Block(role="system", id="b", content="B", name=None))
    squashed = Plan(blocks=blocks, dialects=DIALECTS).source_map("openai", squash_system_messages=True)
    assert [text for text, _, _ in shown(squashed, "/0/content")] == ["A", "\n", "B"]
    prefixed = PLAN.source_map("anthropic", names="prefix")
    assert shown(prefixed, "/messages/0/content/0/text") == [
        ("Al", "history.name", "greeting"),
        (": ", "dialect", None),
        ("Hello!", "history", "greeting"),
    ]


def test_equal_names_belong_to_their_own_blocks() -> None:
    """A name that several blocks have is laid to the one whose text is beside it."""
    blocks = tuple(Block(role="user", id=f"b{place}", content=f"text {place}", name="Bob") for place in range(3))
    for dialect, pointer in (("openai", "/{}/name"), ("openai-compatible", "/{}/name")):
        made = Plan(blocks=blocks, dialects=DIALECTS).source_map(dialect)
        assert [made.at(pointer.format(place)).block_id for place in range(3)] == ["b0", "b1", "b2"]


def test_asking() -> None:
    """One character has one range; a string or a character that is not there is a typed error."""
    made = PLAN.source_map("openai")
    assert made.at("/0/content", 7) == SourceRange("/0/content", 0, 8, CARD, "You are ", "card")
    assert made.at("/0/content", 8).origin == MACRO
    assert made.leaf("/3/content") == ()
    for offset in (-1, 12):
        with pytest.raises(UsageError):
            made.at("/0/content", offset)
    with pytest.raises(UnknownNameError) as caught:
        made.at("/0/contents")
    assert "/0/content" in str(caught.value.hint)


def test_to_dict() -> None:
    """A map is JSON: ranges with what is not at its default."""
    facts = json.loads(json.dumps(PLAN.source_map("openai").to_dict()))
    assert facts["exact"] is False
    assert facts["ranges"][1] == {
        "pointer": "/0/content",
        "start": 0,
        "end": 8,
        "origin": {"asset": "character", "field": "description"},
        "text": "You are ",
        "block_id": "card",
    }


def test_pieces_that_are_not_the_content() -> None:
    """Pieces that do not add up are not believed: the block's own origin stands."""
    block = Block(role="user", id="x", content="Hello", origin=HISTORY, pieces=(Piece("Bye", CARD),))
    made = Plan(blocks=(block,), dialects=DIALECTS).source_map()
    assert shown(made, "/0/content") == [("Hello", "history", "x")]


def test_blank_text() -> None:
    """White space is a text too, and lands where its block's text does."""
    blocks = (Block(role="user", id="x", content=" \n "), Block(role="user", id="y", content="a"))
    made = Plan(blocks=blocks, dialects=DIALECTS).source_map("openai")
    assert shown(made, "/0/content") == [(" \n ", "unknown", "x")]
    gone = Plan(blocks=blocks, dialects=DIALECTS).source_map("anthropic")
    assert gone.of_block("x") == ()
    assert gone.exact


def test_text_that_looks_like_a_token() -> None:
    """Content that has tokens of an earlier map in it is content."""
    texts = ["Zq0x0xqZ", "Zq1x1xqZ \u205f\u2001\u205f", " \u205f\u2000\u205f "]
    blocks = tuple(Block(role="user", id=str(place), content=text) for place, text in enumerate(texts))
    made = Plan(blocks=blocks, dialects=DIALECTS).source_map("openai")
    check(made)
    assert [made.at(f"/{place}/content").block_id for place in range(2)] == ["0", "1"]


@dataclass(frozen=True)
class Guest:
    """A dialect of somebody else that does one thing to each message."""

    name: str
    work: Any

    def messages(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Payload:
        return Payload(self.work(messages))

    def request(
        self, messages: Sequence[Message], *, model: str | None, options: Mapping[str, Any], tools: Sequence[Tool] = ()
    ) -> Payload:
        return self.messages(messages, options)


def _sorted_by_length(messages: Sequence[Message]) -> list[str]:
    return [each.content for each in sorted(messages, key=lambda each: len(each.content))]


def _longest_only(messages: Sequence[Message]) -> dict[str, Any]:
    return {"n": len(messages), "only": [each.content for each in messages if len(each.content) > 9]}


def _picky(messages: Sequence[Message]) -> str:
    if any("Zq" in each.content for each in messages):
        msg = "I do not like this text"
        raise PipelineError(msg, step=None)
    return "|".join(each.content for each in messages)


@pytest.mark.parametrize(
    ("work", "exact"),
    [
        (lambda messages: "".join(f"<{each.role}>{each.content}</>" for each in messages), True),
        (lambda messages: {"a/b": {"c~d": [each.content for each in messages]}}, True),
        (lambda messages: tuple((each.content, None, 1) for each in messages), True),
        (lambda messages: [each.content.upper() for each in messages], False),
        (lambda messages: [each.content[::-1] for each in messages], False),
        (_sorted_by_length, False),
        (_longest_only, False),
        (_picky, False),
        (lambda _messages: None, True),
        (lambda _messages: "", True),
    ],
    ids=["joined", "nested", "tuples", "capitals", "backwards", "sorted", "longest", "picky", "nothing", "empty"],
)
def test_guests(work: Any, exact: bool) -> None:
    """Whatever a guest does with texts, each string is covered; what cannot be rebuilt is said not to be exact."""
    plan = Plan(
        blocks=tuple(Block(role="user", id=text, content=text) for text in ("a long text indeed", "short", "mid text"))
    )
    made = plan.source_map("guest", dialects=Dialects(Guest("guest", work)))
    payload = json.loads(json.dumps(made.payload))
    check(SourceMap(payload, made.ranges))
    assert made.exact == exact


def test_a_guest_that_is_picky_is_searched() -> None:
    """Without a second rendering, texts are found by looking for them."""
    plan = Plan(blocks=(Block(role="user", id="x", content="one"), Block(role="user", id="y", content="two")))
    made = plan.source_map("guest", dialects=Dialects(Guest("guest", _picky)))
    assert shown(made, "") == [("one", "unknown", "x"), ("|", "dialect", None), ("two", "unknown", "y")]


def test_texts_that_changed_places() -> None:
    """A text that a guest put where the tokens were not is known by what it says."""
    plan = Plan(blocks=tuple(Block(role="user", id=text, content=text) for text in ("long text", "text")))
    made = plan.source_map("guest", dialects=Dialects(Guest("guest", _sorted_by_length)))
    assert [(found.text, found.block_id, found.exact) for found in made.ranges] == [
        ("text", "text", False),
        ("long text", "long text", False),
    ]


ORIGINS = st.sampled_from([CARD, MACRO, HISTORY, None])
TEXTS = ANY_TEXT | st.sampled_from([" ", "\n\n", " a", "a ", '{"a": "b"}', "Hello", "Hello"])


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    """Any block, in pieces at times."""
    pieces = draw(st.lists(st.builds(Piece, TEXTS, st.just(CARD)), max_size=3).map(tuple))
    content = "".join(piece.text for piece in pieces) if pieces else draw(TEXTS)
    calls = [{"id": draw(st.sampled_from(["1", "2"])), "function": {"name": "add", "arguments": '{"a": "Hello"}'}}]
    return Block(
        role=draw(st.sampled_from(["system", "user", "assistant", "tool"])),
        content=content,
        name=draw(st.none() | st.sampled_from(["Bob", "Bob Smith"]) | ANY_TEXT),
        pieces=pieces,
        origin=draw(ORIGINS),
        insertion_point=draw(st.sampled_from(InsertionPoint)),
        message_metadata=draw(
            st.sampled_from(
                [FrozenDict(), FrozenDict(tool_calls=calls), FrozenDict(tool_call_id="1", reasoning="Hello")]
            )
        ),
        attachments=draw(st.sampled_from([(), (Attachment("image", url="https://host/Hello"),)])),
    )


@given(
    made_of=st.lists(blocks(), max_size=6).map(tuple),
    options=st.sampled_from(
        [
            {},
            {"repair": True},
            {"names": "prefix"},
            {"system": "leading"},
            {"squash_system_messages": True},
            {"instruct": "names"},
        ]
    ),
)
def test_any_plan(made_of: tuple[Block, ...], options: dict[str, Any]) -> None:
    """Of any plan, in any dialect, each string is covered by ranges that equal their slices and have an origin."""
    plan = Plan(blocks=made_of, model="m", dialects=DIALECTS)
    for dialect in WRITERS if "instruct" in options else ALL:
        check(plan.source_map(dialect, **options))


def test_a_plan_shows_itself_in_notebooks() -> None:
    """Each text stands in the colour of its asset, with its origin; what cards say is text, never markup."""
    card = {"name": "<b>Wenna</b>", "description": "<script>alert(1)</script> keeps the light."}
    plan = build(BuildRequest.of({"tavern": "silly", "character": card, "message": "Is it <i>late</i>?"}))
    shown = plan._repr_html_()
    assert "&lt;script&gt;alert(1)&lt;/script&gt; keeps the light." in shown
    assert not {"<script", "<b>", "<i>"} & {*re.findall(r"<\w+>?", shown)}
    assert 'title="character.description"' in shown
    assert shown.count("<tr>") == len(plan.sent_blocks())
    assert "<table>" in plan.diff(plan.with_blocks(plan.blocks[1:]))._repr_html_()
