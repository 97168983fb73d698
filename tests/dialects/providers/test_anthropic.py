"""Anthropic: blocks, system text apart, alternation, tool results together, marks and thoughts that survive."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given

from innkeeper.dialects import DIALECTS
from innkeeper.dialects.providers.anthropic import DEFAULT_MAX_TOKENS, MAX_CACHE_MARKS
from innkeeper.prompt import Attachment, Message, Note, Tool
from tests.dialects.talks import PNG, TALKS, call, kinds, message, said

ANTHROPIC = DIALECTS["anthropic"]
HELLO = message("user", "Hello")
CALLING = message("assistant", "", tool_calls=[call()])
RESULT = message("tool", "1", tool_call_id="call_1")


def text(words: str, **more: Any) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words, **more}


def use(call_id: str = "call_1", given: Any = None) -> dict[str, Any]:
    """A tool_use block."""
    return {"type": "tool_use", "id": call_id, "name": "add", "input": {"a": 1} if given is None else given}


def result(words: Any = "1", call_id: str = "call_1", **more: Any) -> dict[str, Any]:
    """A tool_result block."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": words, **more}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    """A user message."""
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    """An assistant message."""
    return {"role": "assistant", "content": list(blocks)}


@dataclass(frozen=True)
class Case:
    id: str
    messages: list[Message]
    expected: list[dict[str, Any]]
    system: Any = ""
    options: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


