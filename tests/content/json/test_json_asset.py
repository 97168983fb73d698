"""What kind of document JSON is, by its keys."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.content.errors import AssetError, JsonError
from innkeeper.content.json.document import Document
from innkeeper.content.json.json_asset import JSON_KINDS, JsonAsset, NumberedEnum, kind_of_json
from innkeeper.prompt.errors import InputError, UnknownNameError, UsageError

KINDS: list[tuple[str, Any]] = [
    ("character", {"spec": "chara_card_v3"}),
    ("character", {"data": {"name": "Mira", "first_mes": "Hi"}}),
    ("character", {"name": "Mira", "description": "A clockmaker.", "personality": "calm"}),
    ("character", {"char_name": "Mira", "char_greeting": "Hi"}),
    ("character", {"name": "Mira", "message": ["Hi"], "type": "sandbox"}),
    ("byaf character", {"persona": "", "loreItems": [], "displayName": "Mira"}),
    ("byaf manifest", {"characters": [], "scenarios": [], "schemaVersion": 1}),
    ("risu preset", {"promptTemplate": []}),
    ("risu module", {"type": "risuModule", "module": {}}),
    ("risu module", {"type": "regex", "data": []}),
    ("lorebook", {"entries": {}}),
    ("lorebook", {"spec": "lorebook_v3"}),
    ("lorebook", {"type": "risu", "data": []}),
    ("master export", {"instruct": {}, "context": {}}),
    ("chat header", {"user_name": "Ann", "character_name": "Mira"}),
    ("chat message", {"mes": "Hi", "is_user": False}),
    ("chat preset", {"prompt_order": []}),
    ("instruct template", {"input_sequence": "", "output_sequence": ""}),
    ("context template", {"story_string": ""}),
    ("reasoning template", {"prefix": "", "suffix": "", "separator": ""}),
    ("text preset", {"temp": 1, "top_p": 1, "top_k": 0}),
    ("tavernkit preset", {"tavernkit_preset_version": 1}),
    ("system prompt", {"name": "Plain", "content": "Write."}),
    ("persona", {"name": "Ann", "description": ""}),
    ("persona", {"personas": {}}),
    ("chat", {"messages": []}),
    ("chat", [{"role": "user"}]),
    ("chat", [None, {"mes": "Hi"}]),
    ("lorebook", [{"keys": []}]),
    ("unknown", [{"name": "Mira"}]),
    ("unknown", {"name": "Mira", "description": 1, "data": {}}),
    ("unknown", {"instruct": "", "context": []}),
    ("unknown", {"spec": "something else", "name": "Mira", "description": "x"}),
]


@pytest.mark.parametrize(("kind", "tree"), KINDS)
def test_a_kind_is_known_by_its_keys(kind: str, tree: Any) -> None:
    """The first kind whose test holds counts, and what none of them knows is unknown."""
    assert kind_of_json(tree) == kind


def test_every_kind_has_an_example_here() -> None:
    """No kind is without a document that is of it."""
    assert {kind for kind, _ in KINDS} == {*JSON_KINDS, "unknown"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["spec", "data", "name", "message", "entries", "type", "personas", "messages", "char_name"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=6,
)


@given(JSON)
def test_any_tree_has_a_kind(tree: Any) -> None:
    """Whatever stands under the keys, a document is of a known kind or unknown."""
    assert kind_of_json(tree) in {*JSON_KINDS, "unknown"}


class Colour(NumberedEnum):
    """A choice by name or by number."""

    RED = "red"
    BLUE = "blue"


class Lamp(JsonAsset, frozen=True, kw_only=True):
    """An asset with a field of each type that is read by itself."""

    WHAT: ClassVar[str] = "a lamp"
    NAMES: ClassVar[dict[str, tuple[str, ...]]] = {"label": ("name", "title")}

    label: str = "lamp"
    lit: bool = False
    watts: int | None = None
    height: float = 1.5
    role: str = "system"
    colour: Colour = Colour.RED
    extra: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it for each


VALUES: list[tuple[str, dict[str, Any], dict[str, Any], int]] = [
    ("absent", {}, {"label": "lamp", "watts": None, "height": 1.5, "colour": Colour.RED, "extra": {}}, 0),
    ("null is absent", {"name": None, "title": "t", "watts": None}, {"label": "t", "watts": None}, 0),
    ("first name counts", {"label": "l", "title": "t", "name": "n"}, {"label": "n"}, 0),
    ("coerced", {"name": 7, "lit": "yes", "watts": "40"}, {"label": "7", "lit": True, "watts": 40}, 3),
    ("hopeless", {"lit": [], "watts": "x", "extra": 1}, {"lit": False, "watts": None, "extra": {}}, 3),
    ("role by number", {"role": 2}, {"role": "assistant"}, 0),
    ("choice by name", {"colour": " Blue "}, {"colour": Colour.BLUE}, 0),
    ("choice by number", {"colour": "1"}, {"colour": Colour.BLUE}, 0),
    ("true is not a choice", {"colour": True}, {"colour": Colour.RED}, 1),
    ("unknown choice", {"colour": "green"}, {"colour": Colour.RED}, 1),
]


@pytest.mark.parametrize(
    ("raw", "expected", "findings"), [case[1:] for case in VALUES], ids=[case[0] for case in VALUES]
)
def test_fields_are_read_by_their_types(raw: dict[str, Any], expected: dict[str, Any], findings: int) -> None:
    """A field is read from its first name that is there; a wrong type is read as well as it can be, with a finding."""
    lamp = Lamp.of(raw)
    assert {name: getattr(lamp, name) for name in expected} == expected
    assert [finding.rule for finding in lamp.findings] == ["wrong-type"] * findings


@pytest.mark.parametrize(
    ("value", "error"), [([], AssetError), ("[]", AssetError), ("{", JsonError), (1, UsageError), (None, UsageError)]
)
def test_what_is_not_an_object_is_refused(value: Any, error: type[InputError]) -> None:
    """JSON that is not an object raises the class's own error, text that is not JSON `JsonError`, other values `UsageError`."""
    with pytest.raises(error):
        Lamp.of(value)
    with pytest.raises(AssetError, match="a lamp is a JSON object"):
        Lamp.read(Document([]))


