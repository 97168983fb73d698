"""A user's tokenizer.json: read, kept, refreshed when it changes, refused with a reason."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.prompt.errors import FormatError, LimitError
from innkeeper.tokens import Counter, TokenizerUnavailableError
from innkeeper.tokens.engines import model_files as filetokenizer
from innkeeper.tokens.engines.model_files import FileTokenizers, SentencePieces, file_tokenizer, tokenizer_of
from tests.tokens.texts import HOSTILE


def words(vocabulary: dict[str, int], **more: object) -> bytes:
    """A tokenizer that knows whole words."""
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0, **vocabulary}, "unk_token": "[UNK]"}
    return json.dumps({"version": "1.0", "pre_tokenizer": {"type": "Whitespace"}, "model": model, **more}).encode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a small tokenizer."""
    file = tmp_path / "tokenizer.json"
    file.write_bytes(words({"lamp": 1, "ladder": 2}))
    return file


def test_ids_tokens_and_offsets(path: Path) -> None:
    """A file's tokenizer gives ids, tokens and character offsets."""
    found = file_tokenizer(path).tokenize("lamp é ladder")
    assert found.ids == (1, 0, 2)
    assert found.tokens == ("lamp", "[UNK]", "ladder")
    assert found.offsets == ((0, 4), (5, 6), (7, 13))
    assert found.backend == "hf_tokenizers"


def test_special_tokens_are_ordinary_text() -> None:
    """A text that spells a special token is not that token, and none is added."""
    special = {"id": 3, "content": "<s>", "single_word": False, "lstrip": False, "rstrip": False}
    added = [{**special, "normalized": False, "special": True}]
    tokenizer = tokenizer_of("t", words({"lamp": 1}, added_tokens=added), path="t")
    assert tokenizer.tokenize("<s>").ids == (0, 0, 0)


def test_truncation_and_padding_are_switched_off() -> None:
    """What a file says of the longest text or of padding does not change a count."""
    truncation = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    padding = {
        "strategy": {"Fixed": 9},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
    }
    data = words({"lamp": 1}, truncation=truncation, padding={**padding, "pad_token": "[UNK]"})
    assert tokenizer_of("t", data, path="t").count_many(["lamp " * 5, "lamp"]) == [5, 1]


def test_the_store_keeps_the_last_used(tmp_path: Path) -> None:
    """Of more files than the limit those used last stay loaded."""
    store = FileTokenizers(limit=2)
    for name in "abc":
        (tmp_path / name).write_bytes(words({name: 1}))
    first, second = store.get(tmp_path / "a"), store.get(tmp_path / "b")
    assert store.get(tmp_path / "a") is first
    store.get(tmp_path / "c")
    assert len(store) == 2
    assert store.get(tmp_path / "a") is first
    assert store.get(tmp_path / "b") is not second


def test_a_changed_file_is_read_again(path: Path) -> None:
    """Size and time of change tell one version of a file from the next."""
    store = FileTokenizers()
    before = store.get(path)
    path.write_bytes(words({"harbour": 1}))
    os.utime(path, ns=(1, 1))
    after = store.get(path)
    assert before.name != after.name
    assert after.tokenize("harbour").ids == (1,)


BROKEN = {
    "empty": b"",
    "no JSON": b"{",
    "no UTF-8": b"\xff\xfe",
    "no tokenizer": b"{}",
    "a list": b"[1, 2]",
    "deep": b'{"model":' * 2000,
    "wrong type": b'{"version": "1.0", "model": {"type": "Nope"}}',
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_typed_errors(name: str, path: Path) -> None:
    """A file that is no tokenizer is refused, with its path."""
    path.write_bytes(BROKEN[name])
    with pytest.raises(FormatError) as caught:
        FileTokenizers().get(path)
    assert str(path) in str(caught.value.where)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Whatever a file holds, the only way to fail is the typed error."""
    with pytest.raises(FormatError):
        tokenizer_of("t", data, path="t")


@pytest.mark.parametrize("name", ["no-such.json", ".", "a\0b"])
def test_missing_files_are_typed_errors(name: str, tmp_path: Path) -> None:
    """No file, a folder, and a name that is none: unavailable, with the path and a hint."""
    with pytest.raises(TokenizerUnavailableError) as caught:
        FileTokenizers().get(f"{tmp_path}/{name}")
    assert caught.value.hint


def test_large_files_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file above the limit is not read."""
    monkeypatch.setattr(filetokenizer, "MAX_TOKENIZER_FILE_BYTES", 10)
    with pytest.raises(LimitError):
        FileTokenizers().get(path)


@pytest.mark.parametrize("name", [name for name in HOSTILE if "surrogate" not in name])
def test_hostile_texts(name: str, path: Path) -> None:
    """Texts that tokenizers trip over are counted."""
    assert file_tokenizer(path).count(HOSTILE[name]) >= 0


@pytest.mark.parametrize("text", ["a b\n\nword é中 " * 20_000, "\n" * 100_000, "Hello, you there.\n  x\t" * 9_000])
def test_sentence_pieces_of_a_long_text(text: str) -> None:
    """Counted in pieces that begin at line breaks, a text has as many tokens as in one go."""
    engine = Counter().choose("mixtral-8x7b").engine
    assert isinstance(engine, SentencePieces)
    assert engine.count(text) == len(engine.tokenize(text).ids or ())