EMPTY_MARK = {"type": "ephemeral"}
CASES = [
    Case("one-user", [HELLO], [user(text("Hello"))]),
    Case("system-apart", [message("system", "S"), HELLO], [user(text("Hello"))], system="S"),
    Case("no-messages", [], [user(text("Begin."))], notes=("repair",)),
    Case("only-system", [message("system", "S")], [user(text("Begin."))], system="S", notes=("repair",)),
    Case("filler", [], [user(text("Go on."))], options={"filler": "Go on."}, notes=("repair",)),
    Case(
        "late-system-is-hoisted",
        [message("system", "S"), HELLO, message("system", "late"), message("assistant", "Hi")],
        [user(text("Hello")), assistant(text("Hi"))],
        system="S\n\nlate",
        notes=("repair",),
    ),
    Case(
        "late-system-as-user",
        [message("system", "S"), message("assistant", "Hi"), message("system", "late")],
        [assistant(text("Hi")), user(text("late"))],
        system="S",
        options={"system": "leading"},
        notes=("repair",),
    ),
    Case(
        "all-system-as-user",
        [message("system", "S"), HELLO],
        [user(text("S"), text("Hello"))],
        options={"system": "inline_user"},
        notes=("repair", "repair"),
    ),
    Case(
        "system-kept-in-place",
        [HELLO, message("system", "late"), HELLO],
        [user(text("Hello")), {"role": "system", "content": [text("late")]}, user(text("Hello"))],
        options={"system": "keep"},
    ),
    Case(
        "blank-system-parts", [message("system", " "), message("system", "S"), HELLO], [user(text("Hello"))], system="S"
    ),
    Case(
        "same-role-is-joined-block-by-block",
        [HELLO, message("user", "there"), message("assistant", "Hi")],
        [user(text("Hello"), text("there")), assistant(text("Hi"))],
        notes=("repair",),
    ),
    Case(
        "same-role-without-repair",
        [HELLO, message("user", "there")],
        [user(text("Hello")), user(text("there"))],
        options={"repair": False},
    ),
    Case("blank-message-is-left-out", [HELLO, message("assistant", " ")], [user(text("Hello"))], notes=("repair",)),
    Case("assistant-may-begin", [message("assistant", "Hi"), HELLO], [assistant(text("Hi")), user(text("Hello"))]),
    Case(
        "prefill-without-space-at-its-end",
        [HELLO, message("assistant", "The answer: ")],
        [user(text("Hello")), assistant(text("The answer:"))],
        notes=("repair",),
    ),
    Case("call-and-result", [HELLO, CALLING, RESULT], [user(text("Hello")), assistant(use()), user(result())]),
    Case(
        "results-and-user-text-are-one-message",
        [HELLO, CALLING, RESULT, HELLO],
        [user(text("Hello")), assistant(use()), user(result(), text("Hello"))],
        notes=("repair",),
    ),
    Case(
        "results-are-together-even-without-repair",
        [
            HELLO,
            message("assistant", "Well", tool_calls=[call(), call("call_2")]),
            RESULT,
            message("tool", "2", tool_call_id="call_2"),
        ],
        [user(text("Hello")), assistant(text("Well"), use(), use("call_2")), user(result(), result("2", "call_2"))],
        options={"repair": False},
    ),
    Case(
        "result-is-fetched-from-behind-an-injection",
        [HELLO, CALLING, message("user", "aside"), RESULT],
        [user(text("Hello")), assistant(use()), user(result(), text("aside"))],
        notes=("repair", "repair"),
    ),
    Case(
        "failed-result",
        [HELLO, CALLING, message("tool", "no", tool_call_id="call_1", is_error=True)],
        [user(text("Hello")), assistant(use()), user(result("no", is_error=True))],
    ),
    Case(
        "missing-result",
        [HELLO, CALLING],
        [user(text("Hello")), assistant(use()), user(result("", is_error=True))],
        notes=("repair",),
    ),
    Case("result-of-no-call", [RESULT], [user(text("1"))], notes=("repair",)),
    Case(
        "result-with-an-image",
        [
            HELLO,
            CALLING,
            message("tool", "1", tool_call_id="call_1", attachments=[{"kind": "image", "url": "https://x"}]),
        ],
        [
            user(text("Hello")),
            assistant(use()),
            user(result([text("1"), {"type": "image", "source": {"type": "url", "url": "https://x"}}])),
        ],
    ),
    Case(
        "ids-of-other-alphabets",
        [HELLO, message("assistant", "", tool_calls=[call("a b.c")]), message("tool", "1", tool_call_id="a b.c")],
        [user(text("Hello")), assistant(use("a_b_c")), user(result(call_id="a_b_c"))],
        notes=("repair",),
    ),
    Case(
        "thoughts-with-their-signature",
        [HELLO, message("assistant", "Hi", reasoning="hm", signature="sig")],
        [user(text("Hello")), assistant({"type": "thinking", "thinking": "hm", "signature": "sig"}, text("Hi"))],
    ),
    Case(
        "thoughts-in-parts",
        [HELLO, message("assistant", "Hi", reasoning=[{"text": "hm", "signature": "s1"}, {"data": "sealed"}])],
        [
            user(text("Hello")),
            assistant(
                {"type": "thinking", "thinking": "hm", "signature": "s1"},
                {"type": "redacted_thinking", "data": "sealed"},
                text("Hi"),
            ),
        ],
    ),
    Case(
        "thoughts-without-a-signature",
        [HELLO, message("assistant", "Hi", reasoning="hm")],
        [user(text("Hello")), assistant(text("Hi"))],
        notes=("loss",),
    ),
    Case(
        "signature-without-thoughts",
        [HELLO, message("assistant", "Hi", signature="sig")],
        [user(text("Hello")), assistant(text("Hi"))],
        notes=("loss",),
    ),
    Case(
        "signature-of-a-call",
        [HELLO, message("assistant", "", tool_calls=[{**call(), "signature": "sig"}]), RESULT],
        [user(text("Hello")), assistant(use()), user(result())],
        notes=("loss",),
    ),
    Case("name", [message("user", "Hello", name="Bob")], [user(text("Hello"))], notes=("loss",)),
    Case(
        "name-in-front",
        [message("user", "Hello", name="Bob")],
        [user(text("Bob: Hello"))],
        options={"names": "prefix"},
        notes=("repair",),
    ),
    Case(
        "cache-mark",
        [message("user", "Hello", cache_control=True)],
        [user(text("Hello", cache_control=EMPTY_MARK))],
    ),
    Case(
        "cache-mark-on-system",
        [message("system", "S", cache_control="1h"), message("system", "T"), HELLO],
        [user(text("Hello"))],
        system=[text("S", cache_control={"type": "ephemeral", "ttl": "1h"}), text("T")],
    ),
    Case(
        "cache-mark-on-a-result",
        [HELLO, CALLING, message("tool", "1", tool_call_id="call_1", cache_control=EMPTY_MARK)],
        [user(text("Hello")), assistant(use()), user(result(cache_control=EMPTY_MARK))],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_messages(case: Case) -> None:
    """Messages become the blocks that are expected, with notes of the kinds that are expected."""
    payload = ANTHROPIC.messages(case.messages, case.options)
    assert payload.body == {"system": case.system, "messages": case.expected}
    assert tuple(kinds(payload.notes)) == case.notes


@dataclass(frozen=True)
class Media:
    id: str
    attachment: Attachment
    block: dict[str, Any] | None


MEDIA = [
    Media(
        "image-data",
        Attachment("image", data=PNG, media_type="image/webp"),
        {"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": PNG}},
    ),
    Media(
        "image-data-url",
        Attachment("image", url=f"data:image/png;base64,{PNG}"),
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    ),
    Media(
        "image-address",
        Attachment("image", url="https://host/x.png"),
        {"type": "image", "source": {"type": "url", "url": "https://host/x.png"}},
    ),
    Media("image-of-another-type", Attachment("image", data="x", media_type="image/tiff"), None),
    Media(
        "pdf",
        Attachment("file", data="JVBERi0=", name="a.pdf"),
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
            "title": "a.pdf",
        },
    ),
    Media(
        "image-as-file",
        Attachment("file", url="https://host/x", media_type="image/png"),
        {"type": "image", "source": {"type": "url", "url": "https://host/x"}},
    ),
    Media(
        "text-file",
        Attachment("file", data="aGk=", media_type="text/markdown"),
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hi"}},
    ),
    Media("text-file-of-no-text", Attachment("file", data="gICA", media_type="text/plain"), None),
    Media("other-file", Attachment("file", data="aGk=", media_type="application/zip"), None),
    Media(
        "file-held-by-the-provider",
        Attachment("file", extra=message(x={"file_id": "f"}).metadata["x"]),
        {"type": "document", "source": {"type": "file", "file_id": "f"}},
    ),
    Media("audio", Attachment("audio", data="x", media_type="audio/wav"), None),
    Media("video", Attachment("video", url="https://host/x"), None),
    Media("nothing", Attachment("image"), None),
]


