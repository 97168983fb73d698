"""Documents: read, hashed, edited, written; untouched ones byte for byte."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.content import ABSENT, Document, JsonError
from innkeeper.content.json.document import remembered
from innkeeper.prompt.errors import UsageError
from innkeeper.prompt.memo import Memo
from tests.content.builders import objects, values


@settings(max_examples=60)
@given(tree=objects, indent=st.sampled_from([None, 1, 4]), lead=st.sampled_from(["", " ", "\r\n"]))
def test_what_was_not_edited_is_written_as_it_was_read(tree: Any, indent: int | None, lead: str) -> None:
    """Bytes in, the same bytes out, whatever the formatting."""
    data = (lead + json.dumps(tree, indent=indent) + lead).encode()
    document = Document.parse(data)
    assert document.encode() == data
    assert document.tree == tree


@settings(max_examples=60)
@given(tree=objects, value=values, from_text=st.booleans())
def test_an_edit_leaves_the_old_document_alone(tree: Any, value: Any, from_text: bool) -> None:
    """The new document has the edit, in its data and in its text; the old one has not changed."""
    document = Document.parse(json.dumps(tree)) if from_text else Document.of(tree)
    before, text = json.dumps(document.tree), document.encode()
    edited = document.replace({("k",): value, ("gone",): ABSENT})
    assert edited.tree == {**{key: item for key, item in tree.items() if key != "gone"}, "k": value}
    assert json.loads(edited.encode()) == edited.tree
    assert (json.dumps(document.tree), document.encode()) == (before, text)


def test_edits_in_lists() -> None:
    """Items are replaced, added at the end and removed."""
    document = Document.parse('{"a": [1, 2]}')
    assert document.replace({("a", 0): 9, ("a", 2): 3}).tree == {"a": [9, 2, 3]}
    assert document.replace({("a", 0): ABSENT}).text == '{"a": [2]}'
    for path in (("a", 7), ("a", "x"), ("a", 0, "x")):
        with pytest.raises(JsonError):
            Document.of({"a": [1, 2]}).replace({path: 1})


def test_the_digest_is_of_the_content() -> None:
    """Equal bytes or equal data hash alike; another byte gives another hash."""
    assert Document.parse('{"a": 1}').digest == Document.parse('{"a": 1}').digest
    assert Document.of({"a": 1}).digest == Document.of({"a": 1}).digest
    assert Document.parse('{"a": 1}').digest != Document.parse('{"a":1}').digest


def test_a_document_does_not_share_the_callers_data() -> None:
    """What the caller changes afterwards does not reach the document."""
    tree: dict[str, Any] = {"a": [1]}
    document = Document.of(tree)
    tree["a"].append(2)
    assert document.tree == {"a": [1]}


def test_values_are_found_by_path() -> None:
    """`at` gives a value, or ABSENT, for any path."""
    document = Document.of({"a": [{"b": None}]})
    assert document.at(("a", 0, "b")) is None
    assert document.at(()) == document.tree
    for path in (("x",), ("a", 1), ("a", "b"), ("a", 0, "b", "c")):
        assert document.at(path) is ABSENT


def test_equal_content_is_read_once() -> None:
    """Text and data are remembered by content; each kind by its own, since they are written differently."""
    memo, seen = Memo[str, Any](), list[Document]()

    def read(document: Document) -> Document:
        seen.append(document)
        return document

    for value in ('{"a": 1}', b'{"a": 1}', {"a": 1}, {"a": 1}):
        assert remembered(memo, value, read, what="a thing").tree == {"a": 1}
    assert [document.data for document in seen] == [b'{"a": 1}', None]
    with pytest.raises(UsageError, match="a thing is an object or JSON text, not int"):
        remembered(memo, 5, read, what="a thing")


def test_a_byte_order_mark_goes_with_the_first_edit() -> None:
    """A document with a mark or in UTF-16 is written as it was until it is edited, then in plain UTF-8."""
    for data in (b'\xef\xbb\xbf{"a": 1}', '{"a": 1}'.encode("utf-16")):
        document = Document.parse(data)
        assert document.encode() == data
        assert document.replace({("a",): 2}).encode() == b'{"a": 2}'
