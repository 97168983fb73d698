"""The file of an export: its bytes, and the place of what does not belong."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.gate.tier import Tier
from innkeeper.library.errors import TransferError
from innkeeper.library.templates.template import Variable
from innkeeper.library.transfer.format import (
    FORMAT,
    SCHEMA,
    DraftFile,
    Transfer,
    TransferredTemplate,
    TransferredVersion,
    draft_text,
    dumps,
    parse,
    parse_draft,
    read_tree,
    shown,
)
from innkeeper.prompt.errors import LimitError, UsageError
from tests.library.drafts import draft

EMPTY = {"format": FORMAT, "schema": SCHEMA}


def file_of(**parts: Any) -> Transfer:
    """A file with these parts."""
    return Transfer(format=FORMAT, schema=SCHEMA, **parts)


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("form", ["json", "yaml"])
@given(prompt=TEXTS, settings=st.dictionaries(TEXTS, JSON, max_size=3))
def test_what_is_written_is_read(form: str, prompt: str, settings: dict[str, Any]) -> None:
    """A file is the same after it was written and read, in either form, guessed or named."""
    version = TransferredVersion(version=1, use_case="chat", system_prompt=prompt)
    made = file_of(templates=[TransferredTemplate(name="a", versions=[version])], settings=settings)
    data = dumps(made, form)
    assert parse(data, asset="a").transfer == parse(data, asset="a", form=form).transfer == made
    assert dumps(made, form) == data


def test_keys_are_sorted_one_a_line() -> None:
    """JSON has its keys in order and a value a line, so that differences can be read."""
    text = dumps(file_of(settings={"b": 1, "a": "é"})).decode()
    assert text.index('"a": "é"') < text.index('"b": 1')
    assert text.endswith("}\n")
    with pytest.raises(UsageError, match="toml"):
        dumps(file_of(), "toml")


WRONG: list[tuple[str, dict[str, Any], str, str]] = [
    ("unknown part", {"colours": []}, "colours", "unknown field"),
    ("unknown field", {"templates": [{"name": "a", "versions": [], "x": 1}]}, "templates[0].x", "unknown field"),
    ("wrong type", {"templates": [{"name": 1, "versions": []}]}, "templates[0].name", "must be text"),
    ("missing", {"templates": [{"name": "a"}]}, "templates[0]", "versions"),
    ("not a list", {"settings": []}, "settings", "object"),
]


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize(("parts", "path", "says"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_what_does_not_belong_is_shown(form: str, parts: dict[str, Any], path: str, says: str) -> None:
    """A field that is unknown, missing or of another type raises `TransferError` with its path, line and column."""
    text = json.dumps({**EMPTY, **parts}, indent=1)
    with pytest.raises(TransferError, match=says) as info:
        parse(text.encode(), asset="file", form=form)
    where = info.value.where
    assert where is not None
    assert (where.asset, where.path) == ("file", path)
    assert where.line is not None
    assert path.rpartition(".")[2].partition("[")[0] in text.splitlines()[where.line - 1] or says == "versions"


@pytest.mark.parametrize(
    ("tree", "error"),
    [
        ([], TransferError),
        ({}, TransferError),
        ({"format": "x", "schema": SCHEMA}, TransferError),
        ({"format": FORMAT}, TransferError),
        ({"format": FORMAT, "schema": SCHEMA + 1}, TransferError),
    ],
)
def test_what_is_not_an_export_of_this_version(tree: Any, error: type[TransferError]) -> None:
    """Another format raises `TransferError`, another version of this one `TransferError`."""
    with pytest.raises(error):
        parse(json.dumps(tree).encode(), asset="a")


def test_a_key_that_stands_twice_is_refused() -> None:
    """JSON in which a key stands twice has no one meaning, and is refused."""
    with pytest.raises(TransferError, match="more than once"):
        read_tree(b'{"a": 1, "a": 2}', asset="a")


def test_a_byte_order_mark_is_left_aside_and_other_bytes_say_where() -> None:
    """UTF-8 may have its mark; what is not UTF-8 raises at its line and column."""
    assert read_tree(b"\xef\xbb\xbf{}", asset="a")[0] == {}
    with pytest.raises(TransferError, match="UTF-8") as info:
        read_tree(b"a: 1\nb: \xff", asset="a")
    assert info.value.where is not None
    assert (info.value.where.line, info.value.where.column) == (2, 4)


@pytest.mark.parametrize("text", ['{"a": [1, {"b": 2}]}', "a:\n- 1\n- b: 2\n"], ids=["json", "yaml"])
def test_places_are_those_of_the_text(text: str) -> None:
    """A path is shown as people write it, with the line where its value stands."""
    tree, place = read_tree(text.encode(), asset="a")
    assert tree == {"a": [1, {"b": 2}]}
    where = place(("a", 1, "b"))
    assert (where.path, where.line) == ("a[1].b", text.count("\n", 0, text.index("2")) + 1)
    assert shown(()) == ""


def test_a_version_has_its_key() -> None:
    """The selection key of a version is made of its own fields."""
    version = TransferredVersion(version=1, use_case="chat", system_prompt="", content_mode="nsfw", job_type="image")
    key = version.key
    assert (key.use_case, key.content_mode, key.job_type, key.target_model) == ("chat", Tier.NSFW, "image", None)
    assert msgspec.to_builtins(version)["content_mode"] == "nsfw"


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\x85\u2028\u2029"), max_size=60)


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_version_comes_back(form: str) -> None:
    """A version, written for an editor and read again, has the same content."""
    fields: dict[str, Any] = {
        "partials": (("rules", 2),),
        "metadata": {"priority": 3},
        "provider": "p",
        "max_output_tokens": 9,
    }
    made = draft(text="Two\n  lines: {{subject}}\n", **fields).numbered("id", 1, "")
    back = parse_draft(draft_text(DraftFile.of(made), form), asset="x")
    assert back.draft().numbered("id", 1, "").content_sha256 == made.content_sha256


@given(text=WORDS, name=WORDS)
def test_any_text_comes_back(text: str, name: str) -> None:
    """Whatever a text holds, both forms give it back."""
    file = DraftFile(use_case="chat", system_prompt=text, variables=(Variable(name="a", description=name),))
    for form in ("yaml", "json"):
        assert parse_draft(draft_text(file, form), asset="x") == file


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{"use_case": "chat",\n "system_prompt": 3}', "x:2:19: system_prompt"),
        (b"use_case: chat\nsystem_prompt: a\ntokn_limit: 3\n", "x:3:13: tokn_limit"),
        (b"use_case: [", "x:2:1"),
        (b'{"use_case": }', "x:1:14"),
        (b"\xff", "x:1:1"),
        (b"- a", "x:1:1"),
    ],
    ids=["type", "field", "yaml", "json", "bytes", "list"],
)
def test_what_cannot_be_read_says_where(data: bytes, place: str) -> None:
    """Each mistake has its line and column, and the hint that nothing was saved."""
    with pytest.raises(TransferError) as caught:
        parse_draft(data, asset="x")
    assert str(caught.value.where).startswith(place)
    assert caught.value.hint == "nothing was saved; mend the place shown"


@given(st.binary(max_size=200))
def test_no_bytes_bring_it_down(data: bytes) -> None:
    """Any bytes are a draft or an error of the tree."""
    with suppress(TransferError, LimitError):
        parse_draft(data, asset="x")