@pytest.mark.parametrize("case", MEDIA, ids=lambda case: case.id)
def test_media(case: Media) -> None:
    """An attachment becomes a block after the text, or a loss that names its kind and message."""
    payload = ANTHROPIC.messages([message("user", "see"), Message("user", "", attachments=(case.attachment,))], {})
    blocks = payload.body["messages"][0]["content"]
    assert blocks[1:2] == ([case.block] if case.block else [])
    if not case.block:
        assert said(payload.notes, case.attachment.kind).data["messages"] == (1,)


def test_media_of_others_are_lost() -> None:
    """Only users have images."""
    image = Attachment("image", url="https://host/x")
    messages = [message("system", "S", attachments=[image]), HELLO, message("assistant", "Hi", attachments=[image])]
    assert kinds(ANTHROPIC.messages(messages, {}).notes) == ["loss", "loss"]


def test_an_input_is_always_an_object() -> None:
    """Arguments of every kind, unreadable ones included, give an object (a defect of the reference, B26)."""
    given: list[Any] = [
        None,
        "",
        " ",
        "{}",
        '{"a": 1}',
        {"a": 1},
        "nonsense",
        "[1]",
        "1",
        '"x"',
        [1],
        7,
        '{"a": NaN}',
        "{" * 500,
    ]
    calls = [call(f"c{place}", arguments=each) for place, each in enumerate(given)]
    payload = ANTHROPIC.messages([HELLO, message("assistant", "", tool_calls=calls)], {})
    inputs = [block["input"] for block in payload.body["messages"][1]["content"]]
    assert inputs[:6] == [{}, {}, {}, {}, {"a": 1}, {"a": 1}]
    assert all(set(each) == {"arguments"} for each in inputs[6:])
    assert said(payload.notes, "not a JSON object").data["messages"] == (1,)


def test_cache_marks_beyond_the_limit() -> None:
    """The last marks stay, since they reach furthest; the others are reported."""
    marked = [message("user", str(place), cache_control=True) for place in range(MAX_CACHE_MARKS + 2)]
    payload = ANTHROPIC.messages(marked, {})
    blocks = payload.body["messages"][0]["content"]
    assert ["cache_control" in block for block in blocks] == [False] * 2 + [True] * MAX_CACHE_MARKS
    assert said(payload.notes, "cache mark").data["messages"] == (0, 1)


@pytest.mark.parametrize("dialect", ["openai", "responses", "gemini", "mistral", "text"])
def test_cache_marks_are_reported_elsewhere(dialect: str) -> None:
    """Other providers have no marks: a note says so, since a lost mark is only seen on the bill."""
    payload = DIALECTS[dialect].messages([message("user", "Hello", cache_control=True)], {})
    assert said(payload.notes, "cache mark").kind == "loss"