def test_an_asset_is_itself_and_is_remembered() -> None:
    """Reading an asset gives it back; equal JSON gives an equal asset with the same digest."""
    lamp = Lamp.of({"name": "a"})
    assert Lamp.of(lamp) is lamp
    assert Lamp.of({"name": "a"}).digest == lamp.digest != Lamp.of({"name": "b"}).digest


def test_an_edit_keeps_every_other_byte() -> None:
    """A field is written under the name that is there, a new one under its first name; None takes it away."""
    text = '{ "title":"a",  "unknown": 1.50 }'
    lamp = Lamp.of(text)
    assert lamp.to_json().decode() == text
    assert lamp.replace(label="b").to_json().decode() == text.replace('"a"', '"b"')
    assert lamp.replace(label=None).raw == {"unknown": 1.5}
    assert Lamp.of({}).replace(label="b", colour=Colour.BLUE).raw == {"name": "b", "colour": "blue"}
    with pytest.raises(UnknownNameError, match="size"):
        lamp.replace(size=3)
    with pytest.raises(UnknownNameError):
        lamp.replace(document=None)


def test_an_asset_inside_a_document() -> None:
    """At a path of a document it reads and edits its own object, and writes that alone."""
    document = Document({"lamps": [{"name": "a"}], "other": 1})
    lamp = Lamp.read(document, ("lamps", 0)).replace(watts=40)
    assert lamp.document.tree == {"lamps": [{"name": "a", "watts": 40}], "other": 1}
    assert json.loads(lamp.to_json()) == lamp.to_dict() == {"name": "a", "watts": 40}


def test_a_copy_is_the_callers_own() -> None:
    """What `to_dict` gives may be changed without changing the asset."""
    lamp = Lamp.of({"extra": {"a": [1]}})
    lamp.to_dict()["extra"]["a"].append(2)
    assert lamp.raw == {"extra": {"a": [1]}}


JSON_ASSET_JSON = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
FIELDS = ("name", "title", "label", "lit", "watts", "height", "role", "colour", "extra")


@given(st.dictionaries(st.sampled_from(FIELDS), JSON_ASSET_JSON | st.lists(JSON_ASSET_JSON, max_size=2)))
def test_any_object_is_read_and_kept(raw: dict[str, Any]) -> None:
    """Whatever stands in the fields, the asset is read and the object is kept as it was."""
    assert Lamp.of(raw).to_dict() == raw
