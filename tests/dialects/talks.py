"""Conversations for the dialects' tests: orderly ones, and whatever else may come in from outside."""

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from innkeeper.dialects import DIALECTS
from innkeeper.prompt import Attachment, Message, Note
from tests.prompt.doubles import ANY_TEXT, JSON

ALL = sorted(DIALECTS)
CHAT = sorted(set(DIALECTS) - {"text"})

PNG = "iVBORw0KGgo="
WORDS = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=8).map(lambda text: f"w{text}.")
"""Text that is never blank, JSON or cut at its ends."""

IDS = st.sampled_from(["call_1", "call_2", "a b", "0", "", None, 7])


def message(role: str = "user", content: Any = "Hi", **fields: Any) -> Message:
    """A message from OpenAI's shape."""
    return Message.of({"role": role, "content": content, **fields})


def call(call_id: Any = "call_1", name: Any = "add", arguments: Any = '{"a":1}') -> dict[str, Any]:
    """A tool call in OpenAI's shape."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


CALLS = st.builds(
    call, IDS, st.sampled_from(["add", "look", "", None]), JSON | st.sampled_from(["{}", '{"a": "b"}', "[1]"])
)
ATTACHMENTS = st.builds(
    Attachment,
    kind=st.sampled_from(["image", "audio", "video", "file", "document", "hologram"]),
    url=st.none() | st.sampled_from(["https://host/x", "data:image/png;base64," + PNG, "data:,x"]) | ANY_TEXT,
    data=st.none() | st.just(PNG) | ANY_TEXT,
    media_type=st.sampled_from([None, "image/png", "audio/mpeg", "application/pdf", "nonsense"]),
    name=st.none() | ANY_TEXT,
)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "tool_calls": st.lists(CALLS, max_size=3) | JSON,
        "tool_call_id": IDS,
        "signature": ANY_TEXT | JSON,
        "reasoning": ANY_TEXT
        | st.lists(st.fixed_dictionaries({}, optional={"text": JSON, "signature": JSON, "id": JSON})),
        "cache_control": st.sampled_from([True, "1h", {"type": "ephemeral"}, None]),
        "is_error": st.booleans(),
        "other": JSON,
    },
)
WILD = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool", "function", "developer", "Narrator", ""]),
    content=ANY_TEXT | WORDS | st.sampled_from(["", " ", "\n", '{"a":1}', "[1]"]),
    name=st.none() | ANY_TEXT | st.sampled_from(["Bob", "Bob Smith"]),
    attachments=st.lists(ATTACHMENTS, max_size=2).map(tuple),
    metadata=METADATA.map(lambda data: Message.of({"role": "x", "content": "", "metadata": data}).metadata),
)
"""Any message at all."""

TALKS = st.lists(WILD, max_size=8).map(tuple)


@st.composite
def orderly(draw: st.DrawFn) -> tuple[Message, ...]:
    """A conversation in which tools are called and answered, as a provider would accept it, with odd ends at times."""
    talk = [message("system", draw(WORDS))] if draw(st.booleans()) else []
    for turn in range(draw(st.integers(1, 4))):
        talk.append(message("user", draw(WORDS)))
        if draw(st.booleans()):
            ids = [f"call_{turn}_{place}" for place in range(draw(st.integers(1, 3)))]
            talk.append(message("assistant", draw(WORDS | st.just("")), tool_calls=[call(each) for each in ids]))
            talk += [message("tool", draw(WORDS), tool_call_id=each) for each in ids]
        talk.append(message("assistant", draw(WORDS)))
    return (*talk, message("user", draw(WORDS)))


def leaves(value: Any) -> Iterator[str]:
    """Every string in a payload."""
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from leaves(item)


def spelt(value: Any) -> str:
    """A payload as JSON, key order kept."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def kinds(notes: tuple[Note, ...]) -> list[str]:
    """The notes' kinds, in order."""
    return [note.kind.value for note in notes]


def said(notes: tuple[Note, ...], words: str) -> Note:
    """The one note whose sentence has these words."""
    found = [note for note in notes if words in note.message]
    assert len(found) == 1, [str(note) for note in notes]
    return found[0]
