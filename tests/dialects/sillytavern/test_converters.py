"""Conversions of messages for providers: the golden cases, and what holds for every list of messages."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.dialects.report import Report
from innkeeper.dialects.sillytavern.conversion import Texts
from innkeeper.dialects.sillytavern.dialect import CONVERSIONS, convert
from innkeeper.dialects.sillytavern.messages import Speakers
from innkeeper.dialects.sillytavern.post_processing import MODES, post_process
from innkeeper.prompt.errors import FormatError, InnkeeperError, UnknownNameError
from innkeeper.prompt.note import NoteKind
from scripts.parity import Case, CaseVerdict, load_cases, run_cases
from tests.shared import VECTORS

FOLDER = VECTORS / "silly" / "converters"
NAMES = {"charName": "Mira", "userName": "Tomas", "groupNames": ["Mira", "Nell"]}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
CALL = {"id": "k1", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}


@pytest.mark.parametrize(
    "case", list(load_cases([FOLDER / "functions.json", FOLDER / "odd-inputs.json"])), ids=lambda c: c.name
)
def test_agrees(case: Case) -> None:
    """Same messages, same conversion as SillyTavern's server makes; where it stops with an error, so do we."""
    (outcome,) = run_cases([case])
    shown = "\n".join(difference.render() for difference in outcome.differences[:6])
    assert outcome.verdict is CaseVerdict.AGREED, f"{outcome.error or ''}\n{shown}"


TEXTS = st.sampled_from(["", " ", "a", "b\n\nc", "Mira: d", "Tomas: e", "\n", "é🙂", "\ud800"]) | st.text(max_size=8)
PARTS = st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, TEXTS)
    | st.just(PICTURE)
    | st.just({"type": "image_url", "image_url": {"url": "https://example.test/a.png"}})
    | st.just({"type": "input_audio", "input_audio": {"data": "AA", "format": "mp3"}})
    | st.just({"type": "image_url"})
    | st.just({}),
    max_size=3,
)
ROLES = st.sampled_from(["system", "user", "assistant", "tool"])
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": ROLES, "content": TEXTS | PARTS | st.none()},
        optional={
            "name": st.sampled_from(["Mira", "Bo", "example_user", "example_assistant", ""]),
            "tool_calls": st.lists(
                st.sampled_from([CALL, {"id": "k2"}, {"function": {"name": "g", "arguments": "{"}}, {}]), max_size=2
            ),
            "tool_call_id": st.sampled_from(["k1", "zz"]),
            "signature": st.just("c2ln"),
        },
    ),
    max_size=7,
)
PLAIN = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "assistant"]), "content": st.text("xyz", min_size=1)}
    ),
    max_size=9,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "content", "name"]), inner, max_size=3)
    ),
    max_leaves=12,
)
KINDS = st.sampled_from(
    [{"fn": name} for name in CONVERSIONS]
    + [{"fn": "postProcess", "type": mode} for mode in MODES]
    + [{"fn": "claude", "use_sysprompt": True, "use_tools": True, "prefill": "P "}]
    + [{"fn": "google", "use_sysprompt": True, "model": "gemini-3-pro-image-preview"}]
)


@given(MESSAGES | JSON, KINDS)
def test_is_data_or_a_typed_error(messages: Any, kind: Mapping[str, Any]) -> None:
    """Whatever the messages: JSON comes out, or an error of this project's; and the input is as it was."""
    before = json.dumps(messages)
    try:
        made = convert({**kind, "messages": messages, "names": NAMES})
    except InnkeeperError:
        return
    finally:
        assert json.dumps(messages) == before
    assert isinstance(json.loads(json.dumps(made)), dict)


@given(PLAIN, st.sampled_from(["strict", "strict_tools"]))
def test_strict_alternates(messages: list[dict[str, Any]], mode: str) -> None:
    """After at most one system message at the top, user and assistant take turns, and the user begins."""
    made = post_process(messages, MODES[mode])
    roles = [message["role"] for message in made]
    spoken = roles[1:] if roles[0] == "system" else roles
    assert spoken[0] == "user"
    assert all(one != other for one, other in itertools.pairwise(spoken))
    assert set(spoken) <= {"user", "assistant"}


@given(MESSAGES, st.sampled_from(sorted(MODES)))
def test_merging_loses_no_text(messages: list[dict[str, Any]], mode: str) -> None:
    """Every text is in the result, in order, and so is every picture."""
    made = post_process(messages, MODES[mode], Speakers("Mira", "Tomas", ("Nell",)))
    whole = "".join(text for message in made for text in _texts(message["content"]))
    place = 0
    for text in (text for message in messages for text in _texts(message["content"])):
        place = whole.index(text, place) + len(text)
    assert _pictures(made) == _pictures(messages)


