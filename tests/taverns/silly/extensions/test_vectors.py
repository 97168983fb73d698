"""Passages that the chat is about: which are taken, what leaves the history, and where they go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.chat import ChatLog
from innkeeper.prompt import NoteKind, Ports
from innkeeper.taverns.silly.extensions.vectors import (
    BankFile,
    VectorSettings,
    bank_files,
    chunks,
    data_bank,
    file_passages,
    query_of,
    recalled,
)
from innkeeper.taverns.silly.lines.line import Line
from tests.taverns.silly.builds import build, contents


@dataclass(frozen=True)
class Marked:
    """A search that gives each text the score written behind its last ``@``, and the queries it was asked."""

    name: str = "marks"
    asked: list[str] = field(default_factory=list)

    def search(self, texts: Sequence[str], query: str) -> list[tuple[int, float]]:
        """Those that have a mark, the highest first."""
        self.asked.append(query)
        marks = [(place, float(text.rpartition("@")[2])) for place, text in enumerate(texts) if "@" in text]
        return sorted(marks, key=lambda hit: -hit[1])


def lines(*texts: str) -> tuple[Line, ...]:
    """Lines of these texts."""
    return tuple(Line(index=n, name="Sam" if n % 2 else "Mira", text=text) for n, text in enumerate(texts))


@dataclass(frozen=True)
class Case:
    name: str
    chat: tuple[Line, ...]
    found: list[int]
    moved: list[int]
    settings: dict[str, Any] = field(default_factory=dict)
    neighbours_stay: bool = True


NEW = ("e", "f", "g", "h", "i")
CASES = [
    Case("least relevant first", lines("a@0.9", "b", "c@0.1", "d", *NEW), [2, 0], [0, 2]),
    Case("no threshold", lines("a@0.01", "b", *NEW), [0], [0]),
    Case("the newest are not moved", lines("a@0.2", "b", "e", "f", "g@0.9", "h", "i"), [0], [0]),
    Case("they take places all the same", lines("a@0.2", "e", "f", "g@0.9", "h", "i"), [], [], {"insert": 1}),
    Case("as many as may be", lines("a@0.1", "b", "c@0.2", "d", *NEW), [2], [2], {"insert": 1}),
    Case("a neighbour stays", lines("a@0.5", "b@0.4", "c", *NEW), [1, 0], [0]),
    Case("a third goes", lines("a@0.5", "b@0.4", "c@0.3", *NEW), [2, 1, 0], [0, 2]),
    Case("each goes", lines("a@0.5", "b@0.4", "c", *NEW), [1, 0], [0, 1], neighbours_stay=False),
    Case("a short chat", lines("a@0.5", "b", "c", "d"), [], []),
    Case("all may go", lines("a@0.5", "b"), [0], [0], {"protect": 0}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_messages(case: Case) -> None:
    """Hits outside the newest messages leave the history; of two in a row only the first does."""
    found = recalled(VectorSettings(**case.settings), case.chat, "what", Marked(), neighbours_stay=case.neighbours_stay)
    assert [line.index for line in found.matches] == case.found
    assert [line.index for line in found.moved] == case.moved
    assert [line.index for line in found.lines] == [n for n in range(len(case.chat)) if n not in case.moved]


def test_query() -> None:
    """The last messages with a text, newest first, their macros replaced."""
    assert query_of(VectorSettings(), lines("a", "b", "c", " "), str.upper) == "C\nB"
    assert query_of(VectorSettings(query=0), lines("a"), str) == ""


@given(st.text(max_size=200), st.integers(1, 40))
def test_chunks_lose_nothing(text: str, size: int) -> None:
    """Parts are not longer than they may be, and have all that is not space."""
    parts = list(chunks(text, size))
    assert all(0 < len(part) <= size for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_files() -> None:
    """A small file is sent whole; of a large one the passages above the threshold, in the order of the file."""
    settings = VectorSettings(enabled_files=True, size_threshold=0.01, chunk_size=8)
    text = "one @0.3\ntwo @0.2\nthr @0.9\nfou @0.5"
    assert file_passages(settings, text, "what", Marked()) == "thr @0.9\nfou @0.5"
    assert file_passages(settings, "small", "what", Marked()) == "small"
    assert file_passages(VectorSettings(), text, "what", Marked()) == text


def test_the_data_bank() -> None:
    """Passages of all files above the threshold, file by file, in the template."""
    settings = VectorSettings(size_threshold_db=0.015, chunk_size_db=8, chunk_count_db=3, file_depth_role_db=1)
    files = [BankFile("a", "one @0.3\ntwo @0.9"), BankFile("b", "all @0.5"), BankFile("c", "no @0.1")]
    found = data_bank(settings, files, "what", Marked())
    assert found is not None
    assert (found.id, found.role, found.depth) == ("4_vectors_data_bank", "user", 4)
    assert found.content == "Related information:\none @0.3\ntwo @0.9\n\nall @0.5"


def test_files_of_the_bank() -> None:
    """Files that are switched off are not there; those without a text are told."""
    told: list[str] = []
    listed = [{"name": "a", "url": "/a", "text": "A"}, {"name": "b", "url": "/b", "text": "B"}, {"name": "c"}, 5]
    assert bank_files(listed, None, "x", disabled=["/b"], report=told.append) == (BankFile("a", "A"),)
    assert told == ["c"]


SAID = [{"role": ("user", "assistant")[n % 2], "content": f"Line {n}."} for n in range(9)]
SAID[2] = {"role": "user", "content": "The oak\n\nfell @0.6"}


def test_in_builds() -> None:
    """What is found stands after the main prompt, not in the history; the plan says what was moved, and how it was found."""
    search = Marked()
    plan = build(Ports(vectors=search), history=SAID, message="Hi.", settings={"vectors": {"enabled_chats": True}})
    sent = contents(plan)
    assert [text for text in sent if "oak" in text] == ["Past events:\nSam: The oak fell @0.6"]
    assert search.asked == ["Hi.\nLine 8."]
    moved = [note for note in plan.notes if note.kind is NoteKind.MOVED]
    assert [note.data["lines"] for note in moved] == [(2,)]
    assert "vectors" in plan.unreplayable


def test_a_search_without_a_model() -> None:
    """Without a port it is BM25, and the plan says that these are not embeddings."""
    settings = {"vectors": {"enabled_chats": True, "insert": 1, "query": 1}}
    said = [*SAID[:2], {"role": "user", "content": "The oak fell."}, *SAID[3:]]
    plan = build(history=said, message="Which oak fell?", settings=settings)
    assert [note.message for note in plan.notes if note.kind is NoteKind.FALLBACK] == [
        "passages are found by BM25, not embeddings"
    ]


@pytest.mark.parametrize(
    "fields", [{"generation": "quiet"}, {"settings": {"generation": {"dry_run": True}}}, {"settings": {"vectors": {}}}]
)
def test_when_nothing_is_searched(fields: dict[str, Any]) -> None:
    """Quiet prompts and dry runs search nothing, nor does an extension whose parts are off."""
    search = Marked()
    settings = {"vectors": {"enabled_chats": True}} | fields.pop("settings", {})
    build(Ports(vectors=search), history=SAID, settings=settings, **{"message": "Hi.", **fields})
    assert search.asked == []


ENTRIES = [
    {"uid": 1, "key": [], "vectorized": True, "content": "Oaks @0.8", "order": 1},
    {"uid": 2, "key": [], "vectorized": True, "content": "Elms @0.1", "order": 2},
    {"uid": 3, "key": ["nothing"], "content": "Firs @0.9", "order": 3},
    {"uid": 4, "key": [], "vectorized": True, "disable": True, "content": "Ashes @0.9", "order": 4},
    {"uid": 5, "key": [], "vectorized": True, "triggers": ["continue"], "content": "Yews @0.9", "order": 5},
]


@pytest.mark.parametrize(
    ("fields", "fired"),
    [
        ({}, [1]),
        ({"enabled_for_all": True}, [1, 3]),
        ({"score_threshold": 0}, [1, 2]),
        ({"max_entries": 1}, []),
        ({"enabled_world_info": False, "enabled_chats": True}, []),
    ],
)
def test_lore(fields: dict[str, Any], fired: list[int]) -> None:
    """Vectorised entries above the threshold fire without a key; their other rules still hold."""
    books = [{"name": "B", "book": {"entries": {str(entry["uid"]): entry for entry in ENTRIES}}}]
    settings = {"vectors": {"enabled_world_info": True, **fields}}
    plan = build(Ports(vectors=Marked()), history=SAID, message="Hi.", lorebooks=books, settings=settings)
    assert sorted(item.uid for item in plan.lore.activated) == fired
    reasons = {verdict.uid: str(verdict) for verdict in plan.lore.verdicts}
    assert all(reasons[uid].startswith("fired: a search") for uid in fired)


def test_the_data_bank_in_builds() -> None:
    """Files of everybody, the chat and the character are searched; without the extension a note says that they are not."""
    settings = {
        "attachments": [{"name": "a", "url": "/a", "text": "Everybody @0.9"}],
        "character_attachments": {"Mira.png": [{"name": "b", "url": "/b", "text": "Mira's @0.8"}]},
        "chat_metadata": {"attachments": [{"name": "c", "url": "/c", "text": "The chat's @0.7"}]},
    }
    on = {"vectors": {"enabled_files": True, "include_wi": True}}
    plan = build(Ports(vectors=Marked()), message="Hi.", settings=settings | on)
    assert any(text.endswith("Everybody @0.9\n\nThe chat's @0.7\n\nMira's @0.8") for text in contents(plan))
    notes = build(message="Hi.", settings=settings).notes
    assert "attachments" in [note.data.get("input") for note in notes]


def test_attached_files_in_builds() -> None:
    """Of a large file that is attached to a message the passages are sent that the query is about, and the plan says so."""
    text = "\n".join([*(f"Line {n} of nothing." for n in range(40)), "The oak @0.9"])
    extra = {"files": [{"url": "/user/files/x", "name": "x", "text": text}]}
    chat = ChatLog.of([{"name": "Sam", "is_user": True, "mes": "Read it.", "extra": extra}])
    search = Marked()
    settings = {"vectors": {"enabled_files": True, "size_threshold": 0.5, "chunk_size": 20}}
    plan = build(Ports(vectors=search), history=chat.to_messages(), message="Hi.", settings=settings)
    assert "The oak @0.9\n\nRead it." in contents(plan)
    assert set(search.asked) == {"Hi.\nRead it."}
    assert [note.data["characters"] for note in plan.notes if note.kind is NoteKind.LIMIT] == [len(text)]
