"""DraftFile: what is written is read again, and what cannot be read says where."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.library.errors import TransferError
from innkeeper.library.templates.template import Variable
from innkeeper.library.transfer.draft_file import DraftFile, draft_text, parse_draft
from innkeeper.prompt.errors import LimitError
from tests.library.drafts import draft

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
@settings(max_examples=60)
def test_any_text_comes_back(text: str, name: str) -> None:
    """Whatever a text holds, both forms give it back."""
    file = DraftFile(use_case="chat", system_prompt=text, variables=[Variable(name="a", description=name)])
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
@settings(max_examples=100)
def test_no_bytes_bring_it_down(data: bytes) -> None:
    """Any bytes are a draft or an error of the tree."""
    with suppress(TransferError, LimitError):
        parse_draft(data, asset="x")