def test_request() -> None:
    """A whole body: options by the provider's names, tools with their schema, in one order."""
    options = {
        "stop": ["END", "  "],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "temperature": 0.5,
        "top_k": 40,
        "stream": True,
        "user": "u1",
        "reasoning_effort": "minimal",
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
        "seed": 1,
        "extra": {"metadata": {"more": 1}},
    }
    payload = ANTHROPIC.request([HELLO], model="claude", options=options, tools=[Tool("add", "Adds.")])
    assert list(payload.body.items()) == [
        ("model", "claude"),
        ("messages", [user(text("Hello"))]),
        ("tools", [{"name": "add", "description": "Adds.", "input_schema": {"type": "object", "properties": {}}}]),
        ("temperature", 0.5),
        ("top_k", 40),
        ("stop_sequences", ["END"]),
        ("tool_choice", {"type": "any", "disable_parallel_tool_use": True}),
        ("stream", True),
        ("output_config", {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}}),
        ("metadata", {"user_id": "u1", "more": 1}),
        ("max_tokens", DEFAULT_MAX_TOKENS),
    ]
    assert sorted(kinds(payload.notes)) == ["loss", "loss", "repair", "repair"]


def test_who_asks_is_sent_beside_any_metadata() -> None:
    """Metadata of other providers neither replaces the user nor goes out, which would be an error there; a note says so."""
    payload = ANTHROPIC.request([HELLO], model="m", options={"user": "u1", "metadata": {"a": "b"}})
    assert payload.body["metadata"] == {"user_id": "u1"}
    assert any("metadata" in note.message for note in payload.notes)
    assert "metadata" not in ANTHROPIC.request([HELLO], model="m", options={"metadata": {"a": "b"}}).body


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("add", {"type": "tool", "name": "add"}),
        ({"type": "function", "function": {"name": "add"}}, {"type": "tool", "name": "add"}),
        ({"type": "any"}, {"type": "any"}),
    ],
)
def test_tool_choice(choice: Any, expected: dict[str, Any]) -> None:
    """A tool choice in any spelling."""
    body = ANTHROPIC.request([HELLO], model="m", options={"tool_choice": choice}, tools=[Tool("add")]).body
    assert body["tool_choice"] == expected


def test_what_there_is_no_field_for() -> None:
    """No thinking is a thinking of none; JSON without a schema is a loss; parallel calls allowed is the default."""
    options = {"reasoning_effort": "none", "response_format": "json", "parallel_tool_calls": True}
    payload = ANTHROPIC.request([HELLO], model="m", options=options, tools=[Tool("add")])
    assert payload.body["thinking"] == {"type": "disabled"}
    assert "tool_choice" not in payload.body
    assert said(payload.notes, "json_object").kind == "loss"


@given(talk=TALKS)
def test_what_the_provider_insists_on(talk: tuple[Message, ...]) -> None:
    """Roles alternate; no content is empty, no text blank; calls are answered at once, their results first."""
    messages = ANTHROPIC.messages(talk, {}).body["messages"]
    assert messages
    for before, each in zip([None, *messages], messages, strict=False):
        blocks = each["content"]
        assert blocks
        assert before is None or before["role"] != each["role"]
        assert all(block["text"].strip() for block in blocks if block["type"] == "text")
        assert _ids(blocks, "tool_result") == (_ids(before["content"], "tool_use") if before else [])
        types = [block["type"] == "tool_result" for block in blocks]
        assert types == sorted(types, reverse=True)
    assert not _ids(messages[-1]["content"], "tool_use")
    ids = [found for each in messages for found in _ids(each["content"], "tool_use")]
    assert len(ids) == len(set(ids))


def _ids(blocks: list[dict[str, Any]], kind: str) -> list[str]:
    key = "id" if kind == "tool_use" else "tool_use_id"
    return sorted(block[key] for block in blocks if block["type"] == kind)


def test_notes_say_who_and_where() -> None:
    """A note names the dialect, and gives the messages as data and, when it is one, as a place."""
    note: Note = said(ANTHROPIC.messages([HELLO, message("user", "x", name="Bob")], {}).notes, "name")
    assert note.message.startswith("anthropic: ")
    assert note.data == {"dialect": "anthropic", "messages": (1,)}
    assert str(note.where) == "messages: [1]"


@pytest.mark.parametrize(
    ("talk", "last"),
    [
        ([HELLO], {"role": "assistant", "content": [{"type": "text", "text": "Sure,"}]}),
        ([HELLO, Message("assistant", "Well")], {"role": "assistant", "content": [{"type": "text", "text": "Well"}]}),
    ],
    ids=["begins", "goes-on"],
)
def test_a_prefill_is_the_last_message(talk: list[Message], last: dict[str, Any]) -> None:
    """How an answer is to begin stands at the end as the assistant's words, unless words to go on with stand there."""
    payload = ANTHROPIC.request(talk, model="m", options={"assistant_prefill": "Sure, ", "max_tokens": 5})
    assert payload.body["messages"][-1] == last
    assert not [note for note in payload.notes if "prefill" in note.message]
