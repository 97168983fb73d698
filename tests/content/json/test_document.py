"""Edits of JSON text: the value changes, every other byte stays."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content import ABSENT, Document, JsonError
from innkeeper.content.json.document import locate, remembered, splice
from innkeeper.prompt.bounded_cache import BoundedCache
from innkeeper.prompt.errors import UsageError
from tests.content.builders import objects, values

STYLES = [
    {"indent": 4},
    {"indent": 2, "ensure_ascii": False},
    {"indent": "\t"},
    {"separators": (",", ":")},
    {"ensure_ascii": False},
]


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path in a tree."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


def changed(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The tree with another value at a path, the slow and obvious way."""
    copy = json.loads(json.dumps(tree))
    if not path:
        return value
    node = copy
    for part in path[:-1]:
        node = node[part]
    if value is ABSENT:
        del node[path[-1]]
    elif isinstance(node, list) and path[-1] == len(node):
        node.append(value)
    else:
        node[path[-1]] = value
    return copy


@given(tree=objects, value=values, style=st.sampled_from(STYLES), data=st.data())
def test_an_edit_equals_the_same_edit_of_the_data(
    tree: Any, value: Any, style: dict[str, Any], data: st.DataObject
) -> None:
    """Replacing, adding and removing in text and in data give the same data."""
    text = json.dumps(tree, **style)
    path = data.draw(st.sampled_from(places(tree)))
    assert json.loads(splice(text, path, value)) == changed(tree, path, value)
    if path:
        assert json.loads(splice(text, path, ABSENT)) == changed(tree, path, ABSENT)
    assert json.loads(splice(text, ("a new key",), value)) == changed(tree, ("a new key",), value)


@given(tree=objects, style=st.sampled_from(STYLES), data=st.data())
def test_writing_what_is_there_changes_nothing(tree: Any, style: dict[str, Any], data: st.DataObject) -> None:
    """A scalar written again in its own place leaves every byte as it was."""
    text = json.dumps(tree, **style)
    path = data.draw(st.sampled_from(places(tree)))
    span = locate(text, path)
    assert span is not None
    before, after = text[: span.start], text[span.end :]
    edited = splice(text, path, "other")
    assert edited.startswith(before)
    assert edited.endswith(after)


def test_the_style_around_is_kept() -> None:
    """Indentation, colons and escapes of new parts are those of the text."""
    text = '{\n  "a": {\n    "b": 1\n  }\n}'
    assert splice(text, ("a", "c"), [1, {"d": "é"}]) == (
        '{\n  "a": {\n    "b": 1,\n    "c": [\n      1,\n      {\n        "d": "é"\n      }\n    ]\n  }\n}'
    )
    assert splice('{"a":"\\u00e9"}', ("b",), "é") == '{"a":"\\u00e9","b":"\\u00e9"}'
    assert splice('{"a": "é"}', ("b",), ["é"]) == '{"a": "é", "b": ["é"]}'


def test_of_duplicate_keys_the_last_is_edited() -> None:
    """The one that counts when the text is read."""
    assert splice('{"a":1,"a":2}', ("a",), 3) == '{"a":1,"a":3}'


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"a":1}', ("b", "c")),
        ('{"a":1}', ("a", "b")),
        ('{"a":[1]}', ("a", 5)),
        ('{"a":[1]}', ("a", "x")),
        ("{}", (0,)),
    ],
    ids=str,
)
def test_paths_to_nowhere_are_refused(text: str, path: tuple[Any, ...]) -> None:
    """A parent that is missing, or of another kind, is a typed error."""
    with pytest.raises(JsonError):
        splice(text, path, 1)


def test_removing_what_is_not_there_changes_nothing() -> None:
    """An absent key may be removed."""
    assert splice('{"a":1}', ("b",), ABSENT) == '{"a":1}'
    assert not ABSENT
    assert repr(ABSENT) == "ABSENT"


def test_long_strings_of_escapes_are_passed_over() -> None:
    """The scanner is linear: half a million escapes before the place are no burden."""
    text = json.dumps({"a": '\\"' * 500_000, "b": 1})
    assert splice(text, ("b",), 2).endswith('"b": 2}')


def test_the_whole_document_can_be_replaced() -> None:
    """The empty path is the document itself."""
    assert splice('{"a": 1}', (), [1]) == "[1]"


@pytest.mark.parametrize("text", ['{"a', '{"a": [', "{a: 1}"])
def test_text_that_is_no_json_is_refused(text: str) -> None:
    """Only sound text is edited."""
    with pytest.raises((JsonError, IndexError)):
        splice(text, ("a",), 1)


def test_a_path_through_a_value_leads_nowhere() -> None:
    """Neither is anything found below a number."""
    assert locate('{"a": 1}', ("a", "b")) is None
    assert locate('{"a": 1}', ("x", "b")) is None


@given(tree=objects, indent=st.sampled_from([None, 1, 4]), lead=st.sampled_from(["", " ", "\r\n"]))
def test_what_was_not_edited_is_written_as_it_was_read(tree: Any, indent: int | None, lead: str) -> None:
    """Bytes in, the same bytes out, whatever the formatting."""
    data = (lead + json.dumps(tree, indent=indent) + lead).encode()
    document = Document.parse(data)
    assert document.encode() == data
    assert document.tree == tree


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
    memo, seen = BoundedCache[str, Any](), list[Document]()

    def read(document: Document) -> Document:
        seen.append(document)
        return document

    for value in ('{"a": 1}', b'{"a": 1}', {"a": 1}, {"a": 1}):
        assert remembered(memo, value, read, what="a thing").tree == {"a": 1}
    assert [document.data for document in seen] == [b'{"a": 1}', None]
    with pytest.raises(UsageError, match="a thing is an object or JSON text, not a whole number"):
        remembered(memo, 5, read, what="a thing")


def test_a_byte_order_mark_goes_with_the_first_edit() -> None:
    """A document with a mark or in UTF-16 is written as it was until it is edited, then in plain UTF-8."""
    for data in (b'\xef\xbb\xbf{"a": 1}', '{"a": 1}'.encode("utf-16")):
        document = Document.parse(data)
        assert document.encode() == data
        assert document.replace({("a",): 2}).encode() == b'{"a": 2}'