def _texts(content: Any) -> list[str]:
    if isinstance(content, list):
        return [part.get("text") or "" for part in content if part.get("type") == "text"]
    return [content or ""]


def _pictures(messages: list[dict[str, Any]]) -> int:
    contents = [message["content"] for message in messages if isinstance(message["content"], list)]
    return sum(part == PICTURE for content in contents for part in content)


@given(PLAIN)
def test_single_is_one_message(messages: list[dict[str, Any]]) -> None:
    """One user message, whoever spoke."""
    made = post_process(messages, MODES["single"])
    assert [message["role"] for message in made] == ["user"]


@given(PLAIN, st.sampled_from(sorted(set(MODES) - {"single"})))
def test_twice_is_once(messages: list[dict[str, Any]], mode: str) -> None:
    """What is in order already stays as it is."""
    once = post_process(messages, MODES[mode])
    assert post_process(once, MODES[mode]) == once


@dataclass
class NoteCase:
    """Messages, a mode, and the sentences its report says."""

    id: str
    mode: str
    messages: list[dict[str, Any]]
    said: list[tuple[NoteKind, str]] = field(default_factory=list)


NOTES = [
    NoteCase("nothing", "strict", [{"role": "user", "content": "a"}]),
    NoteCase(
        "merge",
        "merge",
        [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
        [(NoteKind.REPAIR, "joined to the one before")],
    ),
    NoteCase(
        "role",
        "semi",
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "system", "content": "c"}],
        [(NoteKind.REPAIR, "sent as the user's")],
    ),
    NoteCase("placeholder", "strict", [{"role": "assistant", "content": "a"}], [(NoteKind.REPAIR, "placeholder")]),
    NoteCase("name", "merge", [{"role": "user", "content": "a", "name": "Bo"}], [(NoteKind.REPAIR, "name was put")]),
    NoteCase(
        "calls",
        "merge",
        [{"role": "assistant", "content": "a", "tool_calls": [CALL]}],
        [(NoteKind.LOSS, "tool calls are not sent")],
    ),
]


@pytest.mark.parametrize("case", NOTES, ids=lambda case: case.id)
def test_changes_are_reported(case: NoteCase) -> None:
    """Every merge, change of role, name and placeholder is a note, and nothing else is."""
    report = Report("test")
    post_process(case.messages, MODES[case.mode], report=report)
    found = [(note.kind, note.message) for note in report.notes()]
    assert len(found) == len(case.said)
    assert all(kind is said[0] and said[1] in text for (kind, text), said in zip(found, case.said, strict=True))


def test_a_picture_stays_behind_its_name() -> None:
    """A name in front of a picture is a text of its own: the picture is not lost."""
    (made,) = post_process([{"role": "user", "content": [PICTURE], "name": "Bo"}], MODES["merge"])
    assert made["content"] == [{"type": "text", "text": "Bo: "}, PICTURE]


def test_texts_are_the_callers() -> None:
    """The placeholder and the words for a tool call are settings."""
    texts = Texts(placeholder="(go on)", tool_call="Tools: ")
    strict = convert({"fn": "postProcess", "type": "strict", "messages": []}, texts)
    called = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    assert strict == {"messages": [{"role": "user", "content": "(go on)"}]}
    assert convert({"fn": "cohere", "messages": [called]}, texts)["chatHistory"][0]["content"] == "Tools: f"


BAD: list[tuple[str, Any, str]] = [
    ("no list", "x", "messages"),
    ("no object", [5], "[0]"),
    ("no role", [{"content": "x"}], "[0].role"),
    ("content is a number", [{"role": "user", "content": 5}], "[0].content"),
    ("a part is text", [{"role": "user", "content": ["x"]}], "[0].content[0]"),
    ("a name is a number", [{"role": "user", "content": "x", "name": 5}], "[0].name"),
    ("calls are an object", [{"role": "assistant", "content": "x", "tool_calls": {}}], "[0].tool_calls"),
]


@pytest.mark.parametrize(("messages", "where"), [pytest.param(*bad[1:], id=bad[0]) for bad in BAD])
def test_errors_say_where(messages: Any, where: str) -> None:
    """What is not a message is refused with its place."""
    with pytest.raises(FormatError) as caught:
        convert({"fn": "postProcess", "type": "merge", "messages": messages})
    assert where in str(caught.value.where)


def test_an_unknown_conversion_is_refused() -> None:
    """A name that is no conversion is a typed error."""
    with pytest.raises(UnknownNameError):
        convert({"fn": "nobody", "messages": []})
